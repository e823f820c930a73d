# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
# What a person has everything exported for (`set -a`) gets none of our own.
# No kind of ksh has \local: nothing is better there than half. Many who use zsh have made
# something of a capital letter that stands by itself.
case $- in *a*) \set +a && _cudaswitch_all=1 ;; esac
if
    case ${VIRTUAL_ENV:+x}${KSH_VERSION:+k}${_cudaswitch_here-} in
        xk*) \false ;;
        x?*) ;;
        'x')
            command -v __cudaswitch_settle > /dev/null \
                || { [ -f "$VIRTUAL_ENV/etc/cudaswitch/core.sh" ] && \. "$VIRTUAL_ENV/etc/cudaswitch/core.sh"; }
            ;;
        *) \false ;;
    esac
then
    __cudaswitch_enter \V "$VIRTUAL_ENV" '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5' 'lib=always:gpus=0,2' '' 'lib/python3.11/site-packages' 'pyvenv.cfg' 'yx'
fi
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
