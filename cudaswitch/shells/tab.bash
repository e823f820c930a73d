# shellcheck shell=bash disable=SC2154  # `shells.init` sets $_cudaswitch_scripts
# The first TAB after `cudaswitch` loads its completion, unless there is one.
__cudaswitch_tab() {
    if [[ -r $_cudaswitch_scripts/cudaswitch.bash ]]; then
        # shellcheck disable=SC1091  # it is in completions/
        \. "$_cudaswitch_scripts/cudaswitch.bash" && _cudaswitch "$@"
    fi
}
{ \complete -p cudaswitch || \complete -F __cudaswitch_tab cudaswitch || :; } > /dev/null 2>&1
