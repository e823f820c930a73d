# shellcheck shell=bash disable=SC2154  # zsh runs it too; `shells.init` sets _cudaswitch_store
# Which store answers: CUDASWITCH_HOME may name a different store than when the integration was
# written, and may change in an open shell.

# Use the store that CUDASWITCH_HOME names, or the one that the integration was written for.
__cudaswitch_store() {
    case $- in *a*) __cudaswitch_apart __cudaswitch_store && return ;; esac
    \local __csw
    # As in __cudaswitch_said. If only Python can resolve the path, no answer is ready.
    case ${CUDASWITCH_HOME:-$_cudaswitch_store} in
        /*) __csw=${CUDASWITCH_HOME:-$_cudaswitch_store} ;;
        \~/*) __csw=${HOME-}/${CUDASWITCH_HOME#??} ;;
        *) __csw=/dev/null ;;
    esac
    case $_cudaswitch_root in "$__csw") return 0 ;; esac
    _cudaswitch_root=$__csw _cudaswitch_asked=''
    # The directory is the same; CUDASWITCH_VERSION may mean another toolkit now.
    _cudaswitch_seen=${_cudaswitch_seen:+${_cudaswitch_seen%\|*}\|again}
}
