# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if [ -n "${_CUDASWITCH_@owner@-}" ] && [ -z "${KSH_VERSION-}" ] && [ -f "$@env@/etc/cudaswitch/core.sh" ]; then
    \command -v __cudaswitch_settle > /dev/null || \. "$@env@/etc/cudaswitch/core.sh"
    __cudaswitch_leave @owner@ "$@env@"
fi
