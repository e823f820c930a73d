# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
case $- in *a*) \set +a && _cudaswitch_all=1 ;; esac
if
    case ${_CUDASWITCH_C:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        xk*) \false ;;
        x?*) ;;
        'x')
            command -v __cudaswitch_settle > /dev/null \
                || { [ -f "$CONDA_PREFIX/etc/cudaswitch/core.sh" ] && \. "$CONDA_PREFIX/etc/cudaswitch/core.sh"; }
            ;;
        *) \false ;;
    esac
then
    __cudaswitch_leave \C "$CONDA_PREFIX"
fi
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
