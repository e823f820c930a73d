# fish itself gives back the status after an event.
function __cudaswitch_prompt --on-event fish_prompt
    if test "$CONDA_PREFIX $VIRTUAL_ENV $PWD $CUDASWITCH_VERSION$_CUDASWITCH_GONE|$DIRENV_DIFF" \
            != "$_cudaswitch_seen|$_cudaswitch_direnv"
        __cudaswitch_look
    else if test -n "$_cudaswitch_file" -o -f .cuda-version; and __cudaswitch_edited
        __cudaswitch_look
    end
    if set -q _cudaswitch_news
        __cudaswitch_tell "$_cudaswitch_line"
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
