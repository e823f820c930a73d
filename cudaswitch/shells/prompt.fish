# fish itself restores the status after an event.
function __cudaswitch_prompt --on-event fish_prompt
    if test "$CONDA_PREFIX $VIRTUAL_ENV $PWD $CUDASWITCH_VERSION$_CUDASWITCH_GONE|$DIRENV_DIFF|$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF" \
            != "$_cudaswitch_seen|$_cudaswitch_keepers"
        # Ctrl-C interrupted a question of a `cd`: leave by this prompt, the next one asks again.
        if test "$_cudaswitch_news" = asking
            set -e _cudaswitch_news _cudaswitch_asked
        else
            __cudaswitch_look
        end
    # Even if a `cd` has just looked: a branch may have been checked out after it.
    else if test -n "$_cudaswitch_file" -o -f .cuda-version; and __cudaswitch_edited
        __cudaswitch_look
    end
    if set -q _cudaswitch_news; and test $_cudaswitch_news = 1
        # At a terminal: fish starts a thread for a builtin's `>&2`, but not for a file name.
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
# That holds from the second prompt on: what others change at the first one is noticed before the
# first command that is typed.
function __cudaswitch_first --on-event fish_prompt
    functions --erase __cudaswitch_first
    # A startup file may have rebuilt PATH after our line, or have put another toolkit before what
    # is applied.
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
# Not in a script of an environment being left: until conda has finished, that one is still active.
function __cudaswitch_moved --on-variable PWD
    functions --query __cudaswitch_repair; and return
    set -l before $_CUDASWITCH_BIN
    __cudaswitch_look
    # Nothing tells whether this is in a deactivate script of an environment without a pin: record
    # what conda may bring back, for the prompt to remove.
    test -n "$CONDA_PREFIX" -a -n "$before" -a "$before" != "$_CUDASWITCH_BIN"
    and set -gx _CUDASWITCH_GONE $before
end
__cudaswitch_look
set -g _cudaswitch_fresh "$CUDA_HOME" "$PATH"
