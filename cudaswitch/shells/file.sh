# shellcheck shell=dash
# Where a directory says what it asks for, for the integration and the shims.

# __csw = the nearest version file from the working directory upward, not above the home
# folder; fails where there is none.
__cudaswitch_file() {
    \local dir
    dir=$PWD
    while :; do
        __csw=$dir/.cuda-version
        if [ -f "$__csw" ]; then return 0; fi
        if [ -z "$dir" ] || [ "$dir" = "${HOME-}" ]; then return 1; fi
        dir=${dir%/*}
    done
}
