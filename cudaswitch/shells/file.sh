# shellcheck shell=dash
# Where a directory says what it asks for, for the integration and the shims.

# __csw = the nearest version file from the working directory upward, not above the home
# folder; fails where there is none.
__cudaswitch_file() {
    \local _csw_dir
    _csw_dir=$PWD
    while :; do
        __csw=$_csw_dir/.cuda-version
        if [ -f "$__csw" ]; then return 0; fi
        case ${HOME-} in "$_csw_dir" | "$_csw_dir/") return 1 ;; esac
        if [ -z "$_csw_dir" ]; then return 1; fi
        _csw_dir=${_csw_dir%/*}
    done
}
