# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if
    case ${VIRTUAL_ENV:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        'x1') ;;
        'x') [ -f "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ] && \. "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ;;
        *) \false ;;
    esac
then
    __cudaswitch_enter \V "$VIRTUAL_ENV" '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5' 'lib=always:gpus=0,2' '' 'lib/python3.11/site-packages' 'pyvenv.cfg' 'yx'
fi
