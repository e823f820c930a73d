# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if test -n "$CONDA_PREFIX" -a -f "$CONDA_PREFIX/etc/cudaswitch/core.fish"
    functions --query __cudaswitch_enter; or source $CONDA_PREFIX/etc/cudaswitch/core.fish
    __cudaswitch_enter C $CONDA_PREFIX '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5' 'lib=always:gpus=0,2' '' 'lib/python3.11/site-packages' 'conda-meta' 'yx'
end
