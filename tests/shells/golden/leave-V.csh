# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if ($?tcsh && $?VIRTUAL_ENV && $?_CUDASWITCH_V) then
    if (-f "${VIRTUAL_ENV:q}/etc/cudaswitch/core.csh" && "${_CUDASWITCH_V:q}" != "") then
        set _csw_do = leave
        set _cudaswitch_seen = ()
        set _csw_owner = V
        set _csw_env = "${VIRTUAL_ENV:q}"
        set _csw_texts = "${VIRTUAL_ENV:q}/etc/cudaswitch"
        source "${VIRTUAL_ENV:q}/etc/cudaswitch/core.csh"
        if (V == C) source "${VIRTUAL_ENV:q}/etc/cudaswitch/below.csh"
    endif
endif
