# What `cudaswitch init` adds to core.sh in bash and zsh: the function that changes this
# shell, and the look-round that the prompt asks for when environment or directory changed.
# $_cudaswitch_root is the store; requests/NAME in it holds the ready answer to a request.
# $_cudaswitch_program is the command itself, which need not be on an environment's PATH.

# __csw = the ready answer to the request $1; fails where Python must be asked.
__cudaswitch_ready() {
    case $1 in '' | .* | -* | *[!A-Za-z0-9._+-]*) return 1 ;; esac
    if ! [ -f "$_cudaswitch_root/requests/$1" ]; then return 1; fi
    IFS= \read -r __csw < "$_cudaswitch_root/requests/$1" && [ -d "$__csw/." ]
}

# __csw = the ready answer to the version file $1; fails where Python must be asked.
__cudaswitch_read() {
    \local cuda cudnn mode key value rest
    cuda='' cudnn='' mode=''
    if ! [ -O "$1" ]; then return 1; fi
    while IFS=$' \t=' \read -r key value rest || [ -n "$key" ]; do
        case $key in
            '' | '#'*) continue ;;
            cuda | cudnn | libraries) ;;
            *) rest=$value$rest value=$key key=cuda ;;
        esac
        case $rest in '' | '#'*) ;; *) return 1 ;; esac
        case $key$cuda$cudnn$mode in
            cuda"$cudnn$mode") cuda=$value ;;
            cudnn"$cuda$mode") cudnn=$value ;;
            libraries"$cuda$cudnn") mode=$value ;;
            *) return 1 ;;
        esac
    done < "$1"
    case $mode in '' | auto | always | never) ;; *) return 1 ;; esac
    __cudaswitch_ready "$cuda${cudnn:++cudnn$cudnn}" && __csw=$__csw${mode:+:lib=$mode}
}

# What the directory asks for, else the user: _CUDASWITCH_D.
__cudaswitch_directory() {
    \local dir file
    dir=$PWD file=''
    while :; do
        if [ -f "$dir/.cuda-version" ]; then
            file=$dir/.cuda-version
            break
        fi
        if [ -z "$dir" ] || [ "$dir" = "$HOME" ]; then break; fi
        dir=${dir%/*}
    done
    file=${file:-$_cudaswitch_root/global}
    \unset _CUDASWITCH_D
    if [ -f "$file" ]; then
        if __cudaswitch_read "$file" || __csw=$("$_cudaswitch_program" want --file "$file"); then
            \export "_CUDASWITCH_D=$__csw"
        fi
    fi
}

# Drop what belongs to an environment that was left, take up what the environment, the
# directory or the user asks for, and settle.
__cudaswitch_look() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
    \local __csw env before hook
    before=${_CUDASWITCH_ON-}
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
    if [ -z "${CUDASWITCH_VERSION-}" ]; then
        \unset _CUDASWITCH_X
    elif __cudaswitch_ready "$CUDASWITCH_VERSION" \
        || __csw=$("$_cudaswitch_program" want -- "$CUDASWITCH_VERSION"); then
        \export "_CUDASWITCH_X=$__csw"
    fi
    if [ -n "${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then
        \unset _CUDASWITCH_D
    elif [ -z "${_CUDASWITCH_U-}" ]; then
        __cudaswitch_directory
    fi
    __cudaswitch_settle
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
            if [ -n "$want" ]; then \export "_CUDASWITCH_U=$want"; else \unset _CUDASWITCH_U; fi
            __cudaswitch_settle
            __cudaswitch_say
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
            __cudaswitch_look
            ;;
    esac
}
