# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if test -n "$_CUDASWITCH_@owner@" -a -f "$@env@/etc/cudaswitch/core.fish"
    functions --query __cudaswitch_leave; or source $@env@/etc/cudaswitch/core.fish
    __cudaswitch_leave @owner@ $@env@
end
