# Run the `sh` command in $_csw_words, whose text is $_csw_text and whose arguments at its end are
# $_csw_names, and set these variables as it has. It prints a line for each: `=` and the value,
# because empty words get lost, or `-` for one that is unset.
# The `onintr -` of core.csh is not that of a file that it sources.
set _csw_text = 'trap "" 2; '"${_csw_text:q}"'; for n; do eval '\''if [ -n "${'\''$n'\''+x}" ]; then printf "=%s\n" "${'\''$n'\''}"; else echo -; fi'\''; done'
set _csw_values = ("`$_csw_words`")
# A line break in a value cannot be told from the end of one.
if ($#_csw_values != $#_csw_names) exit
set _csw_n = 0
foreach _csw_name ($_csw_names)
    @ _csw_n++
    set _csw_value = "$_csw_values[$_csw_n]:q"
    if ("${_csw_value:q}" == "-") then
        unsetenv $_csw_name
    else
        setenv $_csw_name "${_csw_value:s/=//:q}"
    endif
end
