# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if ($?tcsh && $?@env@) then
    if (-f "${@env@:q}/etc/cudaswitch/core.csh") then
        set _csw_do = enter
        set _csw_owner = @owner@
        set _csw_env = "${@env@:q}"
        set _csw_home = @home@
        set _csw_options = @options@
        set _csw_auto = @auto@
        set _csw_texts = "${@env@:q}/etc/cudaswitch"
        source "${@env@:q}/etc/cudaswitch/core.csh"
    endif
endif
