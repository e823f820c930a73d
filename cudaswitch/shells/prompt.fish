function __cudaswitch_prompt --on-event fish_prompt --on-variable PWD
    set -l code $status
    if test "$CONDA_PREFIX $VIRTUAL_ENV $PWD $CUDASWITCH_VERSION$_CUDASWITCH_GONE" != "$_cudaswitch_seen"
        __cudaswitch_look
    else if test -n "$_cudaswitch_file" -o -f .cuda-version; and __cudaswitch_edited
        __cudaswitch_look
    end
    return $code
end
__cudaswitch_look
