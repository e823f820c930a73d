# In a ready file, $_cudaswitch_ready, the integration itself stands as comments, which a new shell
# passes over, and is read when something asks for a toolkit. By then the file may be that of
# another version, which is as good, or gone.

function __cudaswitch_load
    set -g _cudaswitch_rest 1
    if test -r $_cudaswitch_ready
        string replace --filter --regex '^#:' '' <$_cudaswitch_ready | source
    end
    if test -n "$_cudaswitch_rest" -a -x $_cudaswitch_program
        and set -l text ($_cudaswitch_program init fish 2>/dev/null | string collect)
        set -g _cudaswitch_rest
        eval $text
    end
    test -z "$_cudaswitch_rest"; and return 0
    echo "cudaswitch: `$_cudaswitch_ready` is gone, so this shell switches nothing" >&2
    function __cudaswitch_look
    end
    function __cudaswitch_edited
        return 1
    end
    functions --erase cudaswitch __cudaswitch_settle __cudaswitch_enter __cudaswitch_leave
    return 1
end
