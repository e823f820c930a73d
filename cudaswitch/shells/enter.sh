# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if
    case ${@env@:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        'x1') ;;
        'x') [ -f "$@env@/etc/cudaswitch/core.sh" ] && \. "$@env@/etc/cudaswitch/core.sh" ;;
        *) \false ;;
    esac
then
    __cudaswitch_enter \@owner@ "$@env@" @home@ @options@ @auto@ @watched@
fi
