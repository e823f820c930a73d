# The first TAB behind `cudaswitch` loads what completes it, where nothing else does. Before
# `compinit` has run nobody can be told: the first prompt asks once more.
__cudaswitch_tab() {
    if (( ${+_comps} )) && (( ! ${+_comps[cudaswitch]} )); then
        _cudaswitch() {
            if [[ -r $_cudaswitch_scripts/_cudaswitch ]]; then
                \. "$_cudaswitch_scripts/_cudaswitch" && _cudaswitch "$@"
            fi
        }
        compdef _cudaswitch cudaswitch
    fi
}
__cudaswitch_tab
