# The first TAB after `cudaswitch` loads its completion, unless there is one. Before `compinit` has
# run, none can be registered: the first prompt tries again.
__cudaswitch_tab() {
    if (( ${+_comps} )) && (( ! ${+_comps[cudaswitch]} )); then
        _cudaswitch() {
            if [[ -r $_cudaswitch_scripts/_cudaswitch && -s $_cudaswitch_scripts/_cudaswitch ]]; then
                \. "$_cudaswitch_scripts/_cudaswitch" && _cudaswitch "$@"
            fi
        }
        compdef _cudaswitch cudaswitch
    fi
}
__cudaswitch_tab
