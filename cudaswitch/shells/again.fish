# A new shell's ready file has only what it needs at once: the integration itself, in
# $_cudaswitch_rest, is parsed when something asks for a toolkit. By then it may be that of another
# version, which is just as good, or gone.

function __cudaswitch_load
    test -r $_cudaswitch_rest; and source $_cudaswitch_rest
    # The file's last line empties this, so it was read to the end.
    if test -n "$_cudaswitch_rest" -a -x $_cudaswitch_program
        and set -l text ($_cudaswitch_program init fish 2>/dev/null | string collect)
        set -g _cudaswitch_rest
        eval $text
    end
    test -z "$_cudaswitch_rest"; and return 0
    echo "cudaswitch: `$_cudaswitch_rest` is gone, so this shell switches nothing" >&2
    function __cudaswitch_look
    end
    function __cudaswitch_edited
        return 1
    end
    function __cudaswitch_overlaid
        return 1
    end
    function __cudaswitch_surplus
    end
    functions --erase cudaswitch __cudaswitch_enter __cudaswitch_leave
    return 1
end
