# Use the store that CUDASWITCH_HOME names, or the one that the integration was written for. If only
# Python can resolve its path, no answer is ready.
set _cswr_root = "${_cudaswitch_store:q}"
if ($?CUDASWITCH_HOME) then
    if ("${CUDASWITCH_HOME:q}" != "") set _cswr_root = "${CUDASWITCH_HOME:q}"
    if ("${_cswr_root:q}" =~ [~]/* && $?HOME) set _cswr_root = "${HOME:q}${_cswr_root:s/~//:q}"
    if ("${_cswr_root:q}" !~ /*) set _cswr_root = /dev/null
endif
if ("${_cswr_root:q}" != "${_cudaswitch_root:q}") then
    set _cudaswitch_root = "${_cswr_root:q}"
    set _cudaswitch_asked = ("" "" "" "")
    set _cudaswitch_refused = ""
    set _cudaswitch_framework = ()
    # The directory is the same; CUDASWITCH_VERSION may mean another toolkit now.
    if ($#_cudaswitch_seen == 4) set _cudaswitch_seen[4] = "+again"
endif
unset _cswr_*
