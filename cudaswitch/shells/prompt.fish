# fish itself gives back the status after an event.
function __cudaswitch_prompt --on-event fish_prompt
    if test "$CONDA_PREFIX $VIRTUAL_ENV $PWD $CUDASWITCH_VERSION$_CUDASWITCH_GONE|$DIRENV_DIFF|$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF" \
            != "$_cudaswitch_seen|$_cudaswitch_keepers"
        # Ctrl-C has ended a question of a `cd`, for a prompt to leave by. The next one asks again.
        if test "$_cudaswitch_news" = asking
            set -e _cudaswitch_news _cudaswitch_asked
        else
            __cudaswitch_look
        end
    # Also where a `cd` has just looked: a branch may have been checked out behind it.
    else if test -n "$_cudaswitch_file" -o -f .cuda-version; and __cudaswitch_edited
        __cudaswitch_look
    end
    if set -q _cudaswitch_news; and test $_cudaswitch_news = 1
        # At a terminal: for a builtin's `>&2` fish starts a thread, for a file's name none.
        if test -c /dev/stderr -a -w /dev/stderr
            __cudaswitch_tell "$_cudaswitch_line" >>/dev/stderr
        else
            __cudaswitch_tell "$_cudaswitch_line" >&2
        end
    end
end
# Handlers run in the order in which they are defined, and this one looks at what others change.
function __cudaswitch_last
    functions __cudaswitch_prompt | source
end
# That holds from the second prompt on: what others change at the first one is seen before the
# command that is typed there.
function __cudaswitch_first --on-event fish_prompt
    functions --erase __cudaswitch_first
    # A startup file may have built PATH anew behind our line, or have put a toolkit of its own before
    # what is applied.
    if set -q _CUDASWITCH_BIN; and test "$CUDA_HOME|$PATH" != "$_cudaswitch_fresh[1]|$_cudaswitch_fresh[2]"
        and __cudaswitch_overlaid
        set -g _cudaswitch_seen
        __cudaswitch_prompt
    end
    set -e _cudaswitch_fresh
    __cudaswitch_last
    function __cudaswitch_typed --on-event fish_preexec
        functions --erase __cudaswitch_typed
        test -n "$_CUDASWITCH_BIN"; and __cudaswitch_surplus
        __cudaswitch_prompt
    end
end
# Not in a script of an environment that conda leaves: until it has finished that is active still.
function __cudaswitch_moved --on-variable PWD
    functions --query __cudaswitch_repair; and return
    set -l before $_CUDASWITCH_BIN
    __cudaswitch_look
    # Nothing tells here whether it is one of an environment without a pin: what conda brings back
    # then is known at the prompt.
    test -n "$CONDA_PREFIX" -a -n "$before" -a "$before" != "$_CUDASWITCH_BIN"
    and set -gx _CUDASWITCH_GONE $before
end
__cudaswitch_look
set -g _cudaswitch_fresh "$CUDA_HOME" "$PATH"
