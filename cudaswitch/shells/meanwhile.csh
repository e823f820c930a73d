# Settle for the choice of a script of the environment being left: conda will still export a PATH
# that it computed before.
set _csx_gone = ""
if ($?_CUDASWITCH_GONE) eval 'set _csx_gone = "${_CUDASWITCH_GONE:q}"'
set _csw_do = leave
set _csw_owner = A
set _csw_env = "${_csx_env:q}"
set _csw_texts = "${_cudaswitch_texts:q}"
source "${_cudaswitch_texts:q}/core.csh"
if ("${_csx_gone:q}" != "") then
    if ($?_CUDASWITCH_GONE) eval 'set _csx_gone = "${_CUDASWITCH_GONE:q}:${_csx_gone:q}"'
    setenv _CUDASWITCH_GONE "${_csx_gone:q}"
endif
set _cudaswitch_seen = ()
source "${_cudaswitch_texts:q}/say.csh"
