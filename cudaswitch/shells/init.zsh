# zsh gives the exit status back itself; another one here would set off a trap on ZERR. That the version
# file is as it was is seen here, without the call of a function, which takes zsh longer than the rest.
__cudaswitch_prompt() {
    if [[ ${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} != "${_cudaswitch_seen-}" \
        || ${_CUDASWITCH_GONE-}${_cudaswitch_fresh-}\|${DIRENV_DIFF-}\|${__MISE_DIFF:+$__MISE_DIFF${LD_LIBRARY_PATH-}${PATH-}}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-} != "|${_cudaswitch_keepers-}" ]] \
        || { [[ (-n ${_cudaswitch_file-} || -f .cuda-version) \
            && (${_cudaswitch_file-} != "$PWD/.cuda-version" && -f .cuda-version \
            || ! -f "$_cudaswitch_file" || ! -r "$_cudaswitch_file" || ! -O "$_cudaswitch_file" \
            || "$(< "$_cudaswitch_file")" != "$_cudaswitch_text") ]] && __cudaswitch_edited; }; then
        case ${_cudaswitch_fresh-} in
            ?*)
                __cudaswitch_tab
                __cudaswitch_first && __cudaswitch_prompt && \return
                ;;
        esac
        case ${_cudaswitch_news-} in
            # An error in it, as a variable that is read-only, has thrown zsh back to its prompt.
            begun) _cudaswitch_seen=${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} _cudaswitch_news='' ;;
            # So has Ctrl-C, while somebody was asked, for a prompt to leave by. The next one asks again.
            asking) _cudaswitch_news='' _cudaswitch_asked='' ;;
            *) __cudaswitch_look || : ;;
        esac
    fi
    # powerlevel10k warns of what is printed while its instant prompt is shown: it waits for the next.
    if [[ ${_cudaswitch_news-} = 1 && -z ${__p9k_instant_prompt_active-} ]]; then
        __cudaswitch_tell "${_cudaswitch_line-}" || :
    fi
}
# Not in a script of an environment that conda leaves: until it has finished that is active still.
__cudaswitch_moved() {
    [[ -n ${_cudaswitch_left-} || ${CONDA_PREFIX:+${funcfiletrace[*]}} == */deactivate.d/* ]] && \return
    __cudaswitch_look || :
    # Behind a `case` zsh takes the command after `cd X &&` for one that may fail under `set -e`.
    \:
}
\typeset -ga precmd_functions chpwd_functions
# Not by its index: what a login shell reads as sh does, /etc/profile, has 0 for the first.
case " ${(j: :)precmd_functions[@]} " in
    *' __cudaswitch_prompt '*) ;;
    *)
        precmd_functions+=(__cudaswitch_prompt)
        chpwd_functions+=(__cudaswitch_moved)
        ;;
esac
# What hooks call is here; not where that would be exported.
case $- in *a*) ;; *) \typeset -g _cudaswitch_here=1 ;; esac
__cudaswitch_look
# Until a prompt has come.
\typeset -g "_cudaswitch_fresh=${CUDA_HOME-}|${PATH-}"
