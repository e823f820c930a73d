# A new shell finds no more in its ready file than it needs at once: the integration itself, in
# $_cudaswitch_rest, is parsed when something asks for a toolkit. By then it may be that of another
# version, which is as good, or gone.

function __cudaswitch_load
    if test -r $_cudaswitch_rest
        source $_cudaswitch_rest
        return 0
    end
    if test -x $_cudaswitch_program
        and set -l text ($_cudaswitch_program init fish 2>/dev/null | string collect)
        eval $text
        return 0
    end
    echo "cudaswitch: `$_cudaswitch_rest` is gone, so this shell switches nothing" >&2
    function __cudaswitch_look
    end
    function __cudaswitch_edited
        return 1
    end
    functions --erase cudaswitch __cudaswitch_settle __cudaswitch_enter __cudaswitch_leave
    return 1
end
