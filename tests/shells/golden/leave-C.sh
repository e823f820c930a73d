# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if [ -n "${_CUDASWITCH_C-}" ] && [ -z "${KSH_VERSION-}" ] \
    && { [ -n "${_cudaswitch_here-}" ] || \command -v __cudaswitch_settle > /dev/null \
        || { [ -f "$CONDA_PREFIX/etc/cudaswitch/core.sh" ] && \. "$CONDA_PREFIX/etc/cudaswitch/core.sh"; }; }; then
    __cudaswitch_leave C "$CONDA_PREFIX"
fi
