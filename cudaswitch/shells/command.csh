# The command `cudaswitch` in tcsh: $argv is `--` and its arguments.
shift argv
source "${_cudaswitch_texts:q}/store.csh"
set _cswc_code = 0
set _cswc_way = plain
if ($#argv) then
    if ("$argv[1]:q" =~ {use,off}) set _cswc_way = "$argv[1]:q"
    if ("$argv[1]:q" =~ {current,which,doctor}) set _cswc_way = telling
    # The commands after which this shell may have to switch.
    set _cswc_changing = (pin unpin install adopt remove alias sync gc)
    set _cswc_changing = ($_cswc_changing config+set config+unset doctor+--fix verify+--repair)
    foreach _cswc_does ($_cswc_changing)
        if ("$argv[1]:q" == "$_cswc_does") set _cswc_way = changing
        if ("$argv[1]:q" !~ {config,doctor,verify}) continue
        foreach _cswc_word ($argv:q)
            if ("$argv[1]:q+$_cswc_word:q" == "$_cswc_does") set _cswc_way = changing
        end
    end
endif
foreach _cswc_word ($argv:q)
    if ("$_cswc_word:q" == "--help" || "$_cswc_word:q" == "-h") set _cswc_way = plain
end
if ($_cswc_way == off && "$argv:q" != off && "$argv:q" != "off --") set _cswc_way = plain

if ($_cswc_way == use || $_cswc_way == off) then
    set _cswc_want = ""
    if ($_cswc_way == use) then
        shift argv
        if ("$argv:q" == "-" && ! $?_CUDASWITCH_PREVIOUS) then
            /bin/sh -c 'printf "cudaswitch: there is no previous choice in this shell\nhint: cudaswitch use VERSION\n" >&2'
            set _cswc_code = 1
        else if ("$argv:q" == "-") then
            set _cswc_want = "${_CUDASWITCH_PREVIOUS:q}"
            if ("${_cswc_want:q}" =~ /*) then
                set _cswc_text = '. "$2/there.sh"; if __cudaswitch_there "${1%%:*}"; then exit; fi; printf "cudaswitch: \`%s\` is gone\nhint: cudaswitch use VERSION\n" "${1%%:*}" >&2; echo gone'
                set _cswc_ask = '/bin/sh -c $_cswc_text:q sh $_cswc_want:q $_cudaswitch_texts:q'
                if ("`$_cswc_ask`" == gone) set _cswc_code = 1
            endif
        else if ("$argv:q" == system) then
            set _cswc_want = system
        else
            set _cswc_ask = '/bin/sh "${_cudaswitch_texts:q}/ask.sh" $_cudaswitch_root:q $_cudaswitch_program:q use $argv:q'
            set _cswc_want = "`$_cswc_ask`"
            set _cswc_code = $status
        endif
    endif
    if (! $_cswc_code) then
        # Without a choice, `off` gives up nothing that `use -` could return to.
        if ($?_CUDASWITCH_U || "${_cswc_want:q}" != "") setenv _CUDASWITCH_PREVIOUS ""
        if ($?_CUDASWITCH_U) eval 'setenv _CUDASWITCH_PREVIOUS "${_CUDASWITCH_U:q}"'
        source "${_cudaswitch_texts:q}/leaving.csh"
        unsetenv _CUDASWITCH_U
        if ("${_cswc_want:q}" != "") setenv _CUDASWITCH_U "${_cswc_want:q}"
        if ($_csx_leaving) then
            source "${_cudaswitch_texts:q}/meanwhile.csh"
        else if ("${_cswc_want:q}" == "") then
            source "${_cudaswitch_texts:q}/look.csh"
        else
            set _csw_do = settle
            set _csw_texts = "${_cudaswitch_texts:q}"
            source "${_cudaswitch_texts:q}/core.csh"
            unset _cudaswitch_line
            source "${_cudaswitch_texts:q}/say.csh"
        endif
        unset _csx_*
    endif
else
    # These commands report what the look finds, and the active environment may have been deleted.
    if ($_cswc_way == telling) then
        source "${_cudaswitch_texts:q}/leaving.csh"
        if (! $_csx_leaving) source "${_cudaswitch_texts:q}/look.csh"
        unset _csx_*
        set _cswc_way = plain
    endif
    if (-x "${_cudaswitch_program:q}") then
        "${_cudaswitch_program:q}" $argv:q
        set _cswc_code = $status
    else
        /bin/sh "${_cudaswitch_texts:q}/ask.sh" $_cudaswitch_root:q $_cudaswitch_program:q run $argv:q
        set _cswc_code = $status
    endif
    if ($_cswc_way != plain) then
        source "${_cudaswitch_texts:q}/leaving.csh"
        if ($_csx_leaving) set _cswc_way = later
        unset _csx_*
    endif
    # In a deactivate script, conda has yet to finish, and a look will follow.
    if ($_cswc_way == later) then
        set _cudaswitch_seen = ()
    else if ($_cswc_way != plain) then
        # A command that failed may have done part of its work; a refusal was reported already.
        if (! $_cswc_code) then
            set _cudaswitch_again = 1
            set _cudaswitch_asked = ("" "" "" "")
            set _cudaswitch_refused = ""
        endif
        # The directory is the same; CUDASWITCH_VERSION may mean another toolkit now.
        if ($#_cudaswitch_seen == 4) set _cudaswitch_seen[4] = "+again"
        source "${_cudaswitch_texts:q}/look.csh"
    endif
endif
__cudaswitch_texts
set _cudaswitch_code = $_cswc_code
unset _cswc_*
exit $_cudaswitch_code
