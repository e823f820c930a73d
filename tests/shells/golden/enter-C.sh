# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if
    case ${CONDA_PREFIX:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        'x1') ;;
        'x') [ -f "$CONDA_PREFIX/etc/cudaswitch/core.sh" ] && \. "$CONDA_PREFIX/etc/cudaswitch/core.sh" ;;
        *) \false ;;
    esac
then
    __cudaswitch_enter \C "$CONDA_PREFIX" '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5' 'lib=always:gpus=0,2' '' 'lib/python3.11/site-packages' 'conda-meta' 'yx'
fi
