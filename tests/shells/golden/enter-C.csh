# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if ($?tcsh && $?CONDA_PREFIX) then
    if (-f "${CONDA_PREFIX:q}/etc/cudaswitch/core.csh") then
        set _csw_do = enter
        # What is active at the next prompt may be what was at the last, and this one left untold.
        if (C == V) set _cudaswitch_seen = ()
        set _csw_owner = C
        set _csw_env = "${CONDA_PREFIX:q}"
        set _csw_home = '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5'
        set _csw_options = 'lib=always:gpus=0,2'
        set _csw_auto = ''
        set _csw_texts = "${CONDA_PREFIX:q}/etc/cudaswitch"
        source "${CONDA_PREFIX:q}/etc/cudaswitch/core.csh"
    endif
endif
