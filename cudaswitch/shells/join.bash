# shellcheck shell=bash disable=SC2016,SC2128,SC2154,SC2178,SC2179  # PROMPT_COMMAND is an array or not, and is evaluated
# How we come into PROMPT_COMMAND where others are, it is exported, or ble.sh has it: parsed only there.

# Has PROMPT_COMMAND the attribute $1, as `declare` has it? Before 4.4 nothing tells.
__cudaswitch_prompt_is() {
    ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 403)) && [[ ${PROMPT_COMMAND+set} && ${PROMPT_COMMAND@a} == *$1* ]]
}
# What stands in PROMPT_COMMAND behind others until the first prompt, which calls it with the exit
# status and the trap on DEBUG: no function sees that, nor a file that is read. Timers, titles and
# `preexec` have such a trap, and take one more command there for one that somebody has typed. So
# where there is one, ours and the last of the others become one command.
__cudaswitch_prompt_once() {
    \local _csw_at _csw_last _csw_text _csw_ours
    _csw_last='' _csw_text='' _cudaswitch_trap='' _csw_ours=$_cudaswitch_ours
    # Exported since, to shells that have no such function: those are to find nothing to run.
    if __cudaswitch_prompt_is x; then
        _csw_ours=$'{\n\\eval "${__cudaswitch_prompt-}"\n} &&\ntrue cudaswitch'
    fi
    for _csw_at in "${!PROMPT_COMMAND[@]}"; do
        _csw_text=${PROMPT_COMMAND[_csw_at]}
        case $_csw_text in *"$_cudaswitch_once"*) break ;; esac
        _csw_last=$_csw_at
    done
    if [[ $_csw_text == *"$_cudaswitch_once"* ]]; then
        _cudaswitch_others=${_csw_text%%"$_cudaswitch_once"*}
        _csw_text=$_cudaswitch_others$_csw_ours${_csw_text#*"$_cudaswitch_once"}
        if [[ -n $2 && $_csw_text == *"$_cudaswitch_ours" ]]; then
            if [[ -z $_cudaswitch_others && -n $_csw_last ]]; then
                \unset "PROMPT_COMMAND[$_csw_at]"
                _csw_at=$_csw_last _cudaswitch_others=${PROMPT_COMMAND[_csw_last]}
            fi
            case $_cudaswitch_others in
                '') ;;
                # In a function those would be another thing.
                *declare* | *typeset* | *FUNCNAME*) _csw_text=$_csw_ours$'\n'$_cudaswitch_others ;;
                *)
                    # By their names they see that they are there; for traps it stays one command on a line.
                    __cudaswitch_words "$_cudaswitch_others"
                    _csw_text=__cudaswitch_prompts$_csw_text
                    { __cudaswitch_load && __cudaswitch_marked "${2#*\'}"; } || :
                    ;;
            esac
        fi
        # So it stays an array, or none.
        case $_csw_at in 0) PROMPT_COMMAND=$_csw_text ;; *) PROMPT_COMMAND[_csw_at]=$_csw_text ;; esac
    fi
    __cudaswitch_prompt || :
    \return "$1"
}
# $_csw_text = each word of $1, behind a blank.
__cudaswitch_words() {
    \local _csw_word IFS
    _csw_text='' IFS=' '
    for _csw_word in ${1//[!A-Za-z0-9_:.\/-]/ }; do _csw_text+=" $_csw_word"; done
}
__cudaswitch_prompts() {
    case ${FUNCNAME[@]:1}:$_cudaswitch_others in
        # One of them has put this aside, as what it found there, and calls it.
        *__cudaswitch_prompts*:*) \return ;;
        # What comes behind is seen by a trap that they set.
        *:*trap*)
            __cudaswitch_prompt && :
            \eval "$_cudaswitch_others"
            ;;
        *)
            \eval "$_cudaswitch_others"
            __cudaswitch_prompt && :
            ;;
    esac
}
# Our part where there are others: in front of `&&` a status that is handed on is no failure. A trap on
# DEBUG that goes through PROMPT_COMMAND by its lines finds each of our commands alone on one, and
# takes none for ours that people type.
_cudaswitch_ours=$'{\n__cudaswitch_prompt\n} &&\ntrue cudaswitch'
_cudaswitch_once='__cudaswitch_prompt_once "$?" "${_cudaswitch_trap-$(\trap -p DEBUG)}" && :'
# By this name a PROMPT_COMMAND that is exported asks whether the function is there.
__cudaswitch_prompt=__cudaswitch_prompt
# Come into PROMPT_COMMAND, unless we are there; fails where nobody can.
__cudaswitch_join() {
    \local _csw_all
    _csw_all=${PROMPT_COMMAND[*]-}
    # What those call from their own commands.
    case $_csw_all in
        *__bp_*) _csw_all+="|${precmd_functions[*]-}" ;;
        *__vsc_prompt_cmd*) _csw_all+="|${__vsc_original_prompt_command[*]-}" ;;
    esac
    case ";$_csw_all;" in
        *"$_cudaswitch_ours"* | *_cudaswitch_prompt-* | *_cudaswitch_prompt_once* | *__cudaswitch_prompts*) ;;
        # Of a shell before this one, which has exported it.
        *__cudaswitch_prompt*) _cudaswitch_alone=1 ;;
        *)
            # Of what stood there before.
            _cudaswitch_alone=''
            \unset _cudaswitch_trap
            # Last: the others see the exit status of the command before, and its PIPESTATUS, and we
            # what direnv did. It hands that status on all the same: in front of `&&` that is no
            # failure, not for `set -e`, and not for a trap on ERR.
            if __cudaswitch_prompt_is r; then
                # So that every command is logged, say.
                if [[ $- == *i* && -z ${CUDASWITCH_QUIET-} ]]; then
                    printf 'cudaswitch: PROMPT_COMMAND is read-only here, so nothing is switched at the prompt\n' >&2
                    printf 'hint: cudaswitch use VERSION\n' >&2
                fi
                \return 1
            elif [[ -n ${BLE_ATTACHED-} ]]; then
                # ble.sh has taken PROMPT_COMMAND away, and brings back what was there before.
                blehook 'PRECMD!=__cudaswitch_prompt'
            elif [[ $_csw_all == *__bp_install* || $_csw_all == *__bp_precmd_invoke_cmd* ]]; then
                # bash-preexec, which atuin has: what runs behind its own commands counts as typed.
                precmd_functions+=(__cudaswitch_prompt)
            elif [[ ${PROMPT_COMMAND-} == __vsc_prompt_cmd || ${PROMPT_COMMAND-} == __vsc_prompt_cmd_original ]]; then
                # VS Code's line in front of ours: so does what is not called from its own commands.
                __vsc_original_prompt_command+="${__vsc_original_prompt_command:+$'\n'}$_cudaswitch_ours"
                PROMPT_COMMAND=__vsc_prompt_cmd_original
            elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 500)) && __cudaswitch_prompt_is a \
                && [[ ${#PROMPT_COMMAND[@]} != 1 || ${TERM_PROGRAM-} != vscode ]]; then
                # Others know their entries by all of their text (oh-my-posh); of one alone the first is
                # all that VS Code takes for the prompt's.
                PROMPT_COMMAND+=("$_cudaswitch_once")
            elif __cudaswitch_prompt_is x; then
                # It is exported, also to shells that have no such function: those find nothing to run.
                PROMPT_COMMAND+="${PROMPT_COMMAND:+$'\n'}\\eval \"\${__cudaswitch_prompt-}\" && :"
            elif [[ -n ${PROMPT_COMMAND-} ]]; then
                PROMPT_COMMAND+=$'\n'$_cudaswitch_once
            else
                # As init.bash has it where there is none.
                PROMPT_COMMAND=__cudaswitch_prompt _cudaswitch_alone=1
            fi
            ;;
    esac
}
