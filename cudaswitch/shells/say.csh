# Print one line on what is active now, if it differs from _cudaswitch_line.
set _cudaswitch_told = ("" "")
if ($?_CUDASWITCH_ON) eval 'set _cudaswitch_told[1] = "${_CUDASWITCH_ON:q}"'
if ($?_CUDASWITCH_LIB) eval 'set _cudaswitch_told[2] = "${_CUDASWITCH_LIB:q}"'
set _csws_quiet = 0
if ($?CUDASWITCH_QUIET) then
    if ("${CUDASWITCH_QUIET:q}" != "") set _csws_quiet = 1
endif
if (! $_csws_quiet) then
    if (! $?_cudaswitch_line) set _cudaswitch_line = ""
    set _csws_words = '/bin/sh "${_cudaswitch_texts:q}/say.sh" "=${_cudaswitch_line:q}"'
    set _cudaswitch_line = "`$_csws_words`"
endif
unset _csws_*
