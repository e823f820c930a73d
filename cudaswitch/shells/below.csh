# Take up the next pinned environment below the active one, as if it were entered: when an
# environment is left, conda itself runs only the hook of the next one, which may have none.
if (! $?CONDA_SHLVL || ! $?CONDA_PREFIX) exit
if ("${CONDA_SHLVL:q}" !~ {[2-9],[1-9][0-9]}) exit
if ($CONDA_SHLVL == 2 && ! $?CONDA_STACKED_2) exit
set _csw_below = ""
set _csw_level = $CONDA_SHLVL
while ($_csw_level > 1 && "${_csw_below:q}" == "")
    eval 'set _csw_has = $?CONDA_STACKED_'$_csw_level
    @ _csw_level--
    if (! $_csw_has) continue
    eval 'set _csw_env = "${CONDA_PREFIX_'$_csw_level':q}"'
    if ("${_csw_env:q}" !~ /*) continue
    if (! -f "${_csw_env:q}/etc/conda/activate.d/~~cudaswitch.csh") continue
    foreach _csw_dir ($path:q)
        if ("${_csw_dir:q}" == "${_csw_env:q}/bin") set _csw_below = "${_csw_env:q}"
    end
end
if ("${_csw_below:q}" != "") then
    # conda will still export a PATH that it computed ahead, and what was applied then no longer is:
    # what that PATH brings back is counted anew. What conda keeps has not been exported yet.
    set _cudaswitch_below = ("=${CONDA_PREFIX:q}" "")
    if ($?_CUDASWITCH_GONE) eval 'set _cudaswitch_below[2] = "${_CUDASWITCH_GONE:q}"'
    set _cudaswitch_later = ()
    if ($?_cudaswitch_undone) eval 'set _cudaswitch_later = ($_cudaswitch_undone:q)'
    unset _cudaswitch_undone
    setenv CONDA_PREFIX "${_csw_below:q}"
    source "${_csw_below:q}/etc/conda/activate.d/~~cudaswitch.csh"
    if ($#_cudaswitch_later) set _cudaswitch_undone = ($_cudaswitch_later:q)
    setenv CONDA_PREFIX "$_cudaswitch_below[1]:s/=//:q"
    set _csw_words = "$_cudaswitch_below[2]:as/ //:as/	//:as/:/ /"
    foreach _csw_item ($_csw_words:x)
        set _csw_words = "${_csw_item:s,/, /,}"
        set _csw_words = ($_csw_words:x)
        set _csw_dir = "$_csw_words[2]:as// /:as//	/"
        set _csw_n = 0
        foreach _csw_word ($path:q)
            if ("${_csw_word:q}" == "${_csw_dir:q}") @ _csw_n++
        end
        set _csw_item = "${_csw_n}${_csw_dir:q}"
        if ($?_CUDASWITCH_GONE) eval 'set _csw_item = "${_csw_item:q}:${_CUDASWITCH_GONE:q}"'
        setenv _CUDASWITCH_GONE "${_csw_item:q}"
    end
    unset _cudaswitch_below _cudaswitch_later
    # What that one brings is not what the active one does, which is known once conda has finished.
    set _cudaswitch_stood
endif
unset _csw_*
