# zsh itself restores the exit status; a failure here would set off a trap on ZERR. Whether the
# version file is unchanged is checked inline, as a function call takes zsh longer than the rest.
__cudaswitch_prompt() {
    \local __csw
    if [[ ${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} != "${_cudaswitch_seen-}" \
        || ${_CUDASWITCH_GONE-}${_cudaswitch_fresh-}\|${DIRENV_DIFF-}\|${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}${__MISE_DIFF:+\|${LD_LIBRARY_PATH-}${PATH-}} != "|${_cudaswitch_keepers-}" ]] \
        || { [[ -n ${_cudaswitch_file-} || -f .cuda-version ]] \
            && { [[ ${_cudaswitch_file-} != "$PWD/.cuda-version" && -f .cuda-version \
                || ! -f "$_cudaswitch_file" || ! -r "$_cudaswitch_file" ]] \
                || \read -r -u 0 -k 4096 __csw < "$_cudaswitch_file" \
                || [[ $__csw != "$_cudaswitch_text" ]]; } && __cudaswitch_edited; }; then
        case ${_cudaswitch_fresh-} in
            ?*)
                __cudaswitch_tab
                __cudaswitch_first && __cudaswitch_prompt && \return
                ;;
        esac
        case ${_cudaswitch_news-} in
            # An error in the look, such as a read-only variable, has thrown zsh back to its prompt.
            begun) _cudaswitch_seen=${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} _cudaswitch_news='' ;;
            # Ctrl-C interrupted a question: this prompt is for leaving, the next one asks again.
            asking) _cudaswitch_news='' _cudaswitch_asked='' ;;
            *) __cudaswitch_look || : ;;
        esac
    fi
    # powerlevel10k warns about output while its instant prompt is shown: wait for the next prompt.
    if [[ ${_cudaswitch_news-} = 1 && -z ${__p9k_instant_prompt_active-} ]]; then
        __cudaswitch_tell "${_cudaswitch_line-}" || :
    fi
}
# Not in a script of an environment being left: until conda has finished, that one is still active.
__cudaswitch_moved() {
    [[ -n ${_cudaswitch_left-} || ${CONDA_PREFIX:+${funcfiletrace[*]}} == */deactivate.d/* ]] && \return
    __cudaswitch_look || :
    # After a `case`, zsh would let the command after `cd X &&` fail despite `set -e`.
    \:
}
\typeset -ga precmd_functions chpwd_functions
# Not by its index: /etc/profile, which a login shell reads as sh does, counts from 0.
case " ${(j: :)precmd_functions[@]} " in
    *' __cudaswitch_prompt '*) ;;
    *)
        precmd_functions+=(__cudaswitch_prompt)
        chpwd_functions+=(__cudaswitch_moved)
        ;;
esac
# Tells hooks that our functions are here.
\typeset -g _cudaswitch_here=1
__cudaswitch_look
# Until the first prompt.
\typeset -g "_cudaswitch_fresh=${CUDA_HOME-}|${PATH-}"
