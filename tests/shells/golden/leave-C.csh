# Written by `cudaswitch pin`; does nothing in a shell where the pin was not active.
if ($?tcsh && $?CONDA_PREFIX && $?_CUDASWITCH_C) then
    if (-f "${CONDA_PREFIX:q}/etc/cudaswitch/core.csh" && "${_CUDASWITCH_C:q}" != "") then
        set _csw_do = leave
        set _cudaswitch_seen = ()
        set _csw_owner = C
        set _csw_env = "${CONDA_PREFIX:q}"
        set _csw_texts = "${CONDA_PREFIX:q}/etc/cudaswitch"
        source "${CONDA_PREFIX:q}/etc/cudaswitch/core.csh"
        if (C == C) source "${CONDA_PREFIX:q}/etc/cudaswitch/below.csh"
    endif
endif
