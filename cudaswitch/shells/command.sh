# shellcheck shell=bash disable=SC2016,SC2154  # zsh runs it too; core.sh sets what it has put where
# `cudaswitch` in bash and zsh: does what changes this shell, and leaves the rest to the command.

# Make the want $1 this shell's own choice from now on; empty: no choice.
__cudaswitch_choose() {
    # This replaces the GPUs chosen by whatever started this shell.
    _cudaswitch_gpus=''
    # Without a choice, `off` gives up nothing that `use -` could return to.
    case ${_CUDASWITCH_U-}$1 in ?*) \export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}" ;; esac
    case $1 in '') \unset _CUDASWITCH_U ;; *) \export "_CUDASWITCH_U=$1" ;; esac
    if [ -n "${CONDA_PREFIX-}" ] && __cudaswitch_leaving; then
        __cudaswitch_meanwhile "$1"
        __cudaswitch_tell "${_cudaswitch_line-}"
    elif [ -n "$1" ]; then
        __cudaswitch_settle
        __cudaswitch_tell
    else
        __cudaswitch_look
        case ${_cudaswitch_news-} in 1) __cudaswitch_tell "${_cudaswitch_line-}" ;; esac
    fi
}

# Is the caller a deactivate script of the environment being left?
__cudaswitch_leaving() {
    # shellcheck disable=SC2154  # of zsh
    case ${BASH_SOURCE[*]-}${funcfiletrace[*]-} in */deactivate.d/*) ;; *) return 1 ;; esac
}

# Settle for the choice $1 in such a script: conda will still export a PATH that it computed before.
__cudaswitch_meanwhile() {
    \local _csw_gone
    _csw_gone=${_CUDASWITCH_GONE-}
    case ${_CUDASWITCH_ON-}$1 in
        '') __cudaswitch_settle ;;
        *) __cudaswitch_leave A "$CONDA_PREFIX" ;;
    esac
    case $_csw_gone in
        ?*) \export "_CUDASWITCH_GONE=${_CUDASWITCH_GONE:+$_CUDASWITCH_GONE:}$_csw_gone" ;;
    esac
}

# The first case is `use` of a toolkit without options in place of another: nothing needs working
# out as long as nobody has touched what was applied, or keeps a PATH with it. It is all in one
# function, as a call takes longer than most commands.
cudaswitch() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    \local __csw _csw_search _csw_ld _csw_ld_set _csw_brought
    _csw_brought=''
    case ${CUDASWITCH_HOME:-$_cudaswitch_store} in "$_cudaswitch_root") ;; *) __cudaswitch_store ;; esac
    if [[ $#:${1-} == 2:use && $- != *a* ]] && { __cudaswitch_ready "$2" || __cudaswitch_lent "$2"; }; then
        if [[ ${_OLD_VIRTUAL_PATH-}${_CUDASWITCH_GONE-}${_CUDASWITCH_OLD-}${_CUDASWITCH_KEPT-}${CUDA_HOME-}:\
${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}:${LD_LIBRARY_PATH-}:0${PATH-} == \
            "${_cudaswitch_plain:-none}:${_cudaswitch_ld-}:${_CUDASWITCH_BIN-}:"* ]] \
            && { [[ -z ${CONDA_PREFIX-}${VIRTUAL_ENV-} ]] || ! { __cudaswitch_path_kept || __cudaswitch_leaving; }; } \
            && _csw_search=${PATH:${#_CUDASWITCH_BIN}} \
                _csw_ld=$_cudaswitch_ld_was _csw_ld_set=$_cudaswitch_ld_was_set \
            && __cudaswitch_plainly "$__csw" "$__csw"; then
            if [[ -z ${_CUDASWITCH_PREVIOUS+x} || -z ${_CUDASWITCH_U+x} ]]; then
                \export _CUDASWITCH_PREVIOUS _CUDASWITCH_U
            fi
            # The next look has news then, and the line decides whether it is reported.
            _CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-} _CUDASWITCH_U=$__csw _cudaswitch_told='' \
                _cudaswitch_line=${__csw##*/}
            case $_cudaswitch_line in *[0-9]*) ;; *) _cudaswitch_line=$__csw ;; esac
            if [[ -n ${CUDASWITCH_QUIET-} \
                || ( -n ${ZSH_VERSION-} && ! -t 2 && ! -e /dev/fd/2 ) ]]; then return 0; fi
            printf 'cudaswitch: CUDA %s\n' "${_cudaswitch_line#cuda-}" >&2 || :
        else
            __cudaswitch_choose "$__csw"
        fi
    else
        __cudaswitch_command "$@"
    fi
    # Without this, zsh's `set -e` misses a failure in `else`, and one after `cudaswitch use X &&`.
    return
}

# Everything that has no ready answer.
__cudaswitch_command() {
    \local _csw_arg _csw_code
    case $- in *a*) __cudaswitch_apart __cudaswitch_command "$@"; return ;; esac
    if ! __cudaswitch_changes "$@"; then
        # These commands report what the look finds, and since the last one there may have been a
        # `cd` or a change of packages. They report errors themselves.
        case ${BASH_VERSION:+bash}${1-} in bashcurrent | bashwhich | bashdoctor) __cudaswitch_unprompted ;; esac
        case ${1-} in
            current | which | doctor) __cudaswitch_leaving || __cudaswitch_look 2> /dev/null || : ;;
        esac
        __cudaswitch_run "$@"
        return
    fi
    for _csw_arg; do
        case $_csw_arg in
            -h | --help)
                __cudaswitch_run "$@"
                return
                ;;
        esac
    done
    case $1 in
        use)
            if [ "$#" -eq 2 ] && [ "$2" = - ]; then
                if [ -z "${_CUDASWITCH_PREVIOUS+x}" ]; then
                    printf 'cudaswitch: there is no previous choice in this shell\n' >&2
                    printf 'hint: cudaswitch use VERSION\n' >&2
                    return 1
                fi
                __csw=$_CUDASWITCH_PREVIOUS
                case $__csw in
                    /*)
                        if ! __cudaswitch_there "${__csw%%:*}"; then
                            printf 'cudaswitch: `%s` is gone\n' "${__csw%%:*}" >&2
                            printf 'hint: cudaswitch use VERSION\n' >&2
                            return 1
                        fi
                        ;;
                esac
            elif [ "$#" -eq 2 ] && [ "$2" = system ]; then
                __csw=system
            elif [ "$#" -eq 2 ] && __cudaswitch_globbing __cudaswitch_auto "$2" '' sure; then
                :
            else
                shift
                __csw=$(__cudaswitch_run want --for-use "$@") || return
            fi
            __cudaswitch_choose "$__csw"
            ;;
        off)
            case $#${2-} in
                1 | 2--) __cudaswitch_choose '' ;;
                *) __cudaswitch_run "$@" ;;
            esac
            ;;
        *)
            # A command that failed may have done part of its work; a refusal was reported already.
            _csw_code=0
            __cudaswitch_run "$@" || _csw_code=$?
            # In a deactivate script, conda has yet to finish, and a look will follow.
            if [ -n "${CONDA_PREFIX-}" ] && __cudaswitch_leaving; then
                _cudaswitch_seen=left
                return "$_csw_code"
            fi
            case $_csw_code in 0) _cudaswitch_asked='' && __cudaswitch_uncovered ;; esac
            __cudaswitch_reread C
            __cudaswitch_reread V
            # The directory is the same; CUDASWITCH_VERSION may mean another toolkit now.
            _cudaswitch_seen=${_cudaswitch_seen%\|*}\|again
            __cudaswitch_look
            return "$_csw_code"
            ;;
    esac
}

# Is it a command after which this shell may have to switch?
__cudaswitch_changes() {
    \local _csw_arg _csw_changing
    _csw_changing=' use off pin unpin install adopt remove alias sync gc '
    _csw_changing="${_csw_changing}config+set config+unset doctor+--fix verify+--repair "
    case $_csw_changing in *" ${1-} "*) return 0 ;; *" ${1-}+"*) ;; *) return 1 ;; esac
    for _csw_arg; do
        case $_csw_changing in *" $1+$_csw_arg "*) return 0 ;; esac
    done
    return 1
}

# Forget the want of the owner $1 (C or V) if its environment's pin has changed, so that the hook
# runs again.
__cudaswitch_reread() {
    \local _csw_was _csw_env _csw_now IFS
    \eval "_csw_was=\${_CUDASWITCH_$1-}"
    case $_csw_was in '') return 0 ;; esac
    _csw_env=${_csw_was##*:env=} _csw_now='' IFS=''
    if [ -f "$_csw_env/etc/cudaswitch/want" ]; then
        \read -r -d '' _csw_now < "$_csw_env/etc/cudaswitch/want" || :
    fi
    # In that file, each slash is a line break.
    _csw_now=${_csw_now%$'\n'}
    case ${_csw_now//$'\n'//}:env=$_csw_env in "$_csw_was") ;; *) \unset "_CUDASWITCH_$1" ;; esac
}

# An environment stacked on the one whose pin decides may have a pin of its own now.
__cudaswitch_uncovered() {
    \local _csw_was
    _csw_was=${_CUDASWITCH_C-}
    case $_csw_was in '' | *":env=${CONDA_PREFIX-}") return 0 ;; esac
    \unset _CUDASWITCH_C
    __cudaswitch_environments
    case ${_CUDASWITCH_C+x} in '') \export "_CUDASWITCH_C=$_csw_was" ;; esac
}
