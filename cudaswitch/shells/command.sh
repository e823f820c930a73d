# shellcheck shell=bash disable=SC2016,SC2154  # zsh runs it too; core.sh sets what it has put where
# `cudaswitch` in bash and zsh: what changes this shell, and what is the command's own to do.

# This shell's own choice is the want $1 from now on, none when it is empty.
__cudaswitch_choose() {
    # What has started this shell chose before.
    _cudaswitch_gpus=''
    # Where there was none, `off` gives nothing up that `use -` could mean.
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

# Is it a script of an environment that is left which asks?
__cudaswitch_leaving() {
    # shellcheck disable=SC2154  # of zsh
    case ${BASH_SOURCE[*]-}${funcfiletrace[*]-} in */deactivate.d/*) ;; *) return 1 ;; esac
}

# Settle for the choice $1 in such a script: conda is to export a PATH that it computed before.
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

# `use` of a toolkit without options in place of another comes first: there is nothing to work out
# as long as nobody has touched what was applied, nor keeps a PATH with it. All in one function,
# for a call takes longer than most commands.
cudaswitch() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    \local __csw _csw_search _csw_ld _csw_ld_set _csw_brought
    _csw_brought=''
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
            # The next look has news then, and whether it is told is decided by the line.
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
    # Without this no `set -e` of zsh sees a failure in `else`, nor one behind `cudaswitch use X &&`.
    return
}

# What there is no ready answer to.
__cudaswitch_command() {
    \local _csw_arg _csw_code
    case $- in *a*) __cudaswitch_apart __cudaswitch_command "$@"; return ;; esac
    if ! __cudaswitch_changes "$@"; then
        # That is what they tell of, and no prompt may have come since `cd`, or packages be other
        # ones. What is wrong they say themselves.
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
            # What failed has perhaps come halfway, and what was refused has been told.
            _csw_code=0
            __cudaswitch_run "$@" || _csw_code=$?
            # In a script of an environment that is left conda has yet to finish, and a look to come.
            if [ -n "${CONDA_PREFIX-}" ] && __cudaswitch_leaving; then
                _cudaswitch_seen=left
                return "$_csw_code"
            fi
            case $_csw_code in 0) _cudaswitch_asked='' && __cudaswitch_uncovered ;; esac
            __cudaswitch_reread C
            __cudaswitch_reread V
            # Nobody has moved; CUDASWITCH_VERSION may mean another one now.
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

# Forget what the hook of an active environment of the owner $1, C or V, asks for where its pin is
# another now: that hook runs again then.
__cudaswitch_reread() {
    \local _csw_was _csw_env _csw_now IFS
    \eval "_csw_was=\${_CUDASWITCH_$1-}"
    case $_csw_was in '') return 0 ;; esac
    _csw_env=${_csw_was##*:env=} _csw_now='' IFS=''
    if [ -f "$_csw_env/etc/cudaswitch/want" ]; then
        \read -r -d '' _csw_now < "$_csw_env/etc/cudaswitch/want" || :
    fi
    # Each slash is a line break there.
    _csw_now=${_csw_now%$'\n'}
    case ${_csw_now//$'\n'//}:env=$_csw_env in "$_csw_was") ;; *) \unset "_CUDASWITCH_$1" ;; esac
}

# What was stacked on the environment whose pin decides may have a pin now.
__cudaswitch_uncovered() {
    \local _csw_was
    _csw_was=${_CUDASWITCH_C-}
    case $_csw_was in '' | *":env=${CONDA_PREFIX-}") return 0 ;; esac
    \unset _CUDASWITCH_C
    __cudaswitch_environments
    case ${_CUDASWITCH_C+x} in '') \export "_CUDASWITCH_C=$_csw_was" ;; esac
}
