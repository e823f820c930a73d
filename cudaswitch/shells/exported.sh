# shellcheck shell=dash
# What was set and not exported before us: _CUDASWITCH_UNEXPORTED names it, with blanks between.
# A shell that cannot tell without a process takes all for exported.

# Is the variable $1 set, and not exported?
__cudaswitch_private() {
    case ${ZSH_VERSION+zsh}${BASH_VERSION-} in
        zsh) \eval "case \${$1+\${(t)$1}} in *export* | '') return 1 ;; esac" ;;
        4.[4-9]* | [5-9].* | [1-9][0-9]*) \eval "case \${$1+x\${$1@a}} in *x*x* | '') return 1 ;; esac" ;;
        *) return 1 ;;
    esac
}

# Note the variable $1, which is about to be exported, where it is private.
__cudaswitch_note() {
    if __cudaswitch_private "$1"; then
        \export "_CUDASWITCH_UNEXPORTED=${_CUDASWITCH_UNEXPORTED:+$_CUDASWITCH_UNEXPORTED }$1"
    fi
}

# Let those of the variables $@ that were noted be private again, but for an LD_LIBRARY_PATH that is
# known to have been changed since: who does that exports it.
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
        # In place, where the shell can: it may be tied to an array, or a local of who calls this.
        # shellcheck disable=SC3044  # zsh and bash only
        case ${ZSH_VERSION-} in ?*) \typeset -g +x "$_csw_name" && continue ;; esac
        # shellcheck disable=SC2163,SC3045  # the same
        case ${BASH_VERSION-} in ?*) \export -n "$_csw_name" && continue ;; esac
        \eval "_csw_value=\$$_csw_name" && \unset "$_csw_name" && \eval "$_csw_name=\$_csw_value"
    done
}

# Run a command for which a person's `set -a` does not count: what is ours is not exported.
__cudaswitch_apart() {
    \local _csw_code
    _csw_code=0
    \set +a
    "$@" || _csw_code=$?
    \set -a
    return "$_csw_code"
}
