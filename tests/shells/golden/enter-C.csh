# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if ($?tcsh && $?CONDA_PREFIX) then
    if (-f "${CONDA_PREFIX:q}/etc/cudaswitch/core.csh") then
        set _csw_do = enter
        set _csw_owner = C
        set _csw_env = "${CONDA_PREFIX:q}"
        set _csw_home = '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5'
        set _csw_options = 'lib=always:gpus=0,2'
        set _csw_auto = ''
        set _csw_texts = "${CONDA_PREFIX:q}/etc/cudaswitch"
        source "${CONDA_PREFIX:q}/etc/cudaswitch/core.csh"
    endif
endif
