# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if [ -n "${_CUDASWITCH_@owner@-}" ] && [ -z "${KSH_VERSION-}" ] \
    && { [ -n "${_cudaswitch_here-}" ] || \command -v __cudaswitch_settle > /dev/null \
        || { [ -f "$@env@/etc/cudaswitch/core.sh" ] && \. "$@env@/etc/cudaswitch/core.sh"; }; }; then
    __cudaswitch_leave @owner@ "$@env@"
fi
