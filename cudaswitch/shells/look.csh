# Drop what belongs to an environment that was left, take up what the environment, the
# directory or the user asks for, and settle.
source "${_cudaswitch_texts:q}/store.csh"
set _cswl_now = ("" "" "${cwd:q}" "")
if ($?CONDA_PREFIX) eval 'set _cswl_now[1] = "${CONDA_PREFIX:q}"'
if ($?VIRTUAL_ENV) eval 'set _cswl_now[2] = "${VIRTUAL_ENV:q}"'
if ($?CUDASWITCH_VERSION) eval 'set _cswl_now[4] = "${CUDASWITCH_VERSION:q}"'
set _cswl_before = ""
if ($?_CUDASWITCH_ON) eval 'set _cswl_before = "${_CUDASWITCH_ON:q}"'
# Nothing that a shell starts with is news.
if (! $?_cudaswitch_told) then
    set _cudaswitch_told = ("${_cswl_before:q}" "")
    if ($?_CUDASWITCH_LIB) eval 'set _cudaswitch_told[2] = "${_CUDASWITCH_LIB:q}"'
endif
set _cswl_settle = $?_CUDASWITCH_GONE
set _cswl_asked = 1
if ($#_cudaswitch_seen == 4) then
    if ("$_cudaswitch_seen[1]:q" != "$_cswl_now[1]:q" || "$_cudaswitch_seen[2]:q" != "$_cswl_now[2]:q") set _cswl_settle = 1
    # `auto`, or an alias for it, depends on the environment. A refusal is reported once.
    if ("$_cudaswitch_seen[4]:q" == "$_cswl_now[4]:q") then
        if (! $_cswl_settle || "$_cswl_now[4]:q" !~ [A-Za-z]* || "$_cswl_now[4]:q" == system) set _cswl_asked = 0
        if ("$_cswl_now[4]:q" != auto && ! $?_CUDASWITCH_X) set _cswl_asked = 0
    endif
else
    set _cswl_settle = 1
endif
# What frameworks need is asked once per activation: a list of one, empty before.
if ($_cswl_settle || $_cudaswitch_again || ! $?_cudaswitch_framework) set _cudaswitch_framework = ()

# The text of a command: the variables in it are expanded when it is run.
set _cswl_ask = '/bin/sh "${_cudaswitch_texts:q}/ask.sh" $_cudaswitch_root:q $_cudaswitch_program:q'

# A layer of `uv run --with`, whose scripts nobody sources, counts as the environment below it.
# Finding that takes a process, once.
set _cswl_venv = "$_cswl_now[2]:q"
if ("${_cswl_venv:q}" =~ /* && ! $?_OLD_VIRTUAL_PATH) then
    if (! $?_cudaswitch_layer) set _cudaswitch_layer = ("" "")
    if ("$_cudaswitch_layer[1]:q" != "${_cswl_venv:q}") then
        set _cswl_words = "$_cswl_ask virtualenv"
        set _cswl_words = "`$_cswl_words`"
        set _cudaswitch_layer = ("${_cswl_venv:q}" "${_cswl_words:q}")
    endif
    set _cswl_venv = "$_cudaswitch_layer[2]:q"
endif

# If the toolkit is gone, the hook runs again to say so, and to undo it.
set _cswl_words = "${_cswl_before:as/ //:as/	//:as/:/ /}"
set _cswl_words = ($_cswl_words:x)
set _cswl_home = "$_cswl_words[1]:q"
set _cswl_home = "${_cswl_home:as///:as// /:as//	/}"
set _cswl_gone = 0
if ("${_cswl_home:q}" =~ /* && ! -d "${_cswl_home:q}/.") set _cswl_gone = 1

# What C and V ask for ends with env=FOLDER. After a change of pins, the hook of an active
# environment may ask for something else.
foreach _cswl_owner (V C)
    set _cswl_active = "$_cswl_now[1]:q"
    if ($_cswl_owner == V) set _cswl_active = "${_cswl_venv:q}"
    set _cswl_want = ""
    eval 'set _cswl_has = $?_CUDASWITCH_'$_cswl_owner
    if ($_cswl_has) eval 'set _cswl_want = "${_CUDASWITCH_'$_cswl_owner':q}"'
    if ("${_cswl_want:q}" == "") continue
    set _cswl_words = "${_cswl_want:as/ //:as/	//:as/:/ /}"
    set _cswl_words = ($_cswl_words:x)
    set _cswl_env = "$_cswl_words[$#_cswl_words]:q"
    set _cswl_env = "${_cswl_env:s/env=//:s///}"
    if ("${_cswl_active:as/ //:as/	//:as/:/ /}" == "${_cswl_env:q}") then
        # It may have been unpinned in another terminal.
        if ($_cudaswitch_again || $_cswl_gone || ! -f "${_cswl_active:q}/etc/cudaswitch/want") unsetenv _CUDASWITCH_$_cswl_owner
        continue
    endif
    set _cswl_level = 1
    if ($?CONDA_SHLVL) eval 'set _cswl_level = "${CONDA_SHLVL:q}"'
    if ($_cswl_owner == C && "${_cswl_active:q}" != "" && "${_cswl_level:q}" =~ {[2-9],[1-9][0-9]}) then
        # Below a stacked environment, this one is still active.
        set _cswl_env = "${_cswl_env:as// /:as//	/}"
        set _cswl_below = 0
        while ($_cswl_level > 1)
            eval 'set _cswl_has = $?CONDA_STACKED_'$_cswl_level
            @ _cswl_level--
            if (! $_cswl_has) continue
            eval 'set _cswl_word = "${CONDA_PREFIX_'$_cswl_level':q}"'
            if ("${_cswl_word:q}" == "${_cswl_env:q}") set _cswl_below = 1
        end
        foreach _cswl_word ($path:q)
            if ("${_cswl_word:q}" == "${_cswl_env:q}/bin" && $_cswl_below == 1) set _cswl_below = 2
        end
        if ($_cswl_below == 2 && ! $_cudaswitch_again && -f "${_cswl_env:q}/etc/cudaswitch/want") continue
    endif
    unsetenv _CUDASWITCH_$_cswl_owner
end
# Run hooks that have not run, because their activate script was rewritten or bypassed. A relative
# path would be looked for in any directory.
if ("${_cswl_venv:q}" =~ /* && ! $?_CUDASWITCH_V) then
    set _cswl_hook = "${_cswl_venv:q}/etc/cudaswitch/on.csh"
    if (-f "${_cswl_hook:q}") source "${_cswl_hook:q}"
endif
if ("$_cswl_now[1]:q" =~ /* && ! $?_CUDASWITCH_C) then
    set _cswl_hook = "$_cswl_now[1]:q/etc/conda/activate.d/~~cudaswitch.csh"
    if (-f "${_cswl_hook:q}") source "${_cswl_hook:q}"
endif
# The environments below a stacked one are still active.
if ("$_cswl_now[1]:q" != "" && ! $?_CUDASWITCH_C) source "${_cudaswitch_texts:q}/below.csh"
if ($_cswl_asked) unsetenv _CUDASWITCH_X
if ($_cswl_asked && "$_cswl_now[4]:q" != "") then
    set _cswl_words = "$_cswl_ask want "'$_cswl_now[4]:q'
    set _cswl_want = "`$_cswl_words`"
    if ("${_cswl_want:q}" != "") setenv _CUDASWITCH_X "${_cswl_want:q}"
endif

# What the directory asks for, else the frameworks of the active environment, else the user.
# $_cudaswitch_file is the version file of the directory, $_cudaswitch_key changes when it is
# edited.
set _cswl_of = none
if ($?_CUDASWITCH_U) then
    if ("${_CUDASWITCH_U:q}" != "") set _cswl_of = use
endif
if ($?_CUDASWITCH_X || $?_CUDASWITCH_C || $?_CUDASWITCH_V) then
    unsetenv _CUDASWITCH_D
    set _cudaswitch_file = ""
else if ($_cswl_of == none) then
    set _cswl_dir = "${cwd:q}"
    set _cudaswitch_file = ""
    set _cudaswitch_key = ""
    while (1)
        if (-f "${_cswl_dir:q}/.cuda-version") then
            set _cudaswitch_file = "${_cswl_dir:q}/.cuda-version"
            break
        endif
        if ("${_cswl_dir:q}" == "") break
        if ($?HOME) then
            if ("${_cswl_dir:q}" == "${HOME:q}" || "${_cswl_dir:q}/" == "${HOME:q}") break
        endif
        set _cswl_dir = "${_cswl_dir:h:q}"
    end
    # A refusal in a tree is reported again on the next visit.
    set _cswl_refused = "${_cudaswitch_refused:q}"
    set _cudaswitch_refused = ""
    set _cswl_want = ""
    if ("${_cudaswitch_file:q}" == "" && "$_cswl_now[1]:q$_cswl_now[2]:q" != "") then
        if (! $#_cudaswitch_framework) then
            set _cswl_words = "$_cswl_ask framework"
            set _cswl_words = "`$_cswl_words`"
            set _cudaswitch_framework = ("${_cswl_words:q}")
        endif
        set _cswl_want = "$_cudaswitch_framework[1]:q"
    endif
    set _cswl_file = "${_cudaswitch_file:q}"
    if ("${_cswl_file:q}" == "") set _cswl_file = "${_cudaswitch_root:q}/global"
    if ("${_cswl_want:q}" == "" && -f "${_cswl_file:q}") source "${_cudaswitch_texts:q}/file.csh"
    if ("${_cswl_want:q}" == "") then
        unsetenv _CUDASWITCH_D
    else
        setenv _CUDASWITCH_D "${_cswl_want:q}"
    endif
endif

set _cudaswitch_again = 0

# A hook may have settled for these environments.
if ($?_cudaswitch_entered && ! $?_CUDASWITCH_GONE) then
    if ("${_cudaswitch_entered:q}" == "$_cswl_now[1]:q|$_cswl_now[2]:q") set _cswl_settle = 0
endif
unset _cudaswitch_entered
# Nothing is touched without a reason: users put their own folders before ours.
if (! $_cswl_settle) then
    set _csw_do = strongest
    set _csw_texts = "${_cudaswitch_texts:q}"
    source "${_cudaswitch_texts:q}/core.csh"
    if ("${_csw_want:q}" != "${_cswl_before:q}" && "${_csw_want:q}:nvcc" != "${_cswl_before:q}") set _cswl_settle = 1
endif
if ($_cswl_settle) then
    set _csw_do = settle
    set _csw_texts = "${_cudaswitch_texts:q}"
    source "${_cudaswitch_texts:q}/core.csh"
endif
set _cudaswitch_seen = ("$_cswl_now[1]:q" "$_cswl_now[2]:q" "$_cswl_now[3]:q" "$_cswl_now[4]:q")
set _cswl_after = ("" "")
if ($?_CUDASWITCH_ON) eval 'set _cswl_after[1] = "${_CUDASWITCH_ON:q}"'
if ($?_CUDASWITCH_LIB) eval 'set _cswl_after[2] = "${_CUDASWITCH_LIB:q}"'
# Nothing is reported in scripts, nor on a `cd`, as in a subshell: these run there as well.
unset _cudaswitch_news
if ($?prompt && "${_cudaswitch_told:q}" != "${_cswl_after:q}") then
    if ($?_cswp_moved) then
        set _cudaswitch_news
    else
        source "${_cudaswitch_texts:q}/say.csh"
    endif
endif
unset _csw_* _cswl_* _cswk_*
