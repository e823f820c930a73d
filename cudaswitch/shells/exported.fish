# Variables set but not exported before us: _CUDASWITCH_UNEXPORTED lists them, blanks between.

# Record the variable $argv, which is about to be exported, if it is set but not exported; fails
# otherwise.
function __cudaswitch_note
    set -q $argv; and not set -qx $argv; or return 1
    set -gx _CUDASWITCH_UNEXPORTED (string trim -- "$_CUDASWITCH_UNEXPORTED $argv")
end

# Unexport those of the variables $argv that were recorded, but not an LD_LIBRARY_PATH that is known
# to have been changed since: whoever changes it exports it.
function __cudaswitch_unexport
    for name in (string split ' ' -- $_CUDASWITCH_UNEXPORTED)
        test $name = LD_LIBRARY_PATH; and set -q _cudaswitch_ld
        and test "$LD_LIBRARY_PATH" != "$_cudaswitch_ld"; and continue
        contains -- $name $argv; and set -qg $name; and set -gu $name $$name
    end
    return 0
end
