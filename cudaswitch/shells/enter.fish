# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if test -n "$@env@" -a -f "$@env@/etc/cudaswitch/core.fish"
    functions --query __cudaswitch_enter; or source $@env@/etc/cudaswitch/core.fish
    __cudaswitch_enter @owner@ $@env@ @home@ @options@ @auto@ @watched@
end
