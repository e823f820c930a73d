# Add to the places where fish looks for completions, after all others.
contains -- $_cudaswitch_scripts $fish_complete_path
or set -g fish_complete_path $fish_complete_path $_cudaswitch_scripts
