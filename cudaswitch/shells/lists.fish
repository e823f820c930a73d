# Lists of directories for core.fish.

# Remove the directories of the record $argv[1] from the list $__csw, each once, at its first place,
# and only if it is there more often than before us.
function __cudaswitch_without
    set -l more
    set -l dir
    set -l rest $argv[1]
    while string match --quiet --regex '^(?s):?(?<more>[0-9]+)(?<dir>/[^:]*)(?<rest>.*)' -- "$rest"
        contains -- $dir $__csw; or continue
        set -l place (contains --index -- $dir $__csw)
        for one in $__csw
            test "$one" = $dir; and set more (builtin math $more - 1)
        end
        if test $more -lt 0
            set -e __csw[$place]
            # An empty last element is the colon of a folder that a script has removed.
            test (builtin count $__csw) = $place -a -z "$__csw[$place]"
            and set -e __csw[$place]
        end
    end
end

# $__csw = the record COUNT/dir:COUNT/dir of the directories $argv[2..] for the list $__csw. A count
# does not rise above one in $argv[1], the records until now: the other copies came after us, and
# whoever put them there may remove them.
function __cudaswitch_record
    set -l made
    set -l --path until_now $argv[1]
    for dir in $argv[2..]
        set -l copies
        for at in $__csw
            test "$at" = $dir; or continue
            contains -- (builtin count $copies)$dir $until_now; and break
            set -a copies $at
        end
        set -a made (builtin count $copies)$dir
    end
    set __csw (string join : -- $made)
end

# Is the conda environment $argv[1] before the virtualenv $argv[2] on PATH, and so the
# active one?
function __cudaswitch_before
    for dir in $PATH
        test $dir = $argv[2]/bin; and return 1
        test $dir = $argv[1]/bin; and return 0
    end
    return 1
end
