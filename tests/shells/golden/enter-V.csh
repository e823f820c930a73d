# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if ($?tcsh && $?VIRTUAL_ENV) then
    if (-f "${VIRTUAL_ENV:q}/etc/cudaswitch/core.csh") then
        set _csw_do = enter
        set _csw_owner = V
        set _csw_env = "${VIRTUAL_ENV:q}"
        set _csw_home = '/'""'srv/'""'a store/'""'toolkits/'""'10.1.243+cudnn7.6.5'
        set _csw_options = 'lib=always:gpus=0,2'
        set _csw_auto = ''
        set _csw_texts = "${VIRTUAL_ENV:q}/etc/cudaswitch"
        source "${VIRTUAL_ENV:q}/etc/cudaswitch/core.csh"
    endif
endif
