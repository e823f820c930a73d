# shellcheck shell=bash disable=SC2128,SC2178  # PROMPT_COMMAND is an array or not
__cudaswitch_prompt() {
    _cudaswitch_code=$?
    if [[ ${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} != "${_cudaswitch_seen-}" \
        || ${_CUDASWITCH_GONE-}${_cudaswitch_news-}\|${DIRENV_DIFF-} != "|${_cudaswitch_direnv-}" ]] \
        || { [[ -n ${_cudaswitch_file-} || -f .cuda-version ]] && __cudaswitch_edited; }; then
        __cudaswitch_look
        case ${_cudaswitch_news-} in ?*) __cudaswitch_tell "${_cudaswitch_line-}" ;; esac
    fi
    return "$_cudaswitch_code"
}
# By this name a PROMPT_COMMAND that is exported asks whether the function is there.
__cudaswitch_prompt=__cudaswitch_prompt
case ";${PROMPT_COMMAND[*]-};" in
    *__cudaswitch_prompt*) ;;
    *)
        # Last: the others see the exit status of the command before, and its PIPESTATUS, and we
        # what direnv did. It hands that status on all the same: in front of `&&` that is no
        # failure, not for `set -e`, and not for a trap on ERR.
        if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 500)) && [[ ${PROMPT_COMMAND+set} && ${PROMPT_COMMAND@a} == *a* ]]; then
            PROMPT_COMMAND+=("__cudaswitch_prompt && :")
        elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 403)) && [[ ${PROMPT_COMMAND+set} && ${PROMPT_COMMAND@a} == *x* ]]; then
            # It is exported, also to shells that have no such function: those find nothing to run.
            PROMPT_COMMAND+="${PROMPT_COMMAND:+$'\n'}\\eval \"\${__cudaswitch_prompt-}\" && :"
        else
            PROMPT_COMMAND+="${PROMPT_COMMAND:+$'\n'}__cudaswitch_prompt && :"
        fi
        ;;
esac
__cudaswitch_look
