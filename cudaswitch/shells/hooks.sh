# shellcheck shell=dash disable=SC2016,SC2317,SC2329,SC3013  # `names` in messages; conda calls
# The two halves of an environment's hook, and what conda calls when it has finished.

# The hook of an environment that is entered: owner (C or V), folder, toolkit, options, `auto` if
# that was requested, two paths in it that stay older than the pin until something is added that
# might bring CUDA, and what it brought when it was pinned.
__cudaswitch_enter() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    case $- in *a*) __cudaswitch_apart __cudaswitch_enter "$@" && return ;; esac
    _cudaswitch_here=1
    # The last prompt's environment may be back at the next prompt, and this one left unnoticed.
    case $1${_cudaswitch_seen:+x} in Vx) _cudaswitch_seen=entered ;; esac
    # Anything that is put before ours until that prompt stays there.
    case ${_cudaswitch_seen-} in ?*) _cudaswitch_entered=${CONDA_PREFIX-}\|${VIRTUAL_ENV-} ;; esac
    \local __csw _csw_tried _csw_auto _csw_plain _csw_brought _csw_search _csw_ld _csw_ld_set _csw_moved
    _csw_tried='' _csw_auto=${5-} _csw_plain='' _csw_brought=''
    # What direnv and the like have restored since the last prompt is not the user's, and what they
    # have saved since then contains what is applied now.
    case ${_cudaswitch_keepers:+$_cudaswitch_keepers${DIRENV_DIFF-}${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}} in
        '' | \|) ;;
        *) __cudaswitch_keepers ;;
    esac
    if [ -n "${6-}" ] && [ "$2/etc/cudaswitch/want" -nt "$2/$6" ] \
        && [ "$2/etc/cudaswitch/want" -nt "$2/$7" ] \
        && ! [ -e "${PYTHONUSERBASE:-${HOME-}/.local}/$6" ]; then
        _csw_auto=''
        case ${8-}${CONDA_PREFIX-}${VIRTUAL_ENV-} in
            "$2") _csw_plain=$2 ;;
            "${8:-/}$2") _csw_brought=$8 ;;
        esac
    fi
    case ${_cudaswitch_left-} in 0*) __cudaswitch_returned ;; esac
    case ${_CUDASWITCH_GONE:+${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_OLD_VIRTUAL_PATH-}/} in
        /) if __cudaswitch_ungone; then _csw_tried=ungone; fi ;;
    esac
    # As one word: bash copies a function at each call, word by word.
    case ${4-}$_csw_auto${CUDASWITCH_VERSION-}${_CUDASWITCH_U-}${_CUDASWITCH_X-}${_CUDASWITCH_C-}\
${_CUDASWITCH_V-}${_CUDASWITCH_D-}${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-}\
${_OLD_VIRTUAL_PATH-}${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x} in
        '') __csw=${_csw_brought:+besides} __csw=${__csw:-plainly} ;;
        *)
            case ${4:+${4##cc=*}}$_csw_auto${CUDASWITCH_VERSION-}${_CUDASWITCH_U-}${_CUDASWITCH_X-}${_CUDASWITCH_C-}\
${_CUDASWITCH_V-}${_CUDASWITCH_D-}${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-} in
                '') __csw=besides ;;
                *) __csw='' ;;
            esac
            ;;
    esac
    case $__csw in
        ?*)
            _csw_search=${PATH-} _csw_ld=${LD_LIBRARY_PATH-} _csw_ld_set=${LD_LIBRARY_PATH+set}
            if "__cudaswitch_$__csw" "$3" "$3${4:+:$4}:env=$2"; then
                \export "_CUDASWITCH_$1=$3${4:+:$4}:env=$2"
                # The short way found that conda keeps nothing, even of the environment that was
                # left.
                case $_csw_tried in ungone) _cudaswitch_undone='' ;; esac
                return 0
            fi
            # It has examined the environment, which need not be repeated.
            _csw_tried=1
            ;;
        *) _csw_tried='' ;;
    esac
    __cudaswitch_entered "$@"
}

# The same, whatever is applied or set already.
__cudaswitch_entered() {
    \local _csw_home _csw_flags
    _csw_home=$3${4:+:$4}
    if [ -n "${5-}" ] && __cudaswitch_globbing __cudaswitch_newer "$2" "$2/etc/cudaswitch/want"; then
        if [ -x "${_cudaswitch_program-}" ]; then
            # If Ctrl-C interrupts the question, the prompt asks it again.
            _cudaswitch_news=asking
            _csw_home=$("$_cudaswitch_program" want --environment "$2") || _csw_home=$3${4:+:$4}
            _cudaswitch_news=''
        elif [ -t 2 ]; then
            printf 'cudaswitch: the packages of `%s` may have changed since it was pinned\n' "$2" >&2
            printf 'hint: cudaswitch pin auto\n' >&2
        fi
    fi
    case ${_cudaswitch_root:+loaded}${CUDASWITCH_VERSION:+:} in
        :)
            __cudaswitch_said "$_csw_home"
            _csw_home=$__csw
            ;;
        # The prompt would look at CUDASWITCH_VERSION, but in a script none comes.
        loaded:)
            # It may be set for this command alone, as in `CUDASWITCH_VERSION=12.4 conda activate tf`.
            _cudaswitch_seen=${_cudaswitch_seen:+${_cudaswitch_seen%\|*}\|$CUDASWITCH_VERSION}
            __cudaswitch_said "${_CUDASWITCH_X-}"
            case $__csw in ?*) \export "_CUDASWITCH_X=$__csw" ;; esac
            ;;
        loaded) \unset _CUDASWITCH_X ;;
    esac
    if [ "$_csw_home" != system ] && ! __cudaswitch_there "${_csw_home%%:*}"; then
        __cudaswitch_otherwise "$_csw_home" "$2"
        _csw_home=$__csw
    fi
    # The conda environment that was left had a toolkit, and this one has variables of its own.
    _csw_flags=${_cudaswitch_undone_cc-}${_cudaswitch_undone_xla-}
    case ${1#V}${_cudaswitch_undone:+:${LD_LIBRARY_PATH-}|${CUDA_HOME-}${CUDA_PATH-}${CUDACXX-}$_csw_flags} in
        "C" | "C:${_cudaswitch_ld_was-}|") ;;
        C:*) __cudaswitch_forget ;;
    esac
    \export "_CUDASWITCH_$1=${_csw_home}:env=$2"
    __cudaswitch_settle
}

# __csw = the answer to the pin of the environment $2, if the toolkit of its want $1 is gone:
# somebody else may have pinned it, and this user's store may have another. Otherwise `gone`.
__cudaswitch_otherwise() {
    __csw=''
    if [ -x "${_cudaswitch_program-}" ]; then
        __csw=$("$_cudaswitch_program" want --file "$2/etc/cudaswitch/pin" 2> /dev/null) || __csw=''
    fi
    case $__csw in system | /*) return 0 ;; esac
    if [ -t 2 ]; then
        printf 'cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n' "${1%%:*}" "$2" >&2
    fi
    __csw=gone
}

# __csw = the ready answer to CUDASWITCH_VERSION, which is stronger than a pin: in a script, nothing
# else follows it. $1 if there is none.
__cudaswitch_said() {
    \local _csw_file IFS
    __csw=$1 IFS=''
    # As in paths.home, except for `~user`, which only Python can resolve, and relative paths, which
    # would be looked for in any directory.
    case ${XDG_DATA_HOME-} in /*) _csw_file=$XDG_DATA_HOME ;; *) _csw_file=${HOME-}/.local/share ;; esac
    _csw_file=${CUDASWITCH_HOME:-$_csw_file/cudaswitch}
    case $_csw_file in \~/*) _csw_file=${HOME-}/${_csw_file#??} ;; esac
    case $_csw_file in /*) ;; *) return 0 ;; esac
    case $CUDASWITCH_VERSION in
        system) __csw=system && return 0 ;;
        .* | -* | *[!A-Za-z0-9._+'<>=!,'-]*) return 0 ;;
    esac
    _csw_file=$_csw_file/requests/$CUDASWITCH_VERSION
    if [ -f "$_csw_file" ] && \read -r _csw_file < "$_csw_file" \
        && __cudaswitch_there "${_csw_file%%:*}"; then
        __csw=$_csw_file
    fi
}

# The hook of an environment that is left: owner (C or V), folder. A is not an owner: it stands for
# changes by one of the environment's scripts.
__cudaswitch_leave() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    case $- in *a*) __cudaswitch_apart __cudaswitch_leave "$@" && return ;; esac
    \local _csw_before _csw_now _csw_repaired __csw _csw_left _csw_path _csw_brought
    # shellcheck disable=SC2034  # bundled.sh reads it
    _csw_left=$2 _csw_before=${_CUDASWITCH_BIN-} _csw_repaired='' _cudaswitch_gave='' _csw_brought=''
    _csw_path=$PATH
    _cudaswitch_undone=${_CUDASWITCH_ON-} _cudaswitch_undone_lib=${_CUDASWITCH_LIB-}
    _cudaswitch_undone_cc=${_CUDASWITCH_CC-} _cudaswitch_undone_xla=${_CUDASWITCH_XLA-}
    _cudaswitch_undone_kept=${_CUDASWITCH_KEPT-}
    case $1 in V) _cudaswitch_undone='' ;; esac
    # If the environment below was active at the last prompt, nothing else tells the next one. Not
    # empty: that would mean that the integration is not loaded.
    _cudaswitch_seen=${_cudaswitch_seen:+left}
    \unset "_CUDASWITCH_$1"
    # On the way back from an environment above, this one's hook has checked again what conda keeps,
    # unless it was unpinned in the meantime.
    if [ -f "$2/etc/conda/activate.d/~~cudaswitch.sh" ]; then
        __cudaswitch_restore "$1"
    else
        __cudaswitch_restore
    fi || __cudaswitch_settle
    case $1:${CONDA_SHLVL-}:${CONDA_STACKED_2-} in
        # Tools that count no levels, such as conda-pack, do not compute PATH ahead.
        V:* | [CA]::* | [CA]:0:*) return 0 ;;
        [CA]:[12]:) _cudaswitch_stood='' ;;
        *) _cudaswitch_stood=x ;;
    esac
    # If nothing tells when conda has finished, the next hook or prompt repairs instead.
    if __cudaswitch_attend; then _csw_repaired=1 _cudaswitch_left=${_cudaswitch_left:-x}; fi
    case $_csw_repaired$_cudaswitch_stood in x) __cudaswitch_below ;; esac
    # On a switch between environments and on reactivation, conda goes on to export a PATH that it
    # computed before this hook ran: remember what that brings back, and what is applied now, which
    # it removes. On a plain deactivation, the environment's folder is gone from PATH already, ours
    # is not, and nothing comes back.
    case $_csw_repaired${_cudaswitch_root:+1} in
        '')
            case :$PATH:\|:$_csw_path: in
                *":$2/bin:"*\|*) ;;
                *\|*":/${_csw_before#*/}:"*) _csw_before='' ;;
            esac
            ;;
    esac
    _csw_now=${_CUDASWITCH_BIN-}
    case $_csw_now:$_csw_before in
        :) return 0 ;;
        :*)
            __csw=/${_csw_before#*/}
            case $_csw_repaired:$PATH: in
                *":$__csw:"*) __cudaswitch_record "$PATH" "$__csw" ;;
                [!1]* | *":$2/bin:"*) __csw=0$__csw ;;
                # That folder is also missing if a login shell rebuilt PATH: the repair can tell.
                *)
                    _cudaswitch_left=0$__csw
                    return 0
                    ;;
            esac
            ;;
        *) __cudaswitch_record "$PATH" "${_csw_before:+/${_csw_before#*/}:}/${_csw_now#*/}" ;;
    esac
    \export "_CUDASWITCH_GONE=$__csw"
}

# Take up the next pinned environment below the active one, as if it were entered: when an
# environment is left, conda itself runs only the hook of the next one, which may have none. If
# conda tells when it has finished, this waits until then: other scripts of the environment that is
# left undo their changes later.
__cudaswitch_below() {
    \local _csw_rest _csw_env _csw_prefix
    __cudaswitch_stack
    _csw_rest=$__csw _csw_prefix=${CONDA_PREFIX-}
    while [ -n "$_csw_rest" ]; do
        _csw_env=${_csw_rest%%:*} _csw_rest=${_csw_rest#*:}
        if [ -f "$_csw_env/etc/conda/activate.d/~~cudaswitch.sh" ]; then
            CONDA_PREFIX=$_csw_env
            # shellcheck disable=SC1091  # found at run time
            \. "$_csw_env/etc/conda/activate.d/~~cudaswitch.sh"
            CONDA_PREFIX=$_csw_prefix
            # That hook has examined its own environment; the active one may bring more.
            __cudaswitch_settle
            return 0
        fi
    done
}

# Redefine the function that conda and mamba call once when they have finished; fails if there is
# none. If the hook of the active environment has just run, nothing is left to do. `export -f` may
# pass the function without ours to a child shell, where unexported variables are not set. (zsh
# before 5.3 knows `command -v` only without a backslash.)
__cudaswitch_attend() {
    if [ -n "${_cudaswitch_conda-}" ] || command -v __conda_hashr > /dev/null; then
        _cudaswitch_conda=1
        __conda_hashr() {
            case ${_cudaswitch_undone+x}${_CUDASWITCH_GONE:+x}${_cudaswitch_stood-}${_cudaswitch_left:+x}:\
${_cudaswitch_seen:+x}${_cudaswitch_entered:+${_CUDASWITCH_C-}} in
                xx*) __cudaswitch_repair ;;
                *":env=${CONDA_PREFIX-}") \hash -r ;;
                *:x*) __cudaswitch_hashed ;;
                *) case ${_cudaswitch_taken-} in '') \hash -r ;; *) __cudaswitch_finish ;; esac ;;
            esac
        }
        # Also look for mamba's if its variables are set, or if no prompt would make up for it.
        case ${MAMBA_EXE-}${MAMBA_ROOT_PREFIX-}${_cudaswitch_root:+:} in
            :) ;;
            *) __cudaswitch_mamba || : ;;
        esac
    else
        __cudaswitch_mamba
    fi
}

# mamba's counterpart of __conda_hashr. mamba's own hook sets no variable; its installer does.
__cudaswitch_mamba() {
    command -v __mamba_hashr > /dev/null || return 1
    __mamba_hashr() {
        case ${_cudaswitch_undone+x}${_CUDASWITCH_GONE:+x}${_cudaswitch_stood-}${_cudaswitch_left:+x}:\
${_cudaswitch_seen:+x}${_cudaswitch_entered:+${_CUDASWITCH_C-}} in
            xx*) __cudaswitch_repair ;;
            *":env=${CONDA_PREFIX-}") \hash -r ;;
            *:x*) __cudaswitch_hashed ;;
            *) case ${_cudaswitch_taken-} in '') \hash -r ;; *) __cudaswitch_finish ;; esac ;;
        esac
    }
}

# The same in a script, which has no integration. A script that restores CUDA_HOME from a copy that
# is gone unsets it, and other variables with it, though the toolkit stays applied.
__cudaswitch_finish() {
    case ${_CUDASWITCH_ON:+:${CUDA_HOME-}} in :) __cudaswitch_settle ;; esac
    \unset _cudaswitch_taken
    \hash -r
}

# conda has finished, and no hook of an environment that was left has run. An environment without a
# hook is looked at now, also if no prompt comes before the next command, or if it is stacked on a
# pinned one. An environment that stays active may have scripts that removed something.
__cudaswitch_hashed() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    case $- in *a*) __cudaswitch_apart __cudaswitch_hashed && return ;; esac
    _cudaswitch_seen=${_cudaswitch_seen%\|finished}\|finished
    case ${_CUDASWITCH_C-} in *":env=${CONDA_PREFIX-}") ;; *) __cudaswitch_look || : ;; esac
    \hash -r
}

# Remove from what conda keeps what was applied in the environment that was left.
__cudaswitch_forget() {
    \local _csw_theirs
    _csw_theirs=${_cudaswitch_undone_kept-}
    __cudaswitch_copies LD_LIBRARY_PATH "$_cudaswitch_undone_lib" ''
    __cudaswitch_scalars forget "$_cudaswitch_undone"
    _cudaswitch_undone=''
}

# conda has finished: what it keeps dates from before the hook of the environment that was left.
__cudaswitch_finished() {
    \local __csw
    __cudaswitch_kept
    case ${_cudaswitch_undone_cc-}${_cudaswitch_undone_xla-} in
        ?*) if __cudaswitch_flags_kept; then __csw=flags; fi ;;
    esac
    case $__csw in
        '') _cudaswitch_undone='' ;;
        *) __cudaswitch_forget ;;
    esac
}

# CUDASWITCH_VERSION may have been a variable of the environment that was left, and gone with it.
__cudaswitch_unsaid() {
    \local __csw
    __csw=''
    case ${CUDASWITCH_VERSION-} in ?*) __cudaswitch_said "$_CUDASWITCH_X" ;; esac
    case $__csw in
        "$_CUDASWITCH_X") return 0 ;;
        '') \unset _CUDASWITCH_X ;;
        *) \export "_CUDASWITCH_X=$__csw" ;;
    esac
    __cudaswitch_settle
}

# Is the toolkit that was left on PATH? Then it has come back, unless it is applied now.
__cudaswitch_returned() {
    \local _csw_bin
    _csw_bin=${_CUDASWITCH_BIN-}
    __cudaswitch_record "$PATH" "${_cudaswitch_left#0}"
    case $__csw:/${_csw_bin#*/} in
        0/* | "1${_cudaswitch_left#0}:${_cudaswitch_left#0}") ;;
        *) \export "_CUDASWITCH_GONE=${_CUDASWITCH_GONE:+$_CUDASWITCH_GONE:}$_cudaswitch_left" ;;
    esac
    _cudaswitch_left=x
}

# Remove from PATH what conda may have brought back, as _CUDASWITCH_GONE has it.
__cudaswitch_cleared() {
    case ${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}${_OLD_VIRTUAL_PATH-} in
        '') if __cudaswitch_ungone; then return 0; fi ;;
    esac
    case "$_CUDASWITCH_GONE|${_CUDASWITCH_ON-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}|:$PATH:" in
        *":${_CUDASWITCH_GONE#0}:"*) __cudaswitch_settle ;;
        "0${_CUDASWITCH_GONE#0}||"*)
            case $_CUDASWITCH_GONE in *:*) __cudaswitch_settle ;; *) \unset _CUDASWITCH_GONE ;; esac
            ;;
        *) __cudaswitch_settle ;;
    esac
}

# conda has finished: remove what its own PATH brought back, usually nothing.
__cudaswitch_repair() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    case $- in *a*) __cudaswitch_apart __cudaswitch_repair && return ;; esac
    \local _csw_brought __csw
    _csw_brought='' __csw=''
    # conda keeps no further copies when it leaves the last environment.
    case ${_cudaswitch_undone:+${CONDA_SHLVL-}} in
        '' | 0) _cudaswitch_undone='' ;;
        *) __cudaswitch_finished ;;
    esac
    case ${_cudaswitch_stood-}${_CUDASWITCH_C-} in x) __cudaswitch_below ;; esac
    case ${_cudaswitch_left-} in
        0*) case :$PATH: in *":${_cudaswitch_left#0}:"*) __cudaswitch_returned ;; esac ;;
    esac
    _cudaswitch_stood='' _cudaswitch_left=''
    case ${_CUDASWITCH_X-} in ?*) __cudaswitch_unsaid ;; esac
    case ${_CUDASWITCH_GONE-} in ?*) __cudaswitch_cleared ;; esac
    # An active environment without a hook is looked at, as after any other. If none is active, and
    # nothing is applied or asked for here, the prompt is early enough.
    case ${_CUDASWITCH_C:+hook}${_cudaswitch_seen:+:}${CONDA_PREFIX-}${_CUDASWITCH_ON-} in
        :?*) __cudaswitch_look || : ;;
        :) if [ -f "$_cudaswitch_root/global" ] || __cudaswitch_file; then __cudaswitch_look || :; fi ;;
    esac
    # Last: the status of this becomes that of conda's command.
    \hash -r
}
