# What was set and not exported before us: _CUDASWITCH_UNEXPORTED names it, with blanks between.

# Note the variable $argv, which is about to be exported, where it is set and is not; fails where
# it is.
function __cudaswitch_note
    set -q $argv; and not set -qx $argv; or return 1
    set -gx _CUDASWITCH_UNEXPORTED (string trim -- "$_CUDASWITCH_UNEXPORTED $argv")
end

# Let those of the variables $argv that were noted not be exported, but for an LD_LIBRARY_PATH that
# is known to have been changed since: who does that exports it.
function __cudaswitch_unexport
    for name in (string split ' ' -- $_CUDASWITCH_UNEXPORTED)
        test $name = LD_LIBRARY_PATH; and set -q _cudaswitch_ld
        and test "$LD_LIBRARY_PATH" != "$_cudaswitch_ld"; and continue
        contains -- $name $argv; and set -qg $name; and set -gu $name $$name
    end
    return 0
end
