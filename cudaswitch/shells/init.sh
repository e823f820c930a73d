# shellcheck shell=bash disable=SC1090,SC2016,SC2154  # zsh runs it too; hooks are found at run time; `shells.init` sets
# What `cudaswitch init` adds to core.sh in bash and zsh, beside command.sh: the look that the
# prompt takes when the environment or directory has changed. $_cudaswitch_program is the command
# itself, which need not be on an environment's PATH.

# Run the command. If it has been moved, or reinstalled elsewhere, run the one on PATH, which
# rewrites the ready files.
__cudaswitch_run() {
    \local _csw_program
    _csw_program=$_cudaswitch_program
    if ! [ -x "$_csw_program" ]; then
        case ${ZSH_VERSION-} in
            '') _csw_program=$(\type -P cudaswitch) ;;
            *) _csw_program=$(\whence -p cudaswitch) ;;
        esac || {
            printf 'cudaswitch: `%s` is gone, and no other is on PATH\n' "$_cudaswitch_program" >&2
            printf 'hint: reinstall cudaswitch and run cudaswitch init --install, or remove its marked lines from the startup file\n' >&2
            return 127
        }
    fi
    "$_csw_program" "$@"
}

# __csw = the content of the file $1, for comparison.
__cudaswitch_content() {
    __csw=''
    # A pipe, for example, would block.
    if ! { [ -f "$1" ] && [ -r "$1" ]; }; then return 0; fi
    # It may be of any length, also in a repository that somebody cloned.
    if [ -z "${ZSH_VERSION-}" ]; then
        # This also ends at a zero byte, and then does not fail.
        if IFS= \read -r -d '' -n 4096 __csw < "$1"; then __csw=$__csw:more; fi
    elif \read -r -u 0 -k 4096 __csw < "$1"; then
        __csw=$__csw:more
    fi
}

# Has the version file that decides changed, or is there a nearer one? Not asked if something
# stronger decides.
__cudaswitch_edited() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    \local __csw
    if [ -n "${_CUDASWITCH_U-}${_CUDASWITCH_X-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then return 1; fi
    if [[ -f .cuda-version && ${_cudaswitch_file-} != "$PWD/.cuda-version" ]]; then return 0; fi
    if [ -z "${_cudaswitch_file-}" ]; then return 1; fi
    __cudaswitch_content "$_cudaswitch_file"
    [[ $__csw != "$_cudaswitch_text" || ! -f $_cudaswitch_file ]]
}

# __csw = the want of the frameworks in the environment $1; fails if they have none. Called only within
# __cudaswitch_look.
__cudaswitch_framework() {
    \local _csw_code _csw_answer
    _csw_code=0
    __cudaswitch_globbing __cudaswitch_automatic "$1" || _csw_code=$?
    # Python's kept answer is older than the packages: ask again, unless Python cannot rewrite it.
    # Even the same toolkit may need another part applied then, as packages bring their own CUDA.
    case $_csw_code${_cudaswitch_unkept-} in "2$1") ;; 2*) _cudaswitch_asked='' _csw_moved=1 ;; esac
    if [ "$_csw_code" -ne 0 ]; then
        __cudaswitch_ask_once "$1" --environment "$1"
        _csw_answer=$__csw _cudaswitch_unkept=''
        __cudaswitch_globbing __cudaswitch_automatic "$1" || _cudaswitch_unkept=$1
        __csw=$_csw_answer
    fi
    [ -n "$__csw" ]
}

# __csw = Python's answer to the rest of the arguments. Python is asked, and complains, once as long
# as $1 and what is installed are the same, not at every step within a tree.
__cudaswitch_ask_once() {
    \local _csw_about _csw_level
    # powerlevel10k warns about output while its instant prompt is shown.
    _csw_level=${__p9k_instant_prompt_active:+1}${ZSH_SUBSHELL-}
    __cudaswitch_content "$_cudaswitch_root/requests/.fingerprint"
    _csw_about=$1:$__csw
    case ${_cudaswitch_answer-} in
        /*) if ! __cudaswitch_there "${_cudaswitch_answer%%:*}"; then _cudaswitch_asked=''; fi ;;
    esac
    if [ "$_csw_about" != "${_cudaswitch_asked-}" ]; then
        shift
        _cudaswitch_asked=interrupted _cudaswitch_news=asking
        # zsh asks in subshells, too, and each would repeat the complaint.
        if _cudaswitch_answer=$(
            case $_csw_level in [1-9]*) \exec 2> /dev/null ;; esac
            __cudaswitch_run want "$@"
        ); then
            _cudaswitch_asked=$_csw_about
        else
            # Killed by a signal, or the complaint unseen: ask again, but after Ctrl-C not at once.
            case ${__p9k_instant_prompt_active:+unseen}$? in
                130) ;;
                unseen* | 129 | 1[3-9]? | 2??) _cudaswitch_asked=unseen ;;
                *) _cudaswitch_asked=$_csw_about ;;
            esac
            _cudaswitch_answer=''
        fi
    fi
    __csw=$_cudaswitch_answer
}

# Drop what belongs to an environment that was left, and run the hook of an active one if it has not
# run, because its activate script was rewritten or bypassed.
__cudaswitch_environments() {
    \local _csw_env _csw_hook _csw_venv __csw
    # If the toolkit is gone, the hook runs again to say so, and to undo it.
    case ${_CUDASWITCH_ON-} in
        /*) [ -d "${_CUDASWITCH_ON%%:*}/." ] || \unset _CUDASWITCH_C _CUDASWITCH_V ;;
    esac
    __cudaswitch_virtualenv
    _csw_env=${_CUDASWITCH_V-} _csw_venv=$__csw
    # It may have been unpinned in another terminal.
    if [ -n "$_csw_env" ] && { [ "${_csw_env##*:env=}" != "$_csw_venv" ] \
        || ! [ -f "$_csw_venv/etc/cudaswitch/on.sh" ]; }; then
        \unset _CUDASWITCH_V
    fi
    _csw_env=${_CUDASWITCH_C-}
    if [ -n "$_csw_env" ] \
        && ! [ -f "${_csw_env##*:env=}/etc/conda/activate.d/~~cudaswitch.sh" ]; then
        \unset _CUDASWITCH_C
    elif [ -n "$_csw_env" ] && [ "${_csw_env##*:env=}" != "${CONDA_PREFIX-}" ]; then
        # Below a stacked environment, this one is still active.
        __cudaswitch_stack
        case ${CONDA_PREFIX:+:$__csw} in
            *":${_csw_env##*:env=}:"*) ;;
            *) \unset _CUDASWITCH_C ;;
        esac
    fi
    # A relative path would be looked for in any directory; a layer has the hook of the one below.
    _csw_hook=$_csw_venv/etc/cudaswitch/on.sh
    case ${_CUDASWITCH_V:+none}$_csw_venv in
        /*) if [ -f "$_csw_hook" ]; then \. "$_csw_hook"; fi ;;
    esac
    _csw_hook="${CONDA_PREFIX-}/etc/conda/activate.d/~~cudaswitch.sh"
    case ${_CUDASWITCH_C:+none}${CONDA_PREFIX-} in
        /*) if [ -f "$_csw_hook" ]; then \. "$_csw_hook"; fi ;;
    esac
    # The environments below a stacked one are still active.
    case ${_CUDASWITCH_C:+none}${CONDA_SHLVL:-0}:${CONDA_STACKED_2-} in
        none* | [012]:) ;;
        *) __cudaswitch_below ;;
    esac
}

# Before the first prompt: has CUDA_HOME changed since our line, is the toolkit's `bin` off PATH, or
# an nvcc before it?
__cudaswitch_overlaid() {
    \local _csw_rest
    case $_cudaswitch_fresh in "${CUDA_HOME-}|"*) ;; *) return 0 ;; esac
    _csw_rest=:${PATH-}:
    case $_csw_rest in *":/${_CUDASWITCH_BIN#*/}:"*) ;; *) return 0 ;; esac
    _csw_rest=${_csw_rest%%":/${_CUDASWITCH_BIN#*/}:"*}:
    _csw_rest=${_csw_rest#:}
    while [ -n "$_csw_rest" ]; do
        if [ -x "${_csw_rest%%:*}/nvcc" ]; then return 0; fi
        _csw_rest=${_csw_rest#*:}
    done
    return 1
}

# Before the first prompt: VS Code prepends once more what an activation in a shell of its own has
# put on PATH. Remove one of two copies: the look that follows removes and adds its own.
__cudaswitch_surplus() {
    case $PATH: in
        "/${_CUDASWITCH_BIN#*/}:${VIRTUAL_ENV:-${CONDA_PREFIX-}}/bin"*":/${_CUDASWITCH_BIN#*/}:"*)
            PATH=${PATH#*:} _cudaswitch_seen=''
            ;;
    esac
}

# Take up what CUDASWITCH_VERSION asks for.
__cudaswitch_version() {
    # If Ctrl-C interrupts the question, the prompt asks it again.
    _cudaswitch_news=asking
    if [ -n "${CUDASWITCH_VERSION-}" ] && { __cudaswitch_ready "$CUDASWITCH_VERSION" \
        || __cudaswitch_lent "$CUDASWITCH_VERSION" \
        || __cudaswitch_globbing __cudaswitch_auto "$CUDASWITCH_VERSION" '' \
        || __csw=$(__cudaswitch_run want -- "$CUDASWITCH_VERSION"); }; then
        \export "_CUDASWITCH_X=$__csw"
    else
        \unset _CUDASWITCH_X
    fi
}

# This shell has inherited what is applied. If it is as a short way leaves it, what follows it is
# what was there before, and the short way back is known. Not so for a list within an environment: a
# script that appended to it may have saved the rest.
__cudaswitch_inherited() {
    \local _csw_home _csw_lib _csw_ld
    _csw_home=${_CUDASWITCH_ON%%:*} _csw_ld=${LD_LIBRARY_PATH-}
    case $_CUDASWITCH_ON:${_cudaswitch_plain-}${_cudaswitch_besides-}${_CUDASWITCH_XLA-}\
${_CUDASWITCH_CC-}${_CUDASWITCH_KEPT-}${_CUDASWITCH_UNEXPORTED-} in
        "$_csw_home:nvcc:" | "$_csw_home:env="*:nvcc:) ;;
        *) return 0 ;;
    esac
    _csw_lib=$_csw_home/extras/CUPTI/lib64
    case ${_CUDASWITCH_LIB-}\|$_csw_ld: in
        "|"*) _csw_lib='' ;;
        "0$_csw_home/lib64|$_csw_home/lib64:"*) _csw_lib=$_csw_home/lib64 ;;
        "0$_csw_home/lib64:0$_csw_lib|$_csw_home/lib64:$_csw_lib:"*)
            _csw_lib=$_csw_home/lib64:$_csw_lib
            ;;
        *) return 0 ;;
    esac
    _csw_ld=${_csw_ld#"$_csw_lib"}
    case ${_csw_lib:+${_csw_ld:+x}}:${CONDA_PREFIX-}${VIRTUAL_ENV-} in x:?*) return 0 ;; esac
    _cudaswitch_ld=${LD_LIBRARY_PATH-} _cudaswitch_ld_was=${_csw_ld#:} _cudaswitch_ld_was_set=exported
    case $_cudaswitch_ld_was${_CUDASWITCH_LD-} in unset) _cudaswitch_ld_was_set='' ;; esac
    _cudaswitch_besides=$_csw_home:$_csw_home:$_csw_home:$_csw_home/bin/nvcc
}

# Find out what besides the directory may have changed since the last look: $_csw_moved is empty if
# what is applied stays. Called only by __cudaswitch_look.
__cudaswitch_surroundings() {
    case ${_cudaswitch_left-} in 0*) __cudaswitch_returned ;; esac
    _cudaswitch_left=''
    case ${_cudaswitch_seen-}:$_csw_before in :?*) __cudaswitch_inherited ;; esac
    # Whatever started this shell may have chosen its GPUs, as Slurm does.
    case ${_cudaswitch_gpus+x}$_csw_before: in
        x* | *":gpus=${CUDA_VISIBLE_DEVICES-}:"*) ;;
        *:gpus=*) _cudaswitch_gpus=${CUDA_VISIBLE_DEVICES-} ;;
    esac
    \: "${_cudaswitch_gpus=}"
    case ${_cudaswitch_seen-} in
        "${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*"|finished") __cudaswitch_lost || _csw_moved='' ;;
        "${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*) _csw_moved='' ;;
        *)
            # `auto`, or an alias for it, depends on the environment.
            case ${_cudaswitch_asked-} in */.cuda-version:[0-9\<\>=~!]*) ;; *) _cudaswitch_asked='' ;; esac
            # Has a hook settled for these?
            case ${_cudaswitch_entered-} in "${CONDA_PREFIX-}|${VIRTUAL_ENV-}") _csw_moved='' ;; esac
            case ${CONDA_PREFIX-} in ?*) __cudaswitch_attend || : ;; esac
            ;;
    esac
    # mise may set the variables of a tree, or PATH alone, again without notice.
    case $_cudaswitch_keepers${DIRENV_DIFF-}${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-} in
        \|) ;;
        *) __cudaswitch_keepers ;;
    esac
    case ${_cudaswitch_undone-} in ?*) __cudaswitch_finished ;; esac
    case ${_CUDASWITCH_V-}${_CUDASWITCH_C-}${VIRTUAL_ENV-}${CONDA_PREFIX-} in
        ?*) __cudaswitch_environments ;;
    esac
    case ${_cudaswitch_seen%\|finished} in
        "${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*"|${CUDASWITCH_VERSION-}") ;;
        *"|${CUDASWITCH_VERSION-}")
            # `auto`, or an alias for it, depends on the environment. A refusal is reported once.
            case ${CUDASWITCH_VERSION-}:${_CUDASWITCH_X-} in
                auto:*) __cudaswitch_version ;;
                system:* | latest:* | [!A-Za-z]* | *[!A-Za-z0-9._+-]*:* | *:) ;;
                *) __cudaswitch_version ;;
            esac
            ;;
        *) __cudaswitch_version ;;
    esac
}

# __csw = what the version file that decides asks for, where that is no ready answer to its text.
__cudaswitch_of_file() {
    case $_cudaswitch_text in
        # `read` skips a zero byte, which Python refuses.
        *:more) \false ;;
        *) __cudaswitch_globbing __cudaswitch_read "$_cudaswitch_file" ;;
    esac || __cudaswitch_ask_once "$_cudaswitch_file:$_cudaswitch_text" --file "$_cudaswitch_file"
}

# __csw = what the frameworks of the active environment ask for, else the user.
__cudaswitch_without_file() {
    if __cudaswitch_active && __cudaswitch_framework "$__csw"; then return 0; fi
    __csw=''
    if [ -f "$_cudaswitch_root/global" ] \
        && ! __cudaswitch_globbing __cudaswitch_read "$_cudaswitch_root/global"; then
        __cudaswitch_content "$_cudaswitch_root/global"
        __cudaswitch_ask_once "global:$__csw" --file "$_cudaswitch_root/global"
    fi
}

# Python has refused a version file: that is reported again on the next visit to its tree.
__cudaswitch_refused() {
    case $_cudaswitch_asked in
        "${_cudaswitch_file:-none}:"*) ;;
        */.cuda-version:*) _cudaswitch_asked='' ;;
    esac
}

# Take up what the environment, the directory or the user asks for, and settle.
__cudaswitch_look() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    case $- in *a*) __cudaswitch_apart __cudaswitch_look && return ;; esac
    \local __csw _csw_before _csw_moved _csw_brought _csw_search _csw_ld _csw_ld_set
    case ${CUDASWITCH_HOME:-$_cudaswitch_store} in "$_cudaswitch_root") ;; *) __cudaswitch_store ;; esac
    _csw_before=${_CUDASWITCH_ON-} _csw_moved=1 _csw_brought='' _cudaswitch_news=begun
    # Usually only the directory has changed.
    case ${_cudaswitch_gpus+x}\|${CONDA_PREFIX-}${VIRTUAL_ENV-}${CUDASWITCH_VERSION-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}\
${_cudaswitch_undone-}\|${DIRENV_DIFF-}${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}\|${_cudaswitch_keepers-}\|${_cudaswitch_seen-} in
        "x|||||||/"*"|") _csw_moved='' ;;
        *) __cudaswitch_surroundings ;;
    esac
    case ${_CUDASWITCH_X-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}:${_CUDASWITCH_U-} in
        :)
            # _CUDASWITCH_D: what the directory asks for, else the frameworks of the active
            # environment, else the user. $_cudaswitch_file is the version file of the directory.
            # What is usual is inline, as a function call takes zsh as long as ten commands.
            \unset _CUDASWITCH_D
            # As __cudaswitch_file does.
            _cudaswitch_file='' _cudaswitch_text='' __csw=$PWD _csw_search=${HOME-} _csw_search=${_csw_search%/}
            until [[ -f $__csw/.cuda-version || $__csw = "$_csw_search" || $__csw != /* ]]; do
                __csw=${__csw%/*}
            done
            if [[ -f $__csw/.cuda-version ]]; then
                _cudaswitch_file=$__csw/.cuda-version
                if [[ -n ${ZSH_VERSION-} && -r $_cudaswitch_file ]]; then
                    if \read -r -u 0 -k 4096 _cudaswitch_text < "$_cudaswitch_file"; then
                        _cudaswitch_text=$_cudaswitch_text:more
                    fi
                else
                    __cudaswitch_content "$_cudaswitch_file"
                    _cudaswitch_text=$__csw
                fi
                # Nearly all hold one version. Whether another owner's file counts, Python decides.
                { [ -O "$_cudaswitch_file" ] && ! [ -L "$_cudaswitch_file" ] \
                    && __cudaswitch_ready "${_cudaswitch_text%$'\n'}"; } \
                    || __cudaswitch_of_file
            elif [[ -n ${VIRTUAL_ENV-}${CONDA_PREFIX-} || -f $_cudaswitch_root/global ]]; then
                __cudaswitch_without_file
            else
                __csw=''
            fi
            case $__csw in ?*) \export "_CUDASWITCH_D=$__csw" ;; esac
            case ${_cudaswitch_asked:+${_cudaswitch_answer-}:} in :) __cudaswitch_refused ;; esac
            ;;
        :*) __cudaswitch_strongest ;;
        *)
            \unset _CUDASWITCH_D
            _cudaswitch_file=''
            __cudaswitch_strongest
            ;;
    esac
    # Nothing is touched without a reason: users put their own folders before ours.
    case $_csw_moved${_CUDASWITCH_GONE-}\|$_csw_before in
        "|$__csw" | "|$__csw:nvcc") ;;
        *)
            case $__csw:${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-} in
                :) ;;
                :*) __cudaswitch_restore || __cudaswitch_settle ;;
                # Like the beginning of __cudaswitch_settle, without the call.
                *:)
                    _csw_search=${PATH-} _csw_ld=${LD_LIBRARY_PATH-} _csw_ld_set=${LD_LIBRARY_PATH+set}
                    case ${_OLD_VIRTUAL_PATH-}${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x} in
                        '') __cudaswitch_plainly "${__csw%%:*}" "$__csw" ;;
                        *) \false ;;
                    esac || __cudaswitch_settle "$__csw"
                    ;;
                *) __cudaswitch_settle "$__csw" ;;
            esac
            ;;
    esac
    # mise may set the same again at the next prompt.
    case ${__MISE_DIFF-} in
        ?*) _cudaswitch_keepers=${DIRENV_DIFF-}\|$__MISE_DIFF${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}\|${LD_LIBRARY_PATH-}${PATH-} ;;
    esac
    # Reporting is left to the prompt: this and the hooks run in scripts and subshells as well.
    _cudaswitch_news=1 _cudaswitch_entered=''
    case ${_CUDASWITCH_ON-}\|${_CUDASWITCH_LIB-} in "${_cudaswitch_told-}") _cudaswitch_news='' ;; esac
    case ${_cudaswitch_asked-} in
        interrupted) _cudaswitch_asked='' _cudaswitch_news=asking ;;
        unseen) _cudaswitch_asked='' ;;
        *) _cudaswitch_seen=${CONDA_PREFIX-}\|${VIRTUAL_ENV-}\|$PWD\|${CUDASWITCH_VERSION-} ;;
    esac
}

# Print one line on what is active now, if it differs from $1. $_cudaswitch_line is the name of the
# toolkit's folder, or its path if the name has no number, with a remark, or `/` for none. If stderr
# is closed, as a daemon's may be, `>&2` would end a zsh script.
__cudaswitch_tell() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    case $- in *a*) __cudaswitch_apart __cudaswitch_tell "$@" && return ;; esac
    _cudaswitch_told=${_CUDASWITCH_ON-}\|${_CUDASWITCH_LIB-} _cudaswitch_news='' \
        _cudaswitch_line=${_CUDASWITCH_ON:-/} _cudaswitch_line=${_cudaswitch_line%%:*}
    case ${_cudaswitch_line##*/} in *[0-9]*) _cudaswitch_line=${_cudaswitch_line##*/} ;; esac
    case ${_CUDASWITCH_LIB:+ours}${_CUDASWITCH_ON-} in
        ours*:cc=* | /*)
            \local __csw
            __cudaswitch_remark
            _cudaswitch_line=$_cudaswitch_line$__csw
            ;;
    esac
    if [[ -n ${ZSH_VERSION-} && ! -t 2 && ! -e /dev/fd/2 ]]; then return 0; fi
    case ${CUDASWITCH_QUIET:+quiet}$_cudaswitch_line in
        quiet* | "${1-}") ;;
        /) printf 'cudaswitch: no toolkit\n' >&2 || : ;;
        *) printf 'cudaswitch: CUDA %s\n' "${_cudaswitch_line#cuda-}" >&2 || : ;;
    esac
}

# A script may have loaded conda after our line, and has no prompt to notice it.
__cudaswitch_attend || :
