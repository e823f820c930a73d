# Run the `sh` command in $_csw_words, and set the variables $_csw_names to what it printed: a line
# each, `=` and the value, because empty words get lost, or `-` for one that is unset.
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
