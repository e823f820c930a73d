# shellcheck shell=dash disable=SC2016,SC2154  # a name in a message; `shims.text` sets the rest
# A shim: it becomes the tool of the toolkit that is asked for here, found without Python in the
# order of `decision.decide`. This part answers the requests that need no look at environments and
# folders; the tool then starts before the shell has read the rest, which takes as long as a third
# of its start. Written after ready.sh and these:
#   _cudaswitch_tool     the tool's name
#   _cudaswitch_root     the store
#   _cudaswitch_program  the command, for what has no ready answer
# Whatever is still set at `exec` reaches the tool if the caller has exported a variable of that
# name, so all names except those of locals are ours.

# Stop shims that call each other without end, through wrappers on PATH. After the count come the
# process and the program that one became because nothing asked for a toolkit.
_cudaswitch_last=${_CUDASWITCH_SHIMS-} _cudaswitch_count=${_cudaswitch_last%%:*}
case $_cudaswitch_count in '' | 0* | *[!0-9]* | ????*) _cudaswitch_count=0 ;; esac
_cudaswitch_count=$((_cudaswitch_count + 1)) _cudaswitch_last=${_cudaswitch_last#*:}
\export "_CUDASWITCH_SHIMS=$_cudaswitch_count:$_cudaswitch_last"
if [ "$_cudaswitch_count" -gt 32 ]; then
    printf 'cudaswitch: `%s` on PATH keeps calling its own shim\n' "$_cudaswitch_tool" >&2
    printf 'hint: cudaswitch which %s\n' "$_cudaswitch_tool" >&2
    exit 127
fi

# _cudaswitch_origin = who asks, '' if the rest must look; __csw = the answer, '' for Python's.
__csw='' _cudaswitch_origin=''
if [ -n "${_CUDASWITCH_U-}" ]; then
    __csw=$_CUDASWITCH_U _cudaswitch_origin='this shell (`cudaswitch use`, `env` or `exec`)'
elif [ -n "${CUDASWITCH_VERSION-}" ]; then
    _cudaswitch_origin=CUDASWITCH_VERSION
    __cudaswitch_ready "$CUDASWITCH_VERSION" || __csw=''
fi
__csw=${__csw%%:*}
# nvcc looks for its parts beside the path that it is called by.
case $__csw in
    /*)
        if [ -f "$__csw/bin/$_cudaswitch_tool" ] && [ -x "$__csw/bin/$_cudaswitch_tool" ]; then
            exec "$__csw/bin/$_cudaswitch_tool" "$@"
        fi
        ;;
esac
