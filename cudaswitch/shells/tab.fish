# Where fish looks for what completes a command, behind all else.
contains -- $_cudaswitch_scripts $fish_complete_path
or set -g fish_complete_path $fish_complete_path $_cudaswitch_scripts
