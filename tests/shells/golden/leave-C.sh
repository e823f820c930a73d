# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if
    case ${_CUDASWITCH_C:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        'x1') ;;
        'x') [ -f "$CONDA_PREFIX/etc/cudaswitch/core.sh" ] && \. "$CONDA_PREFIX/etc/cudaswitch/core.sh" ;;
        *) \false ;;
    esac
then
    __cudaswitch_leave \C "$CONDA_PREFIX"
fi
