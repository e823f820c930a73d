# _cswl_want = what the version file $_cswl_file asks for. Python reads it, and complains, once as
# long as it and what is installed are the same, not at every step within a tree.
set _cswk_file = "${_cswl_file:q}"
source "${_cudaswitch_texts:q}/key.csh"
if ("${_cudaswitch_file:q}" != "") set _cudaswitch_key = "${_cswk_key:q}"
set _cswl_about = "${_cswk_key:q}"
set _cswk_file = "${_cudaswitch_root:q}/requests/.fingerprint"
if (-f "${_cswk_file:q}") then
    source "${_cudaswitch_texts:q}/key.csh"
    set _cswl_about = "${_cswl_about:q}:${_cswk_key:q}"
endif
foreach _cswl_n (1 3)
    if ("${_cswl_about:q}" != "$_cudaswitch_asked[$_cswl_n]:q") continue
    @ _cswl_n++
    set _cswl_want = "$_cudaswitch_asked[$_cswl_n]:q"
    set _cswl_words = "${_cswl_want:as/ //:as/	//:as/:/ /}"
    set _cswl_words = ($_cswl_words:x)
    set _cswl_words = "$_cswl_words[1]:q"
    set _cswl_words = "${_cswl_words:as// /:as//	/}"
    if ("${_cswl_want:q}" !~ /*) exit
    if (-d "${_cswl_words:q}/." && (! -l "${_cswl_words:q}/.base" || -d "${_cswl_words:q}/.base/.")) exit
    set _cswl_want = ""
end
if ("${_cswl_about:q}" == "${_cswl_refused:q}") then
    set _cudaswitch_refused = "${_cswl_refused:q}"
    exit
endif
set _cswl_words = "$_cswl_ask file "'$_cswl_file:q'
set _cswl_want = "`$_cswl_words`"
if ("${_cswl_want:q}" == "") then
    set _cudaswitch_refused = "${_cswl_about:q}"
else
    set _cudaswitch_asked = ("${_cswl_about:q}" "${_cswl_want:q}" "$_cudaswitch_asked[1]:q" "$_cudaswitch_asked[2]:q")
endif
