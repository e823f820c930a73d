# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if [ -n "${_CUDASWITCH_V-}" ] && [ -z "${KSH_VERSION-}" ] && [ -f "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ]; then
    \command -v __cudaswitch_settle > /dev/null || \. "$VIRTUAL_ENV/etc/cudaswitch/core.sh"
    __cudaswitch_leave V "$VIRTUAL_ENV"
fi
