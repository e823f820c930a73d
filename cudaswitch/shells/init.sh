# shellcheck shell=bash disable=SC1090,SC2154  # zsh runs it too; hooks are found at run time; `shells.init` sets
# What `cudaswitch init` adds to core.sh in bash and zsh: the function that changes this
# shell, and the look-round that the prompt asks for when environment or directory changed.
# $_cudaswitch_program is the command itself, which need not be on an environment's PATH.

# What the directory asks for, else the user: _CUDASWITCH_D.
__cudaswitch_directory() {
    \local file
    \unset _CUDASWITCH_D
    if __cudaswitch_file; then
        file=$__csw
        if __cudaswitch_read "$file" || __cudaswitch_ask_once "$file"; then
            \export "_CUDASWITCH_D=$__csw"
        fi
    fi
}

# __csw = what Python answers to the version file $1, which it is asked, and complains of,
# once on the way into a tree and not at every step within.
__cudaswitch_ask_once() {
    \local text
    text=''
    if [ -O "$1" ] && [ -r "$1" ]; then IFS= \read -r -d '' text < "$1" || :; fi
    if [ "$1:$text" != "${_cudaswitch_asked-}" ]; then
        _cudaswitch_asked=$1:$text
        _cudaswitch_answer=$("$_cudaswitch_program" want --file "$1") || _cudaswitch_answer=''
    fi
    __csw=$_cudaswitch_answer
    [ -n "$__csw" ]
}

# Drop what belongs to an environment that was left, take up what the environment, the
# directory or the user asks for, and settle.
__cudaswitch_look() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
    \local __csw env before hook moved
    before=${_CUDASWITCH_ON-} moved=1
    case ${_cudaswitch_seen-} in "${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*) moved='' ;; esac
    env=${_CUDASWITCH_V-}
    if [ -n "$env" ] && [ "${env##*:env=}" != "${VIRTUAL_ENV-}" ]; then \unset _CUDASWITCH_V; fi
    env=${_CUDASWITCH_C-}
    if [ -n "$env" ] && [ "${env##*:env=}" != "${CONDA_PREFIX-}" ]; then
        # Below a stacked environment this one is still active: its folder is on PATH.
        case :$PATH: in *":${env##*:env=}/bin:"*) ;; *) \unset _CUDASWITCH_C ;; esac
    fi
    # A hook that did not run: its activate script was rewritten, or bypassed.
    hook="${VIRTUAL_ENV-}/etc/cudaswitch/on.sh"
    if [ -z "${_CUDASWITCH_V-}" ] && [ -n "${VIRTUAL_ENV-}" ] && [ -f "$hook" ]; then
        \. "$hook"
    fi
    hook="${CONDA_PREFIX-}/etc/conda/activate.d/~~cudaswitch.sh"
    if [ -z "${_CUDASWITCH_C-}" ] && [ -n "${CONDA_PREFIX-}" ] && [ -f "$hook" ]; then
        \. "$hook"
    fi
    case "${_cudaswitch_seen-}" in
        *"|${CUDASWITCH_VERSION-}") ;;
        *)
            if [ -z "${CUDASWITCH_VERSION-}" ]; then
                \unset _CUDASWITCH_X
            elif __cudaswitch_ready "$CUDASWITCH_VERSION" \
                || __csw=$("$_cudaswitch_program" want -- "$CUDASWITCH_VERSION"); then
                \export "_CUDASWITCH_X=$__csw"
            fi
            ;;
    esac
    if [ -n "${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then
        \unset _CUDASWITCH_D
    elif [ -z "${_CUDASWITCH_U-}" ]; then
        __cudaswitch_directory
    fi
    # Without a reason nothing is touched: people put their own folders before ours.
    __cudaswitch_strongest
    if [ -n "$moved${_CUDASWITCH_GONE-}" ] || [ "$__csw" != "${before%:nvcc}" ]; then
        __cudaswitch_settle
    fi
    _cudaswitch_seen="${CONDA_PREFIX-}|${VIRTUAL_ENV-}|$PWD|${CUDASWITCH_VERSION-}"
    if [ "$before" != "${_CUDASWITCH_ON-}" ]; then __cudaswitch_say; fi
}

# One line on what is active now.
__cudaswitch_say() {
    \local home
    if [ -n "${CUDASWITCH_QUIET-}" ]; then return 0; fi
    home=${_CUDASWITCH_ON-}
    if [ -z "$home" ]; then
        printf 'cudaswitch: no toolkit\n' >&2
        return 0
    fi
    home=${home%%:*}
    printf 'cudaswitch: CUDA %s' "${home##*/}" >&2
    case ${_CUDASWITCH_LIB-}$_CUDASWITCH_ON in
        /*:lib=never*) printf ' (LD_LIBRARY_PATH left alone, as asked)\n' >&2 ;;
        /*) printf ' (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)\n' >&2 ;;
        *) printf '\n' >&2 ;;
    esac
}

cudaswitch() {
    \local __csw want arg
    case ${1-} in
        use | off | pin | unpin | install | adopt | remove | alias) ;;
        *)
            "$_cudaswitch_program" "$@"
            return
            ;;
    esac
    for arg; do
        case $arg in
            -h | --help)
                "$_cudaswitch_program" "$@"
                return
                ;;
        esac
    done
    case $1 in
        use)
            if [ $# -eq 2 ] && [ "$2" = - ]; then
                if [ -z "${_CUDASWITCH_PREVIOUS+x}" ]; then
                    printf 'cudaswitch: there is no earlier choice in this shell\n' >&2
                    printf 'hint: cudaswitch use VERSION\n' >&2
                    return 1
                fi
                want=$_CUDASWITCH_PREVIOUS
            elif [ $# -eq 2 ] && [ "$2" = system ]; then
                want=system
            elif [ $# -eq 2 ] && __cudaswitch_ready "$2"; then
                want=$__csw
            else
                shift
                want=$("$_cudaswitch_program" want --for-use "$@") || return
            fi
            \export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}"
            if [ -n "$want" ]; then
                \export "_CUDASWITCH_U=$want"
                __cudaswitch_settle
                __cudaswitch_say
            else
                \unset _CUDASWITCH_U
                __cudaswitch_look
            fi
            ;;
        off)
            if [ $# -gt 1 ]; then
                "$_cudaswitch_program" "$@"
                return
            fi
            \export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}"
            \unset _CUDASWITCH_U
            __cudaswitch_look
            ;;
        *)
            "$_cudaswitch_program" "$@" || return
            # What the hook of an active environment asks for may be another thing now.
            case ${_CUDASWITCH_C-} in *":env=${CONDA_PREFIX-}") \unset _CUDASWITCH_C ;; esac
            case ${_CUDASWITCH_V-} in *":env=${VIRTUAL_ENV-}") \unset _CUDASWITCH_V ;; esac
            _cudaswitch_seen='' _cudaswitch_asked=''
            __cudaswitch_look
            ;;
    esac
}
