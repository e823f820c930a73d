# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
case $- in *a*) \set +a && _cudaswitch_all=1 ;; esac
if
    case ${_CUDASWITCH_V:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        xk*) \false ;;
        x?*) ;;
        'x')
            command -v __cudaswitch_settle > /dev/null \
                || { [ -f "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ] && \. "$VIRTUAL_ENV/etc/cudaswitch/core.sh"; }
            ;;
        *) \false ;;
    esac
then
    __cudaswitch_leave \V "$VIRTUAL_ENV"
fi
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
