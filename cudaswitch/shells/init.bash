# shellcheck shell=bash disable=SC2016,SC2128,SC2178,SC2179  # PROMPT_COMMAND is an array or not, and is evaluated
__cudaswitch_prompt() {
    \set -- "$?"
    case ${_cudaswitch_fresh-} in ?*) __cudaswitch_first ;; esac
    if [[ ${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} != "${_cudaswitch_seen-}" \
        || ${_CUDASWITCH_GONE-}${_cudaswitch_news-}\|${DIRENV_DIFF-}\|${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}${__MISE_DIFF:+\|${LD_LIBRARY_PATH-}${PATH-}} != "|${_cudaswitch_keepers-}" ]] \
        || { [[ -n ${_cudaswitch_file-} || -f .cuda-version ]] && __cudaswitch_edited; }; then
        case ${_cudaswitch_news-} in
            begun | asking) __cudaswitch_broken_off ;;
            *) __cudaswitch_look ;;
        esac
        case ${_cudaswitch_news-} in 1) __cudaswitch_tell "${_cudaswitch_line-}" ;; esac
    fi
    case ${_cudaswitch_alone:+${PROMPT_COMMAND[*]-}} in
        __cudaswitch_prompt) ;;
        *__cudaswitch_prompt*) { __cudaswitch_load && __cudaswitch_guard; } || : ;;
        *) \return "$1" ;;
    esac
}
# _cudaswitch_fresh: until the first prompt. Without a PROMPT_COMMAND, nobody needs the status until
# somebody joins. A DEBUG trap takes our one word for no typed command, as it is all there is.
if [[ -z ${PROMPT_COMMAND+x}${BLE_ATTACHED-} ]]; then
    PROMPT_COMMAND=__cudaswitch_prompt _cudaswitch_alone=1 _cudaswitch_fresh=1
elif __cudaswitch_join; then
    _cudaswitch_fresh=1
fi
# Tells hooks that our functions are here.
_cudaswitch_here=1
__cudaswitch_look
case ${_cudaswitch_fresh-} in ?*) _cudaswitch_fresh=${CUDA_HOME-}\|${PATH-} ;; esac
