# shellcheck shell=dash
# Variables that were set but not exported before us: _CUDASWITCH_UNEXPORTED lists them, separated
# by blanks. A shell that would need a process to tell takes all variables for exported.

# Is the variable $1 set, and not exported?
__cudaswitch_private() {
    case ${ZSH_VERSION+zsh}${BASH_VERSION-} in
        zsh) \eval "case \${$1+\${(t)$1}} in *export* | '') return 1 ;; esac" ;;
        4.[4-9]* | [5-9].* | [1-9][0-9]*) \eval "case \${$1+x\${$1@a}} in *x*x* | '') return 1 ;; esac" ;;
        *) return 1 ;;
    esac
}

# Record the variable $1, which is about to be exported, if it is not exported yet.
__cudaswitch_note() {
    if __cudaswitch_private "$1"; then
        \export "_CUDASWITCH_UNEXPORTED=${_CUDASWITCH_UNEXPORTED:+$_CUDASWITCH_UNEXPORTED }$1"
    fi
}

# Unexport those of the variables $@ that were recorded, but not an LD_LIBRARY_PATH that is known
# to have been changed since: whoever changes it exports it.
__cudaswitch_unexport() {
    \local _csw_name _csw_value
    case ${_CUDASWITCH_UNEXPORTED-} in '') return 0 ;; esac
    for _csw_name; do
        case $_csw_name:${_cudaswitch_ld-"${LD_LIBRARY_PATH-}"} in
            "LD_LIBRARY_PATH:${LD_LIBRARY_PATH-}") ;;
            LD_LIBRARY_PATH:*) continue ;;
        esac
        \eval "_csw_value=\${$_csw_name+x}"
        case " ${_CUDASWITCH_UNEXPORTED-} :$_csw_value" in *" $_csw_name "*:x) ;; *) continue ;; esac
        # In place, if the shell can: the variable may be tied to an array, or local to a caller.
        # shellcheck disable=SC3044  # zsh and bash only
        case ${ZSH_VERSION-} in ?*) \typeset -g +x "$_csw_name" && continue ;; esac
        # shellcheck disable=SC2163,SC3045  # the same
        case ${BASH_VERSION-} in ?*) \export -n "$_csw_name" && continue ;; esac
        \eval "_csw_value=\$$_csw_name" && \unset "$_csw_name" && \eval "$_csw_name=\$_csw_value"
    done
}

# Run a command without the user's `set -a`, so that our variables are not exported.
__cudaswitch_apart() {
    \local _csw_code
    _csw_code=0
    \set +a
    "$@" || _csw_code=$?
    \set -a
    return "$_csw_code"
}
