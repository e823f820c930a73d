# shellcheck shell=dash
# Where a directory says what it asks for, for the integration and the shims.

# __csw = the nearest version file from the working directory upward, not above the home
# folder; fails where there is none.
__cudaswitch_file() {
    \local _csw_top _csw_rest
    _csw_top=${HOME-} _csw_top=${_csw_top%/}
    case $PWD/ in "$_csw_top"/*) ;; *) _csw_top='' ;; esac
    _csw_rest=${PWD#"$_csw_top"}
    while ! [ -f "$_csw_top$_csw_rest/.cuda-version" ]; do
        case $_csw_rest in '') return 1 ;; esac
        _csw_rest=${_csw_rest%/*}
    done
    __csw=$_csw_top$_csw_rest/.cuda-version
}
