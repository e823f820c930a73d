# Of a conda environment and a virtualenv, the one that comes first on PATH is active: _csw_first =
# its owner, among those that ask for something, and among those that may bring their own CUDA.
foreach _csw_n (1 2)
    if ($_csw_n == 1) then
        set _csw_bins = ("${_csw_C:q}" "${_csw_V:q}")
    else
        set _csw_bins = ("env=${_csw_conda:q}" "env=${_csw_venv:q}")
        if ("${_csw_conda:q}" == "") set _csw_bins[1] = ""
        if ("${_csw_venv:q}" == "") set _csw_bins[2] = ""
    endif
    if ("$_csw_bins[1]:q" == "") set _csw_first[$_csw_n] = V
    if ("$_csw_bins[1]:q" == "" || "$_csw_bins[2]:q" == "") continue
    foreach _csw_at (1 2)
        set _csw_value = "$_csw_bins[$_csw_at]:q"
        eval "$_csw_split"
        set _csw_value = "$_csw_words[$#_csw_words]:q"
        set _csw_bins[$_csw_at] = "${_csw_value:s/env=//:s///:as// /:as//	/}/bin"
    end
    set _csw_first[$_csw_n] = V
    foreach _csw_dir ($path:q)
        if ("${_csw_dir:q}" == "$_csw_bins[2]:q") break
        if ("${_csw_dir:q}" == "$_csw_bins[1]:q") set _csw_first[$_csw_n] = C
        if ("${_csw_dir:q}" == "$_csw_bins[1]:q") break
    end
end
