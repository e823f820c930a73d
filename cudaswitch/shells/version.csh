# CUDASWITCH_VERSION is stronger than the pin that is entered, which asks for $_csw_asks. The prompt
# would look at it, but in a script none comes.
set _csw_value = ""
if ($?CUDASWITCH_VERSION) eval 'set _csw_value = "${CUDASWITCH_VERSION:q}"'
if ("${_csw_value:q}" == "") then
    if ($?_cudaswitch_root) unsetenv _CUDASWITCH_X
    exit
endif
set _csw_pin = ""
if (! $?_cudaswitch_root) set _csw_pin = "${_csw_asks:q}"
set _csw_text = 'for f in there core hooks; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; CUDASWITCH_VERSION=$2; __cudaswitch_said "${3#=}"; printf "%s\n" "$__csw"'
set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_texts:q $_csw_value:q "=${_csw_pin:q}"'
set _csw_value = "`$_csw_words`"
if (! $?_cudaswitch_root) then
    set _csw_asks = "${_csw_value:q}"
else if ("${_csw_value:q}" != "") then
    setenv _CUDASWITCH_X "${_csw_value:q}"
endif
