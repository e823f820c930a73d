# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if test -n "$_CUDASWITCH_C" -a -f "$CONDA_PREFIX/etc/cudaswitch/core.fish"
    functions --query __cudaswitch_leave; or source $CONDA_PREFIX/etc/cudaswitch/core.fish
    __cudaswitch_leave C $CONDA_PREFIX
end
