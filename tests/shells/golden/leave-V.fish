# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if test -n "$_CUDASWITCH_V" -a -f "$VIRTUAL_ENV/etc/cudaswitch/core.fish"
    functions --query __cudaswitch_leave; or source $VIRTUAL_ENV/etc/cudaswitch/core.fish
    __cudaswitch_leave V $VIRTUAL_ENV
end
