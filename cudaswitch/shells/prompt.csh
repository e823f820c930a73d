# Before each prompt, and on `cd`, where _cswp_moved is set: look if the environment, directory or
# version file has changed, or if there is news since the last prompt.
if (! $?_cswp_moved && $?ask_conda) eval 'set _cudaswitch_ran = ($ask_conda:q)'
set _cswp_now = ("" "" "${cwd:q}" "")
if ($?CONDA_PREFIX) eval 'set _cswp_now[1] = "${CONDA_PREFIX:q}"'
if ($?VIRTUAL_ENV) eval 'set _cswp_now[2] = "${VIRTUAL_ENV:q}"'
if ($?CUDASWITCH_VERSION) eval 'set _cswp_now[4] = "${CUDASWITCH_VERSION:q}"'
set _cswp_look = $?_cudaswitch_news
if ($?_CUDASWITCH_GONE || "${_cswp_now:q}" != "${_cudaswitch_seen:q}") then
    set _cswp_look = 1
else if ($?_cudaswitch_file && ! ($?_CUDASWITCH_U || $?_CUDASWITCH_X || $?_CUDASWITCH_C || $?_CUDASWITCH_V)) then
    # Has the version file that decides changed, or is there a nearer one?
    set _cswp_file = "${_cudaswitch_file:q}"
    if (-f .cuda-version && "${_cswp_file:q}" != "${cwd:q}/.cuda-version") then
        set _cswp_look = 1
    else if ("${_cswp_file:q}" != "") then
        set _cswk_file = "${_cswp_file:q}"
        source "${_cudaswitch_texts:q}/key.csh"
        if ("${_cswk_key:q}" != "${_cudaswitch_key:q}") set _cswp_look = 1
        unset _cswk_*
    endif
endif
# While conda leaves an environment, a `cd` takes up nothing.
if ($_cswp_look && $?_cswp_moved) then
    source "${_cudaswitch_texts:q}/leaving.csh"
    if ($_csx_leaving) set _cswp_look = 0
    if ($_csx_leaving) set _cudaswitch_seen = ()
    unset _csx_*
endif
if ($_cswp_look) source "${_cudaswitch_texts:q}/look.csh"
unset _cswp_*
