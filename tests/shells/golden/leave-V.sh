# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if
    case ${_CUDASWITCH_V:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        'x1') ;;
        'x') [ -f "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ] && \. "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ;;
        *) \false ;;
    esac
then
    __cudaswitch_leave \V "$VIRTUAL_ENV"
fi
