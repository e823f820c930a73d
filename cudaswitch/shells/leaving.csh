# _csx_leaving = 1 if the caller is a deactivate script of the environment being left, else 0: conda
# keeps what it runs in a variable. It has finished after our hook in activate.d, or a prompt.
set _csx_leaving = 0
if (! $?CONDA_PREFIX || ! $?ask_conda) exit
eval 'set _csx_env = "${CONDA_PREFIX:q}"'
eval 'set _csx_lines = ($ask_conda:q)'
if ($?_cudaswitch_ran) then
    if ("$_csx_lines:q" == "$_cudaswitch_ran:q") exit
endif
set _csx_script = 'source "'"${_csx_env:q}/etc/conda/deactivate.d"
foreach _csx_line ($_csx_lines:q)
    if ("${_csx_line:h:q}" == "${_csx_script:q}") set _csx_leaving = 1
end
if ($_csx_leaving && $?_CUDASWITCH_C) then
    eval 'set _csx_words = "${_CUDASWITCH_C:q}"'
    set _csx_words = "${_csx_words:as/ //:as/	//:as/:/ /}"
    set _csx_words = ($_csx_words:x)
    if ($#_csx_words) then
        if ("$_csx_words[$#_csx_words]:q" == "env=${_csx_env:as/ //:as/	//}") set _csx_leaving = 0
    endif
endif
