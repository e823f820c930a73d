# A shell variable hides the exported one of its name, and is the user's own. Those with names that
# core.csh reads are saved, and restored when this is sourced again.
if ($?_csw_own) then
    foreach _csw_name ($_csw_own)
        eval "set $_csw_name = "'($_csw_own_'$_csw_name':q)'
    end
    exit
endif
set _csw_own = ()
foreach _csw_name (PATH LD_LIBRARY_PATH $_csw_scalars)
    eval 'set _csw_has = $?'$_csw_name
    if (! $_csw_has) continue
    # After an exported variable, a subscript is plain text, and a line break ends the quotes.
    eval 'set _csw_value = "${'$_csw_name':q}"'
    if ("${_csw_value:q}" =~ *"${_csw_break:q}"*) continue
    eval 'set _csw_has = ("$'$_csw_name'[*]:q" "${'$_csw_name':q}")'
    if ("$_csw_has[1]:q" != "$_csw_has[2]:q") continue
    eval "set _csw_own_$_csw_name = "'($'$_csw_name':q)'
    unset $_csw_name
    set _csw_own = ($_csw_own $_csw_name)
end
