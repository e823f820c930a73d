# shellcheck shell=dash
# Finds the version file of a directory, for the integration and the shims.

# __csw = the nearest version file from the working directory upward, not above the home
# folder; fails if there is none.
__cudaswitch_file() {
    __csw=${PWD-}
    # PWD is `.` in a zsh that was started in a deleted folder, and going up would never end.
    case $__csw in /*) ;; *) \return 1 ;; esac
    case ${HOME-} in */) \set -- "${HOME%/}" ;; *) \set -- "${HOME-}" ;; esac
    until [ -f "$__csw/.cuda-version" ]; do
        case $__csw in '' | "$1") \return 1 ;; esac
        __csw=${__csw%/*}
    done
    __csw=$__csw/.cuda-version
}
