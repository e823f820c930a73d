# The change and its exact undo for tcsh: the state is that of core.sh, word for word, so that
# shells of all kinds can be nested. csh has no functions: this is sourced, with
#
#   _csw_do            settle, enter, leave, repair: settle if a PATH computed earlier came back,
#                      or strongest: only answer, in _csw_want
#   _csw_owner _env    what is entered or left: C or V, and its folder; on leave also A, which is no
#                      owner, but stands for whatever one of its scripts changes
#   _csw_home _options _auto   what the environment that is entered asks for
#   _csw_texts         the folder of core.sh
#
# If an environment is active, one `sh` looks for CUDA in it, and another, if it is pinned to
# `auto`, whether its packages have changed: csh cannot read files. One more runs if a host compiler
# or XLA needs a flag, or conda keeps copies of what is given back, and another if it kept the same
# LD_LIBRARY_PATH before us. Nothing else is started.
#
# A list is split into words at its colons. To keep its elements byte for byte, a blank in them is
# ^A (control A), a tab ^C (control C), and each element, which may be empty, is put between two ^B
# (control B). ^E (control E) is a word that was removed.
set _csw_scalars = (CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)
if ($?_cudaswitch_undone && $_csw_do =~ {repair,settle,enter}) then
    set _csw_keep = forget
    source "${_csw_texts:q}/copies.csh"
endif
# CUDASWITCH_VERSION may have been a variable of the environment that was left, and gone with it, or
# a script has unset it, which no prompt has noticed.
set _csw_unsaid = 0
if ($_csw_do =~ {repair,leave} && $?_cudaswitch_root && $?_CUDASWITCH_X && ! $?CUDASWITCH_VERSION) set _csw_unsaid = 1
if ($_csw_unsaid) unsetenv _CUDASWITCH_X
if ($_csw_do == repair && ! $?_CUDASWITCH_GONE && ! $_csw_unsaid && ! $?_cudaswitch_stood) then
    unset _csw_*
    exit
endif
unset _cudaswitch_stood
set _csw_split = 'set _csw_words = "${_csw_value:as/ //:as/	//:as/:/ /}"; set _csw_words = ($_csw_words:x)'
set _csw_join = 'set _csw_value = "$_csw_words:q"; set _csw_value = "${_csw_value:as/ //:s/ //:s///:as/ /:/:as///:as// /:as//	/}"'

set _csw_break = '\
'
if ($_csw_do != strongest) source "${_csw_texts:q}/own.csh"
if (! $?_csw_owner) set _csw_owner = ""
if (! $?_csw_env) set _csw_env = ""
foreach _csw_name (ON BIN OLD LIB LD GONE C V)
    set _csw_$_csw_name = ""
    eval 'set _csw_has = $?_CUDASWITCH_'$_csw_name
    if ($_csw_has) eval 'set _csw_'$_csw_name' = "${_CUDASWITCH_'$_csw_name':q}"'
end
foreach _csw_name (PATH _OLD_VIRTUAL_PATH LD_LIBRARY_PATH CONDA_PREFIX VIRTUAL_ENV)
    set _csw_$_csw_name = ""
    eval 'set _csw_has = $?'$_csw_name
    if (! $_csw_has) continue
    eval 'set _csw_value = "${'$_csw_name':q}"'
    eval 'set _csw_'$_csw_name' = "${_csw_value:q}"'
    # A line break would end the quotes in which values are split; the others are separators.
    if ("${_csw_value:q}" =~ *"${_csw_break:q}"* || "${_csw_value:q}" =~ *[]*) set _csw_torn = $_csw_name
end
set _csw_ld_set = $?LD_LIBRARY_PATH
set _csw_conda = "${_csw_CONDA_PREFIX:q}" _csw_venv = "${_csw_VIRTUAL_ENV:q}"
set _csw_recall = 0

if ($_csw_do == enter) then
    set _csw_asks = "${_csw_home:q}"
    if ("${_csw_options:q}" != "") set _csw_asks = "${_csw_home:q}:${_csw_options:q}"
    set _csw_program = ""
    if ($?_cudaswitch_program) eval 'set _csw_program = "${_cudaswitch_program:q}"'
    if ("${_csw_auto:q}" != "") then
        set _csw_text = 'for f in packages core; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; if ! __cudaswitch_newer "$2" "$2/etc/cudaswitch/want"; then exit; fi; if [ -x "$3" ]; then exec "$3" want --environment "$2"; fi; if [ -t 2 ]; then printf "cudaswitch: the packages of \`%s\` may have changed since it was pinned\nhint: cudaswitch pin auto\n" "$2" >&2; fi'
        set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_texts:q $_csw_env:q $_csw_program:q'
        set _csw_value = "`$_csw_words`"
        if ("${_csw_value:q}" != "") set _csw_asks = "${_csw_value:q}"
    endif
    source "${_csw_texts:q}/version.csh"
    if ("${_csw_asks:q}" !~ system*) then
        set _csw_value = "${_csw_asks:q}"
        eval "$_csw_split"
        set _csw_words = ($_csw_words[1]:q)
        eval "$_csw_join"
        # One that is based on another is of no use without it.
        if (! -d "${_csw_value:q}/." || (-l "${_csw_value:q}/.base" && ! -d "${_csw_value:q}/.base/.")) then
            # Somebody else may have pinned it, and this user's store may have another for that pin.
            set _csw_text = 'if [ -x "$3" ] && o=$("$3" want --file "$2/etc/cudaswitch/pin" 2> /dev/null); then case $o in system | /*) printf "%s\n" "$o"; exit ;; esac; fi; if [ -t 2 ]; then printf "cudaswitch: \`%s\` is gone, so nothing is switched (pinned by \`%s\`)\n" "$1" "$2" >&2; fi; echo gone'
            set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_value:q $_csw_env:q $_csw_program:q'
            set _csw_asks = "`$_csw_words`"
        endif
    endif
    set _csw_$_csw_owner = "${_csw_asks:q}:env=${_csw_env:q}"
    eval 'setenv _CUDASWITCH_'$_csw_owner' "${_csw_'$_csw_owner':q}"'
    # The last prompt's environment may be back at the next prompt, and this one left unnoticed.
    if ($_csw_owner == V) set _cudaswitch_seen = ()
    # Anything that is put before ours until that prompt stays there.
    if ($?_cudaswitch_seen) set _cudaswitch_entered = "${_csw_conda:q}|${_csw_venv:q}"
else if ($_csw_do == leave) then
    set _csw_$_csw_owner = ""
    unsetenv _CUDASWITCH_$_csw_owner
    if ("${_csw_conda:q}" == "${_csw_env:q}") set _csw_conda = ""
    if ("${_csw_venv:q}" == "${_csw_env:q}") set _csw_venv = ""
    unset _cudaswitch_undone
    if ($_csw_owner != V && "${_csw_ON:q}" != "") then
        set _cudaswitch_undone = ("=${_csw_ON:q}" "=${_csw_LIB:q}" "=" "=" "=")
        if ($?_CUDASWITCH_CC) eval 'set _cudaswitch_undone[3] = "=${_CUDASWITCH_CC:q}"'
        if ($?_CUDASWITCH_XLA) eval 'set _cudaswitch_undone[4] = "=${_CUDASWITCH_XLA:q}"'
        if ($?_CUDASWITCH_KEPT) eval 'set _cudaswitch_undone[5] = "=${_CUDASWITCH_KEPT:q}"'
        foreach _csw_name ($_csw_scalars CUDAHOSTCXX)
            eval 'set _csw_has = $?_CUDASWITCH_WAS_'$_csw_name
            if ($_csw_has) eval 'set _cudaswitch_undone = ($_cudaswitch_undone:q "'$_csw_name'=${_CUDASWITCH_WAS_'$_csw_name':q}")'
        end
    endif
    # conda runs `rehash` once when it has finished: repair then. If there is an alias of that name
    # already, the next hook or prompt repairs instead.
    if ($_csw_owner != V) then
        set _csw_value = "`alias rehash`"
        if ("${_csw_value:q}" == "") then
            set _cudaswitch_core = "${_csw_texts:q}"
            alias rehash 'unalias rehash; set _csw_do = repair; set _csw_texts = "${_cudaswitch_core:q}"; if (-f "${_cudaswitch_core:q}/core.csh") source "${_cudaswitch_core:q}/core.csh"; unset _cudaswitch_core; eval rehash'
            set _csw_recall = 1
        endif
    endif
endif

# What the strongest owner asks for.
set _csw_first = (C C)
if (! $?_csw_torn) source "${_csw_texts:q}/first.csh"
set _csw_want = ""
set _csw_owners = (D V C X U)
if ($_csw_first[1] == V) set _csw_owners = (D C V X U)
foreach _csw_name ($_csw_owners)
    eval 'set _csw_has = $?_CUDASWITCH_'$_csw_name
    if (! $_csw_has) continue
    eval 'set _csw_value = "${_CUDASWITCH_'$_csw_name':q}"'
    if ("${_csw_value:q}" != "") set _csw_want = "${_csw_value:q}"
end

if ($_csw_do == strongest) exit
if ($?_csw_torn) then
    # A user who has typed a command is told in any case.
    if ("${_csw_want:q}" != "") /bin/sh -c 'if [ "$2" = settle ] || [ -t 2 ]; then printf "cudaswitch: %s has a line break or a control character, so tcsh cannot take it apart: nothing is switched\n" "$1" >&2; fi' sh $_csw_torn $_csw_do
    if ($#_csw_own) source "${_csw_texts:q}/own.csh"
    unset _csw_*
    exit
endif

# Where the toolkit is, and which of its folders go into the lists.
set _csw_value = "${_csw_want:q}"
eval "$_csw_split"
set _csw_asked = ($_csw_words:q)
set _csw_words = ($_csw_asked[1]:q)
eval "$_csw_join"
set _csw_toolkit = "${_csw_value:q}"
set _csw_bin_dirs = ()
set _csw_lib_dirs = ()
set _csw_xla = none
if ("${_csw_toolkit:q}" !~ /*) set _csw_toolkit = ""
if ("${_csw_toolkit:q}" != "") then
    if (! -d "${_csw_toolkit:q}/.") set _csw_toolkit = ""
endif
if ("${_csw_toolkit:q}" != "") then
    set _csw_bin_dirs = ("${_csw_toolkit:q}/bin")
    set _csw_libs = auto
    foreach _csw_word ($_csw_asked:q)
        if ("$_csw_word:q" == "lib=always" && $_csw_libs != never) set _csw_libs = always
        if ("$_csw_word:q" == "lib=never") set _csw_libs = never
    end
    set _csw_root = "${_csw_venv:q}"
    if ($_csw_first[2] == C) set _csw_root = "${_csw_conda:q}"
    if ("${_csw_root:q}" != "") then
        set _csw_text = 'for f in packages bundled core; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; _csw_xla= _csw_left=${3-}; if __cudaswitch_brought "$2"; then printf never; fi; echo "${_csw_xla:+xla}"'
        set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_texts:q $_csw_root:q'
        if ($_csw_do == leave) set _csw_words = "$_csw_words "'$_csw_env:q'
        set _csw_value = "`$_csw_words`"
        if ("$_csw_libs" == auto && "$_csw_value" =~ never*) set _csw_libs = never
        if ("$_csw_value" =~ *xla) set _csw_xla = xla
    endif
    if ("$_csw_libs" != never) then
        foreach _csw_word (extras/CUPTI/lib64 lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib)
            if (! -d "${_csw_toolkit:q}/$_csw_word") continue
            set _csw_lib_dirs = ($_csw_lib_dirs:q "${_csw_toolkit:q}/$_csw_word")
            if ($_csw_word != extras/CUPTI/lib64) break
        end
    endif
    if (-x "${_csw_toolkit:q}/bin/nvcc") set _csw_want = "${_csw_want:q}:nvcc"
endif

# A virtualenv that was left has restored the PATH that it kept.
set _csw_before = "${_csw_BIN:q}"
if ("${_csw__OLD_VIRTUAL_PATH:q}${_csw_VIRTUAL_ENV:q}" == "" && "${_csw_OLD:q}" != "") set _csw_BIN = "${_csw_OLD:q}"

# Remove from each list what was put in, each folder once, at its first place, and only if it is
# there more often than before us; then add the new folders. The last round only counts: on a switch
# between environments and on reactivation, conda goes on to export a PATH that it computed before
# this script ran. That brings back what was applied before, and removes what is applied now.
foreach _csw_job (PATH OLD LIB GONE)
    set _csw_skip = 0 _csw_add = ($_csw_bin_dirs:q)
    switch ($_csw_job)
    case PATH:
        set _csw_list = "${_csw_PATH:q}"
        set _csw_take = "${_csw_BIN:q}:${_csw_GONE:q}"
        breaksw
    case OLD:
        # An activation that came after us took its snapshot with our entries in it.
        set _csw_list = "${_csw__OLD_VIRTUAL_PATH:q}"
        set _csw_take = "${_csw_OLD:q}"
        if ("${_csw_OLD:q}" == "") set _csw_take = "${_csw_BIN:q}"
        if ("${_csw_list:q}" == "") set _csw_skip = 1
        breaksw
    case LIB:
        set _csw_list = "${_csw_LD_LIBRARY_PATH:q}"
        set _csw_take = "${_csw_LIB:q}"
        set _csw_add = ($_csw_lib_dirs:q)
        if ($?_CUDASWITCH_KEPT) then
            if ("${_CUDASWITCH_KEPT:q}" =~ *:LD_LIBRARY_PATH*) then
                set _csw_text = 'for f in copies core; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; _csw_theirs=$_CUDASWITCH_KEPT; __cudaswitch_regained LD_LIBRARY_PATH "${LD_LIBRARY_PATH-}"'
                /bin/sh -c $_csw_text:q sh $_csw_texts:q
                if (! $status) set _csw_take = ""
            endif
        endif
        breaksw
    case GONE:
        set _csw_list = "${_csw_new_PATH:q}"
        set _csw_take = ""
        # Tools that count no levels do not compute PATH ahead.
        if ($_csw_do != leave || "$_csw_owner" == V || ! $?CONDA_SHLVL) set _csw_skip = 1
        if ($?CONDA_SHLVL) eval 'if ("$CONDA_SHLVL:q" == 0) set _csw_skip = 1'
        breaksw
    endsw
    set _csw_new_$_csw_job = "${_csw_list:q}"
    set _csw_record = ""
    if ($_csw_skip) then
        eval 'set _csw_record_'$_csw_job' = ""'
        continue
    endif

    set _csw_value = "${_csw_list:q}"
    eval "$_csw_split"
    set _csw_elements = ($_csw_words:q)
    if ($_csw_job == GONE) then
        set _csw_value = "${_csw_env:q}/bin"
        eval "$_csw_split"
        set _csw_here = "$_csw_words:q"
        foreach _csw_word ($_csw_elements:q)
            if ("$_csw_word:q" == "$_csw_here:q") set _csw_recall = 1
        end
        if ($_csw_recall && "${_csw_before:q}" != "") then
            set _csw_value = "${_csw_before:q}"
            eval "$_csw_split"
            set _csw_words = ($_csw_words[1]:q)
            eval "$_csw_join"
            set _csw_count = "${_csw_value:s,/, ,}"
            set _csw_count = ($_csw_count:x)
            eval 'set _csw_add = ("${_csw_value:s/'$_csw_count[1]'//}" $_csw_add:q)'
        endif
    endif

    set _csw_taken = 0 _csw_value = "${_csw_take:q}"
    eval "$_csw_split"
    set _csw_until_now = ($_csw_words:q)
    foreach _csw_item ($_csw_words:q)
        set _csw_count = "${_csw_item:s,/, ,:s///}"
        set _csw_count = ($_csw_count:x)
        if ("$_csw_count[1]" !~ [0-9]*) continue
        eval 'set _csw_item = "${_csw_item:s/'$_csw_count[1]'//}"'
        set _csw_n = 0 _csw_found = ()
        foreach _csw_word ($_csw_elements:q)
            @ _csw_n++
            if ("$_csw_word:q" == "$_csw_item:q") set _csw_found = ($_csw_found $_csw_n)
        end
        if ($#_csw_found <= $_csw_count[1]) continue
        set _csw_elements[$_csw_found[1]] = 
        set _csw_taken = 1
    end
    if ($_csw_taken) then
        set _csw_words = ($_csw_elements:q)
        eval "$_csw_join"
        set _csw_list = "${_csw_value:q}"
        if ($_csw_job == LIB && "${_csw_list:q}" == "" && "$_csw_LD" == unset) set _csw_ld_set = 0
        if ($_csw_job == OLD && "${_csw_list:q}" == "") set _csw_add = ()
    endif

    foreach _csw_dir ($_csw_add:q)
        set _csw_value = "${_csw_dir:q}"
        eval "$_csw_split"
        # Other copies than those on record came after us: whoever put them there may remove them.
        set _csw_n = 0
        foreach _csw_word ($_csw_elements:q)
            if ("$_csw_word:q" != "$_csw_words:q") continue
            eval 'set _csw_item = "${_csw_words:s//'$_csw_n'/}"'
            foreach _csw_value ($_csw_until_now:q)
                if ("$_csw_value:q" == "$_csw_item:q") set _csw_word = ""
            end
            if ("$_csw_word:q" != "") @ _csw_n++
        end
        if ("${_csw_record:q}" != "") set _csw_record = ":${_csw_record:q}"
        set _csw_record = "${_csw_n}${_csw_dir:q}${_csw_record:q}"
        if ("${_csw_list:q}" != "") set _csw_list = ":${_csw_list:q}"
        set _csw_list = "${_csw_dir:q}${_csw_list:q}"
    end
    set _csw_new_$_csw_job = "${_csw_list:q}"
    set _csw_record_$_csw_job = "${_csw_record:q}"
end

# From here on, Ctrl-C would leave half of a switch, which nothing undoes; a script just ends. What
# the user has given to `onintr` comes back where this file ends.
if ($?prompt) onintr -
# The variables with a single value: give back those of the want that was applied, if they are still
# ours, and set those of the new one.
set _csw_keep = find
source "${_csw_texts:q}/copies.csh"
foreach _csw_way (give set)
    set _csw_value = "${_csw_ON:q}"
    if ($_csw_way == set) set _csw_value = "${_csw_want:q}"
    if ($_csw_way == set && "${_csw_toolkit:q}" == "") break
    if ("${_csw_value:q}" == "") continue
    eval "$_csw_split"
    set _csw_asked = ($_csw_words:q)
    set _csw_words = ($_csw_asked[1]:q)
    eval "$_csw_join"
    set _csw_names = (CUDA_HOME CUDA_PATH CUDAToolkit_ROOT)
    set _csw_values = ("${_csw_value:q}" "${_csw_value:q}" "${_csw_value:q}")
    foreach _csw_word ($_csw_asked:q)
        if ("$_csw_word:q" == "nvcc" && "$_csw_names" !~ *CUDACXX*) then
            set _csw_names = ($_csw_names CUDACXX)
            set _csw_values = ($_csw_values:q "${_csw_value:q}/bin/nvcc")
        else if ("$_csw_word:q" =~ gpus=*) then
            set _csw_names = ($_csw_names CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)
            set _csw_values = ($_csw_values:q "${_csw_word:s/gpus=//:s///}" PCI_BUS_ID)
        endif
    end
    set _csw_whole = 0
    if ($_csw_way == give && $#_csw_copies) then
        set _csw_whole = 1
        set _csw_names = ()
    endif
    set _csw_n = 0
    foreach _csw_name ($_csw_names)
        @ _csw_n++
        set _csw_ours = "$_csw_values[$_csw_n]:q"
        eval 'set _csw_has = $?'$_csw_name
        if ($_csw_way == set) then
            if ($_csw_has) eval 'setenv _CUDASWITCH_WAS_'$_csw_name' "${'$_csw_name':q}"'
            setenv $_csw_name "${_csw_ours:q}"
        else
            eval 'set _csw_had = $?_CUDASWITCH_WAS_'$_csw_name
            set _csw_now = ""
            if ($_csw_has) eval 'set _csw_now = "${'$_csw_name':q}"'
            if ("${_csw_now:q}" == "${_csw_ours:q}") then
                if ($_csw_had) then
                    eval 'setenv '$_csw_name' "${_CUDASWITCH_WAS_'$_csw_name':q}"'
                else
                    unsetenv $_csw_name
                endif
            endif
            if ($_csw_had) unsetenv _CUDASWITCH_WAS_$_csw_name
        endif
    end

    source "${_csw_texts:q}/flags.csh"
end

foreach _csw_name (ON BIN OLD GONE LIB LD KEPT)
    unsetenv _CUDASWITCH_$_csw_name
end
if ("${_csw_toolkit:q}" != "") then
    setenv _CUDASWITCH_ON "${_csw_want:q}"
    setenv _CUDASWITCH_BIN "${_csw_record_PATH:q}"
    # If conda already kept the same folder, it is the user's own.
    if ($#_csw_copies) then
        set _csw_text = 'for f in copies core; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; _csw_want=$2 _csw_home=${2%%:*}; __cudaswitch_theirs; echo "${_CUDASWITCH_KEPT-}"'
        set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_texts:q $_csw_want:q'
        set _csw_value = "`$_csw_words`"
        if ("$_csw_value" != "") setenv _CUDASWITCH_KEPT "${_csw_value:q}"
    endif
    if ("${_csw_record_OLD:q}" != "") setenv _CUDASWITCH_OLD "${_csw_record_OLD:q}"
    # Keep this record: folders that the user has added since may be removed again.
    if ("$_csw_LD" == unset && "${_csw_LD_LIBRARY_PATH:q}" != "") setenv _CUDASWITCH_LD unset
    if ("${_csw_record_LIB:q}" != "") then
        setenv _CUDASWITCH_LIB "${_csw_record_LIB:q}"
        if (! $_csw_ld_set) setenv _CUDASWITCH_LD unset
        set _csw_ld_set = 1
    endif
endif
if ("${_csw_record_GONE:q}" != "") setenv _CUDASWITCH_GONE "${_csw_record_GONE:q}"

if ("${_csw_new_PATH:q}" != "${_csw_PATH:q}") setenv PATH "${_csw_new_PATH:q}"
if ("${_csw_new_OLD:q}" != "${_csw__OLD_VIRTUAL_PATH:q}") then
    # A shell variable here, exported by other shells.
    unset _OLD_VIRTUAL_PATH
    if ($?_OLD_VIRTUAL_PATH) then
        setenv _OLD_VIRTUAL_PATH "${_csw_new_OLD:q}"
    else
        set _OLD_VIRTUAL_PATH = "${_csw_new_OLD:q}"
    endif
endif
if (! $_csw_ld_set) then
    unsetenv LD_LIBRARY_PATH
else if ("${_csw_new_LIB:q}" != "${_csw_LD_LIBRARY_PATH:q}") then
    setenv LD_LIBRARY_PATH "${_csw_new_LIB:q}"
endif

if ($?prompt) onintr
if ($#_csw_own) source "${_csw_texts:q}/own.csh"
unset _csw_*
