# What histories.py types in tcsh, which has no functions: source it with one of these words.
switch ("$1")
case show:
    set own_shown = ""
    foreach own_name (PATH LD_LIBRARY_PATH CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS)
        set own_value = "(unset)"
        eval 'set own_has = $?'$own_name
        if ($own_has) eval 'set own_value = "${'$own_name':q}"'
        set own_shown = "${own_shown:q}${own_value:q}"
    end
    /usr/bin/printf '%s\n' "${own_shown:q}"
    breaksw
case leave:
    if ($?VIRTUAL_ENV) eval deactivate
    breaksw
case back:
    if ($?_CUDASWITCH_PREVIOUS) eval 'cudaswitch use -'
    breaksw
default:
    set own_list = ""
    eval 'set own_has = $?'$2
    if ($own_has) eval 'set own_list = "${'$2':q}"'
    set own_folder = "$3:q"
    if ($1 == drop) then
        set own_drop = 'case :$1: in *":$2:"*) h=:$1: h=${h%%":$2:"*}; r=:$1: r=$h${r#"$h:$2"} r=${r#:}; printf "%s\n" "${r%:}" ;; *) exit 1 ;; esac'
        set own_text = '/bin/sh -c $own_drop:q sh $own_list:q $own_folder:q'
        set own_value = "`$own_text`"
        set own_code = $status
        if ($own_code == 0) setenv $2 "${own_value:q}"
    else if ("${own_list:q}" == "") then
        setenv $2 "${own_folder:q}"
    else if ($1 == prepend) then
        setenv $2 "${own_folder:q}:${own_list:q}"
    else
        setenv $2 "${own_list:q}:${own_folder:q}"
    endif
    breaksw
endsw
