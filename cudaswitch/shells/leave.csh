# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if ($?tcsh && $?@env@ && $?_CUDASWITCH_@owner@) then
    if (-f "${@env@:q}/etc/cudaswitch/core.csh" && "${_CUDASWITCH_@owner@:q}" != "") then
        set _csw_do = leave
        set _cudaswitch_seen = ()
        set _csw_owner = @owner@
        set _csw_env = "${@env@:q}"
        set _csw_texts = "${@env@:q}/etc/cudaswitch"
        source "${@env@:q}/etc/cudaswitch/core.csh"
        if (@owner@ == C) source "${@env@:q}/etc/cudaswitch/below.csh"
    endif
endif
