__cudaswitch_prompt() {
    \local code=$?
    if [[ "${CONDA_PREFIX-}|${VIRTUAL_ENV-}|$PWD|${CUDASWITCH_VERSION-}" != "${_cudaswitch_seen-}" \
        || -n ${_CUDASWITCH_GONE-} ]] \
        || { [[ -n ${_cudaswitch_file-} || -f .cuda-version ]] && __cudaswitch_edited; }; then
        __cudaswitch_look
    fi
    [[ -o err_exit ]] || return $code
}
typeset -ga precmd_functions chpwd_functions
if (( ! ${precmd_functions[(Ie)__cudaswitch_prompt]} )); then
    precmd_functions+=(__cudaswitch_prompt)
    chpwd_functions+=(__cudaswitch_prompt)
fi
__cudaswitch_look
