# shellcheck shell=bash disable=SC2154  # `shells.init` sets $_cudaswitch_scripts
# The first TAB after `cudaswitch` loads its completion, unless there is one. Users name the
# function for their aliases, so it has the name of the one that it is replaced with.
if ! \complete -p cudaswitch > /dev/null 2>&1; then
    _cudaswitch() {
        if [[ -r $_cudaswitch_scripts/cudaswitch.bash && -s $_cudaswitch_scripts/cudaswitch.bash ]]; then
            # shellcheck disable=SC1091  # it is in completions/
            \. "$_cudaswitch_scripts/cudaswitch.bash" && _cudaswitch "$@"
        fi
    }
    { \complete -F _cudaswitch cudaswitch || :; } > /dev/null 2>&1
fi
