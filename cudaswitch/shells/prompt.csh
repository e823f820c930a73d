# Before each prompt, and on `cd`: look round when environment or directory changed.
set _cswp_status = $status
set _cswp_now = ("" "" "${cwd:q}" "")
if ($?CONDA_PREFIX) eval 'set _cswp_now[1] = "${CONDA_PREFIX:q}"'
if ($?VIRTUAL_ENV) eval 'set _cswp_now[2] = "${VIRTUAL_ENV:q}"'
if ($?CUDASWITCH_VERSION) eval 'set _cswp_now[4] = "${CUDASWITCH_VERSION:q}"'
if ($?_CUDASWITCH_GONE || "${_cswp_now:q}" != "${_cudaswitch_seen:q}") source "${_cudaswitch_texts:q}/look.csh"
set status = $_cswp_status
unset _cswp_*
