# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if [ -n "${_CUDASWITCH_V-}" ] && [ -z "${KSH_VERSION-}" ] \
    && { [ -n "${_cudaswitch_here-}" ] || \command -v __cudaswitch_settle > /dev/null \
        || { [ -f "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ] && \. "$VIRTUAL_ENV/etc/cudaswitch/core.sh"; }; }; then
    __cudaswitch_leave V "$VIRTUAL_ENV"
fi
