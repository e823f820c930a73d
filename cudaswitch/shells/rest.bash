# shellcheck shell=bash disable=SC2128,SC2154,SC2178  # PROMPT_COMMAND is an array or not; init.bash has what it shares
# What the prompt of init.bash seldom needs, and what happens to PROMPT_COMMAND after it: most shells
# do not parse it.

# The last look did not end: $_cudaswitch_news says how far it came.
__cudaswitch_broken_off() {
    case $_cudaswitch_news in
        # An error in it has thrown bash back to its prompt, which comes here at once.
        begun) _cudaswitch_seen=${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} ;;
        # Ctrl-C interrupted a question: this prompt is for leaving, the next one asks again.
        asking) _cudaswitch_asked='' ;;
    esac
    _cudaswitch_news=''
}

# Somebody has added to our one word, and needs the status from now on, which must not look like a
# failure. If PROMPT_COMMAND is read-only, they do not get it. If they only come before ours, they
# may have a trap on DEBUG that relies on it: the next prompt checks.
__cudaswitch_guard() {
    \local _csw_at _csw_text _csw_ours
    if __cudaswitch_prompt_is r; then return 0; fi
    _csw_ours=$_cudaswitch_ours
    if __cudaswitch_prompt_is x; then
        _csw_ours=$_cudaswitch_exported
    else
        case ${PROMPT_COMMAND[*]} in *[!_]__cudaswitch_prompt) _csw_ours=$_cudaswitch_once ;; esac
    fi
    for _csw_at in "${!PROMPT_COMMAND[@]}"; do
        _csw_text=${PROMPT_COMMAND[_csw_at]}
        case $_csw_text in *__cudaswitch_prompt*) ;; *) continue ;; esac
        _csw_text=${_csw_text%%__cudaswitch_prompt*}$_csw_ours${_csw_text#*__cudaswitch_prompt}
        case $_csw_at in 0) PROMPT_COMMAND=$_csw_text ;; *) PROMPT_COMMAND[_csw_at]=$_csw_text ;; esac
    done
    _cudaswitch_alone=''
}

# Does the trap $1, or the function that it calls, take the last command of $_cudaswitch_others for
# the mark of a prompt, as liquidprompt's does? Then that command must stay, and stay last:
# $_csw_text is all of them with ours before it. A trap that returns at it does not need that.
__cudaswitch_marked() {
    \local _csw_last _csw_all _csw_mark
    _csw_last=${_cudaswitch_others%"${_cudaswitch_others##*[!;[:space:]]}"}
    _csw_last=${_csw_last##*[;$'\n']}
    _csw_last=${_csw_last#"${_csw_last%%[![:space:]]*}"}
    case $_csw_last in '' | *[!A-Za-z0-9_:.-]*) return 1 ;; esac
    _csw_all=$1$(\declare -f -- "${1%%[!A-Za-z0-9_:.-]*}")
    _csw_mark="BASH_COMMAND[\"}]*[[:space:]]+==?[[:space:]]+[\"']*${_csw_last//./\\.}[\"']*[[:space:]]+\\]"
    if [[ $_csw_all == *PROMPT_COMMAND* ]] || ! [[ $_csw_all =~ $_csw_mark ]]; then return 1; fi
    _csw_all=${_csw_all#*"${BASH_REMATCH[0]}"}
    if [[ ${_csw_all:0:30} == *return* ]]; then return 1; fi
    _csw_text=${_cudaswitch_others%"$_csw_last"*}$_csw_ours$'\n'$_csw_last
}

# PROMPT_COMMAND may be overwritten by a later startup line, and now the user asks what is active.
__cudaswitch_unprompted() {
    \local _csw_held IFS
    IFS=$' \n'
    # In a startup file no prompt has come yet, with `bash -ic` none comes, and a subshell has none.
    if [[ $- != *i* || -n ${BASH_EXECUTION_STRING-} || $BASH_SUBSHELL != 0 || " ${FUNCNAME[*]} " == *' source '* \
        || ${PROMPT_COMMAND[*]-} == *__cudaswitch_prompt* ]]; then return 0; fi
    # After the first prompt, a tool that saves the old value (starship, bash-preexec) may run it.
    case ${_cudaswitch_fresh-} in
        '')
            # shellcheck disable=SC2046  # names
            _csw_held=$(
                \unset __cudaswitch_prompt _cudaswitch_exported _cudaswitch_once _cudaswitch_others _cudaswitch_ours
                \declare -p
                \declare -f $(\compgen -A function -X '__cudaswitch_*')
            ) 2> /dev/null
            case $_csw_held in *__cudaswitch_prompt*) return 0 ;; esac
            _csw_held='add to it instead, with PROMPT_COMMAND+='
            ;;
        *) _csw_held='put the line that loads cudaswitch last in the startup file' ;;
    esac
    __cudaswitch_first
    if __cudaswitch_join && [[ -z ${CUDASWITCH_QUIET-} ]]; then
        printf 'cudaswitch: PROMPT_COMMAND was overwritten, so nothing was switched at the prompt until now\n' >&2
        printf 'hint: %s\n' "$_csw_held" >&2
    fi
}
