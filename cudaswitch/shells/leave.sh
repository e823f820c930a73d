# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if
    case ${_CUDASWITCH_@owner@:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        'x1') ;;
        'x') [ -f "$@env@/etc/cudaswitch/core.sh" ] && \. "$@env@/etc/cudaswitch/core.sh" ;;
        *) \false ;;
    esac
then
    __cudaswitch_leave \@owner@ "$@env@"
fi
