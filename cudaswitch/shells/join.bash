# shellcheck shell=bash disable=SC2016,SC2128,SC2154,SC2178,SC2179  # PROMPT_COMMAND is an array or not, and is evaluated
# Joins PROMPT_COMMAND if others use it, it is exported, or ble.sh has it: parsed only then.

# Does PROMPT_COMMAND have the attribute $1 of `declare`? bash before 4.4 cannot tell.
__cudaswitch_prompt_is() {
    ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 403)) && [[ ${PROMPT_COMMAND+set} && ${PROMPT_COMMAND@a} == *$1* ]]
}
# Stands in PROMPT_COMMAND after the others until the first prompt, which passes it the exit status
# and the trap on DEBUG: neither functions nor sourced files see that trap. Timers, titles and
# `preexec` set one, and take a further command there for one that somebody has typed. So if there
# is a trap, our command and the last of the others become one.
__cudaswitch_prompt_once() {
    case $- in *a*) __cudaswitch_unaliased __cudaswitch_prompt_once "$@"; \return ;; esac
    \local _csw_at _csw_last _csw_text _csw_ours
    _csw_last='' _csw_text='' _cudaswitch_trap='' _csw_ours=$_cudaswitch_ours
    if __cudaswitch_prompt_is x; then _csw_ours=$_cudaswitch_exported; fi
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
                # In a function, these would mean something else.
                *declare* | *typeset* | *FUNCNAME*) _csw_text=$_csw_ours$'\n'$_cudaswitch_others ;;
                *)
                    # They look for their names here; for traps, it stays one command on one line.
                    __cudaswitch_words "$_cudaswitch_others"
                    _csw_text=__cudaswitch_prompts$_csw_text
                    { __cudaswitch_load && __cudaswitch_marked "${2#*\'}"; } || :
                    ;;
            esac
        fi
        # So an array stays an array, and a string a string.
        case $_csw_at in 0) PROMPT_COMMAND=$_csw_text ;; *) PROMPT_COMMAND[_csw_at]=$_csw_text ;; esac
    fi
    __cudaswitch_prompt || :
    \return "$1"
}
# $_csw_text = the words of $1, each after a blank.
__cudaswitch_words() {
    \local _csw_word IFS
    _csw_text='' IFS=' '
    for _csw_word in ${1//[!A-Za-z0-9_:.\/-]/ }; do _csw_text+=" $_csw_word"; done
}
__cudaswitch_prompts() {
    case ${FUNCNAME[@]:1}:$_cudaswitch_others in
        # One of them has saved this as what it found there, and calls it.
        *__cudaswitch_prompts*:*) \return ;;
        # A trap that they set would see what follows.
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
# Our part if there are others: before `&&`, a status that is passed on is no failure. A trap on
# DEBUG that goes through PROMPT_COMMAND line by line finds each of our commands on a line of its
# own, and takes no typed command for ours. The first time, PROMPT_COMMAND has changed by then, and
# only a loop over nothing sets off no trap.
_cudaswitch_ours=$'{\n__cudaswitch_prompt\n} &&\ntrue cudaswitch'
_cudaswitch_once=$'{\n__cudaswitch_prompt_once "$?" "${_cudaswitch_trap-$(\\trap -p DEBUG)}"\n} &&\nfor _ in; do \\:; done'
# Our part if PROMPT_COMMAND has been exported since: shells without our function find nothing to run.
_cudaswitch_exported=$'{\n\\eval "${__cudaswitch_prompt-}"\n} &&\ntrue cudaswitch'
# Through this, an exported PROMPT_COMMAND finds out whether the function is there.
__cudaswitch_prompt=__cudaswitch_prompt
# Join PROMPT_COMMAND, unless we are in it; fails if nobody can.
__cudaswitch_join() {
    \local _csw_all
    _csw_all=${PROMPT_COMMAND[*]-}
    # What these call from their own commands.
    case $_csw_all in
        *__bp_*) _csw_all+="|${precmd_functions[*]-}" ;;
        *__vsc_prompt_cmd*) _csw_all+="|${__vsc_original_prompt_command[*]-}" ;;
    esac
    case ";$_csw_all;" in
        *"$_cudaswitch_ours"* | *_cudaswitch_prompt-* | *_cudaswitch_prompt_once* | *__cudaswitch_prompts*) ;;
        # From a parent shell, which has exported it.
        *__cudaswitch_prompt*) _cudaswitch_alone=1 ;;
        *)
            # Left over from an earlier PROMPT_COMMAND.
            _cudaswitch_alone=''
            \unset _cudaswitch_trap
            # Last: the others see the exit status and PIPESTATUS of the user's command, and we see
            # what direnv did. We still pass that status on: before `&&` it is no failure, neither
            # for `set -e` nor for a trap on ERR.
            if __cudaswitch_prompt_is r; then
                # For example, so that every command is logged.
                if [[ $- == *i* && -z ${CUDASWITCH_QUIET-} ]]; then
                    printf 'cudaswitch: PROMPT_COMMAND is read-only here, so nothing is switched at the prompt\n' >&2
                    printf 'hint: cudaswitch use VERSION\n' >&2
                fi
                \return 1
            elif [[ -n ${BLE_ATTACHED-} ]]; then
                # ble.sh has taken PROMPT_COMMAND over, and restores what was there before.
                blehook 'PRECMD!=__cudaswitch_prompt'
            elif [[ $_csw_all == *__bp_install* || $_csw_all == *__bp_precmd_invoke_cmd* ]]; then
                # bash-preexec, which atuin uses: what runs after its own commands counts as typed.
                precmd_functions+=(__cudaswitch_prompt)
            elif [[ ${PROMPT_COMMAND-} == __vsc_prompt_cmd || ${PROMPT_COMMAND-} == __vsc_prompt_cmd_original ]]; then
                # VS Code's line before ours: what its own commands do not call counts as typed.
                __vsc_original_prompt_command+="${__vsc_original_prompt_command:+$'\n'}$_cudaswitch_ours"
                PROMPT_COMMAND=__vsc_prompt_cmd_original
            elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 500)) && __cudaswitch_prompt_is a \
                && [[ ${#PROMPT_COMMAND[@]} != 1 || ${TERM_PROGRAM-} != vscode ]]; then
                # Others recognise their entries by the whole text (oh-my-posh); of an array of one,
                # VS Code takes only the first entry for the prompt's.
                PROMPT_COMMAND+=("$_cudaswitch_once")
            elif __cudaswitch_prompt_is x; then
                # It is exported: shells without our function find nothing to run.
                PROMPT_COMMAND+="${PROMPT_COMMAND:+$'\n'}\\eval \"\${__cudaswitch_prompt-}\" && :"
            elif [[ -n ${PROMPT_COMMAND-} ]]; then
                PROMPT_COMMAND+=$'\n'$_cudaswitch_once
            else
                # As in init.bash if there is none.
                PROMPT_COMMAND=__cudaswitch_prompt _cudaswitch_alone=1
            fi
            ;;
    esac
}
