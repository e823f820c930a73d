# Tools that save variables, and restore them at a prompt.

# A tool that saves variables has come, gone, or moved to another directory tree: direnv, mise,
# nodeenv or flox. What it restores contains what was applied each time that happened.
function __cudaswitch_keepers
    # A hook that was defined after ours restores them after us.
    functions --query __cudaswitch_last; and __cudaswitch_last
    # direnv writes what is not ASCII byte by byte, which equals nothing until it is read again.
    for name in (set --names --export | string match --regex '^(?:_CUDASWITCH|CUDA|VIRTUAL_ENV|(?:LD_LIBRARY_|_OLD_VIRTUAL_)?PATH$).*')
        set -l anew (string join0 -- $$name | string split0)
        test "$anew" = "$$name"; or set -gx $name $anew
    end
    if test "$_cudaswitch_keepers" != '|'
        set -l home
        set -l gpus
        set -g __csw $PATH
        __cudaswitch_left_over "$_CUDASWITCH_BIN" $_cudaswitch_then_bin
        test "$__csw" = "$PATH"; or set -gx PATH $__csw
        set -g __csw $LD_LIBRARY_PATH
        __cudaswitch_left_over "$_CUDASWITCH_LIB" $_cudaswitch_then_lib
        if test "$__csw" = "$LD_LIBRARY_PATH"
        else if test -z "$__csw" -a "$_cudaswitch_then_ld" = unset
            set -e LD_LIBRARY_PATH
        else
            set -gx LD_LIBRARY_PATH $__csw
        end
        for want in $_cudaswitch_then
            test "$want|$_cudaswitch_then_CUDA_HOME|$_cudaswitch_then_CUDACXX" \
                = "$_CUDASWITCH_ON|$_CUDASWITCH_WAS_CUDA_HOME|$_CUDASWITCH_WAS_CUDACXX"
            or __cudaswitch_scalars back $want
        end
        # With the state variables that it has saved, direnv removes our records of a toolkit
        # applied later: it knows nothing of that toolkit's GPUs and flags, which would stay.
        if test -n "$_CUDASWITCH_ON"
        else if string match --quiet --regex '^(?<home>/[^:]*):.*(?<gpus>gpus=[^:|]*)' -- "$_cudaswitch_told"
            __cudaswitch_scalars give $home:$gpus:nvcc
        else if test -n "$_CUDASWITCH_XLA$_CUDASWITCH_CC"
            __cudaswitch_flags_give
        end
    end
    # direnv may have set what a toolkit sets. Otherwise, if nothing of ours is missing, what users
    # have put in front of it stays there.
    if not string match --quiet -- "$DIRENV_DIFF|*" "$_cudaswitch_keepers"; or __cudaswitch_lost kept
        set __csw_moved moved
    end
    set -l now "$DIRENV_DIFF|$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF"
    # Between trees, direnv has removed what the first one had, which we may have found at the `cd`.
    set -l between between
    if contains -- '|' "$_cudaswitch_keepers" "$now"
        set -eg _cudaswitch_then (set --names --global | string match '_cudaswitch_then*')
        set -e between
    end
    set -g _cudaswitch_keepers $now
    test -n "$__MISE_DIFF"; and not functions --query __cudaswitch_path_again; and __cudaswitch_watch_path
    test -n "$_CUDASWITCH_ON"; or return
    contains -- "$_CUDASWITCH_BIN" $_cudaswitch_then_bin; or set -ga _cudaswitch_then_bin "$_CUDASWITCH_BIN"
    contains -- "$_CUDASWITCH_LIB" $_cudaswitch_then_lib; or set -ga _cudaswitch_then_lib "$_CUDASWITCH_LIB"
    test -n "$_CUDASWITCH_LD"; and set -g _cudaswitch_then_ld $_CUDASWITCH_LD
    contains -- $_CUDASWITCH_ON $_cudaswitch_then; and return
    set -ga _cudaswitch_then $_CUDASWITCH_ON
    __cudaswitch_scalars note $_CUDASWITCH_ON $between
end

# mise may set PATH again without having moved, to what that was when mise was loaded: from now on,
# remove what was in it then. Only that, as the user changes PATH too.
function __cudaswitch_watch_path
    function __cudaswitch_path_again --on-event fish_prompt
        test "$PATH" != "$_cudaswitch_again"; and set -q _cudaswitch_then_bin; or return
        set -l then (string split : -- "$__MISE_ORIG_PATH")
        set -g __csw $PATH
        for item in $_cudaswitch_then_bin
            contains -- (string replace --regex '^[0-9]+' '' -- $item) $then
            and __cudaswitch_left_over "$_CUDASWITCH_BIN" $item
        end
        test "$__csw" = "$PATH"; or set -gx PATH $__csw
        set -e __csw
        set -g _cudaswitch_again "$PATH"
    end
end

# Take out of the list $__csw what was put into it according to the records $argv[2..], each once.
# What is in it now according to the record $argv[1] stays, once.
function __cudaswitch_left_over
    set -l more
    set -l dir
    for item in (string match --all --regex '[0-9]+/[^:]*' -- $argv[2..-1])
        string match --quiet --regex '^(?s)(?<more>[0-9]+)(?<dir>/.*)' -- $item
        string match --quiet --regex '[0-9]'(string escape --style=regex -- $dir): -- $argv[1]:
        and set more (builtin math $more + 1)
        __cudaswitch_without $more$dir
    end
end
