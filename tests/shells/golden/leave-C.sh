# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if [ -n "${_CUDASWITCH_C-}" ] && [ -z "${KSH_VERSION-}" ] && [ -f "$CONDA_PREFIX/etc/cudaswitch/core.sh" ]; then
    \command -v __cudaswitch_settle > /dev/null || \. "$CONDA_PREFIX/etc/cudaswitch/core.sh"
    __cudaswitch_leave C "$CONDA_PREFIX"
fi
