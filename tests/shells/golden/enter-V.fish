# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if test -n "$VIRTUAL_ENV" -a -f "$VIRTUAL_ENV/etc/cudaswitch/core.fish"
    functions --query __cudaswitch_enter; or source $VIRTUAL_ENV/etc/cudaswitch/core.fish
    __cudaswitch_enter V $VIRTUAL_ENV '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5' 'lib=always:gpus=0,2' '' 'lib/python3.11/site-packages' 'pyvenv.cfg' 'yx'
end
