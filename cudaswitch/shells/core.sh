# shellcheck shell=dash
# The change and its exact undo, for bash, zsh, dash and every other POSIX shell with `local`.
#
# State lives in exported variables, so that child shells can undo:
#   _CUDASWITCH_U X C V D  what each owner wants: `use`, CUDASWITCH_VERSION, conda environment,
#                          virtualenv, directory (or user). HOME[:option]..., `system`,
#                          or `gone` for a pin whose toolkit no longer exists
#   _CUDASWITCH_ON         the want that is applied now
#   _CUDASWITCH_BIN OLD LIB  what it put into PATH, _OLD_VIRTUAL_PATH and LD_LIBRARY_PATH:
#                          COUNT/dir:COUNT/dir, COUNT = copies that were there before us
#   _CUDASWITCH_LD         `unset` if LD_LIBRARY_PATH was unset before us
#   _CUDASWITCH_KEPT       CONDA_SHLVL at that time, then, each after a colon, the variables of which
#                          conda had kept the same value or folder, so the user's own; a name with
#                          _CONDA_NVCC_BACKUP: conda's nvcc had kept it
#   _CUDASWITCH_CC XLA     the word that it put into NVCC_PREPEND_FLAGS, and into XLA_FLAGS
#   _CUDASWITCH_GONE       what a PATH computed earlier may bring back, in the form of BIN
#   _CUDASWITCH_WAS_NAME   the value of NAME before us, absent if it was unset
#   _CUDASWITCH_UNEXPORTED the names of variables that were set but not exported before us
#   _CUDASWITCH_PREVIOUS   what `use -` returns to; empty: no choice
# The rest is not exported, and lasts as long as this shell. In every shell:
#   _cudaswitch_here       our functions are defined in this very shell
#   _cudaswitch_all        `set -a` is switched off while these functions are read
#   _cudaswitch_test       in fish: a `test` that supports `-nt`
#   _cudaswitch_plain      CUDA_HOME:CUDA_PATH:CUDAToolkit_ROOT:CUDACXX as __cudaswitch_plainly set
#                          them; empty: undone in another way
#   _cudaswitch_besides    the same for __cudaswitch_besides
#   _cudaswitch_path       PATH right after that; _path_was: right before
#   _cudaswitch_ld         LD_LIBRARY_PATH right after; _ld_was: right before; _ld_was_set: empty if unset
#   _cudaswitch_under_NAME in fish: ours hides a universal variable
#   _cudaswitch_undone     the want that was applied when a conda environment was left, until conda has
#                          finished; _undone_lib, _cc, _xla, _kept: its LIB, CC, XLA and KEPT
#   _cudaswitch_gave       earlier values were restored then; _was_NAME: these values
#   _cudaswitch_stood      there may be a pinned environment below the one that was left
#   _cudaswitch_left       a hook has left an environment, and conda has not finished; in the form of BIN:
#                          what may be on PATH again then
#   _cudaswitch_conda      __conda_hashr is ours
# With the integration:
#   _cudaswitch_root       the store that answers; _store: the one that the integration was written for;
#                          _program: the command; _scripts: the folder with the completion script;
#                          _rest: the file of the integration that is not parsed yet
#   _cudaswitch_seen       environments|directory|version at the last look; _entered: the environments
#                          that a hook has settled for since
#   _cudaswitch_file       the version file that decides; _text: its content
#   _cudaswitch_asked      what Python was asked last; _answer: its answer; _unkept: the environment
#                          whose answer it cannot keep
#   _cudaswitch_taken      a script's copy of CUDA_HOME was removed: the script may unset CUDA_HOME then
#   _cudaswitch_gpus       the GPUs chosen by whatever started this shell
#   _cudaswitch_pythons    an environment and its Python folders; _sites: in fish, its package folders;
#                          _layer: VIRTUAL_ENV, and the environment that it counts as
#   _cudaswitch_told       what the prompt last reported; _line: in which words; _news: there is more to
#                          report, or a look has begun, or is asking
#   _cudaswitch_keepers    which tools keep variables now (direnv and the like); _then: the wants that were
#                          applied then; _then_bin, _lib, _ld: what they recorded; _NAME: values before them
#   _cudaswitch_again      in fish: PATH in which what mise brings back was last looked for
#   _cudaswitch_once       in bash: our part of PROMPT_COMMAND until the first prompt; _ours: from then on;
#                          _exported: where that is exported; _others: what precedes it; _trap: the trap on
#                          DEBUG
#   _cudaswitch_alone      in bash: PROMPT_COMMAND is ours alone; whoever is added needs the exit status
#   _cudaswitch_ran        in tcsh: what conda had run by the last prompt
#   _cudaswitch_fresh      CUDA_HOME and PATH at our line of a startup file, until the first prompt

# $1 = set or give: set the variables of the want $2, or give them back. $1 = forget: remove them
# from what conda keeps; their values before are in _cudaswitch_was_NAME. $1 = note: remember the
# values before the want $2; with $3, what is unset now was unset then. $1 = back: restore these if
# somebody has brought back what $2 had set.
__cudaswitch_scalars() {
    \local __csw _csw_way _csw_home _csw_name _csw_ours _csw_was _csw_set _csw_between
    _csw_way=$1 _csw_home=${2%%:*} _csw_between=${3-}
    set -- "$2:" CUDA_HOME "$_csw_home" CUDA_PATH "$_csw_home" CUDAToolkit_ROOT "$_csw_home"
    case $1 in *:nvcc:*) set -- "$@" CUDACXX "$_csw_home/bin/nvcc" ;; esac
    case $1${_csw_spared-} in
        *:gpus=*:)
            _csw_ours=${1#*:gpus=}
            set -- "$@" CUDA_VISIBLE_DEVICES "${_csw_ours%%:*}" CUDA_DEVICE_ORDER PCI_BUS_ID
            ;;
    esac
    case $_csw_way in
        set) __cudaswitch_flags_set "$1" ;;
        give) __cudaswitch_flags_give ;;
        forget) __cudaswitch_flags_forget "${_cudaswitch_undone_cc-}" "${_cudaswitch_undone_xla-}" ;;
    esac
    shift
    # 1 is left if a function `set` of the user has kept these from being set.
    while [ "$#" -gt 1 ]; do
        _csw_name=$1 _csw_ours=$2 _csw_was=_CUDASWITCH_WAS_$1
        shift 2
        if [ "$_csw_way" = set ]; then
            __cudaswitch_keep "$_csw_name"
            \export "$_csw_name=$_csw_ours"
        elif [ "$_csw_way" = forget ]; then
            _csw_was=''
            if [ -n "$_cudaswitch_gave" ]; then \eval "_csw_was=\${_cudaswitch_was_$_csw_name-}"; fi
            __cudaswitch_copies "$_csw_name" "$_csw_ours" "$_csw_was"
        elif [ "$_csw_way" = note ]; then
            \eval "__csw=\${$_csw_was+=}\${$_csw_was-} _csw_set=\${$_csw_name+x}"
            case $_csw_between:$_csw_set in between:) __csw='' ;; esac
            \eval "_cudaswitch_then_$_csw_name=\${_cudaswitch_then_$_csw_name-\$__csw}"
        elif [ "$_csw_way" = back ]; then
            \eval "__csw=\${$_csw_name-} _csw_was=\${_cudaswitch_then_$_csw_name-}"
            case ${_csw_was:+x}:$__csw in
                ":$_csw_ours") \unset "$_csw_name" ;;
                "x:$_csw_ours")
                    __csw=${_csw_was#=}
                    \eval "$_csw_name=\$__csw"
                    # It may name the very toolkit that is applied.
                    case ${_CUDASWITCH_ON:-none}: in
                        "${__csw%/bin/nvcc}:"*) \export "_CUDASWITCH_WAS_$_csw_name=$__csw" ;;
                    esac
                    ;;
            esac
        else
            \eval "_cudaswitch_gave=1 _cudaswitch_was_$_csw_name=\${$_csw_was-} _csw_set=\${$_csw_was+x}"
            if [ -n "$_csw_kept" ]; then
                \eval "__cudaswitch_copies $_csw_name \"\$_csw_ours\" \"\${$_csw_was-}\""
            fi
            case ${_csw_theirs-} in
                ?*)
                    if \eval "__cudaswitch_regained $_csw_name \"\${$_csw_name-}\""; then
                        _csw_set=regained
                    fi
                    ;;
            esac
            \eval "__csw=\${$_csw_name-}"
            case $_csw_set:$__csw in
                "x:$_csw_ours") \eval "$_csw_name=\$$_csw_was" && __cudaswitch_unexport "$_csw_name" ;;
                ":$_csw_ours") \unset "$_csw_name" ;;
            esac
            \unset "$_csw_was"
        fi
    done
}

# __csw = what the strongest owner asks for.
__cudaswitch_strongest() {
    __csw=${_CUDASWITCH_U:-${_CUDASWITCH_X:-${_CUDASWITCH_C:-${_CUDASWITCH_V:-${_CUDASWITCH_D-}}}}}
    case ${_CUDASWITCH_V:+$__csw} in
        "${_CUDASWITCH_C:-none}")
            __cudaswitch_before "${_CUDASWITCH_C##*:env=}" "${_CUDASWITCH_V##*:env=}" \
                || __csw=$_CUDASWITCH_V
            ;;
    esac
}

# Undo what is applied and apply what the strongest owner asks for ($1, if that is known). The
# usual case, a toolkit in front and variables that nobody else has set, takes the short ways. bash
# copies a function for each call, so unusual cases have functions of their own; it also scans long
# quoted strings, so they are left unquoted where that does not matter.
__cudaswitch_settle() {
    case ${ZSH_VERSION-} in ?*) \emulate -L sh -o no_warn_create_global -o no_force_float ;; esac
    \local __csw _csw_search _csw_ld _csw_ld_set _csw_until_now
    case $# in 0) __cudaswitch_strongest && set -- "$__csw" ;; esac
    _csw_search=${PATH-} _csw_ld=${LD_LIBRARY_PATH-} _csw_ld_set=${LD_LIBRARY_PATH+set}
    case ${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-}${_OLD_VIRTUAL_PATH-}\
${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x}${_csw_tried-} in
        '')
            _csw_until_now=''
            if __cudaswitch_plainly "${1%%:*}" "$1"; then return 0; fi
            case $1 in *:cc=*) if __cudaswitch_besides "${1%%:*}" "$1"; then return 0; fi ;; esac
            __cudaswitch_settled "$1" tried
            ;;
        *)
            _csw_until_now=${_CUDASWITCH_BIN-}:${_CUDASWITCH_OLD-}:${_CUDASWITCH_LIB-}
            case ${_CUDASWITCH_GONE-}${_csw_tried-} in
                '') if __cudaswitch_shortly "$1"; then return 0; fi ;;
            esac
            __cudaswitch_settled "$1" "${_csw_tried:+tried}"
            ;;
    esac
}

# The same for the want $1, whatever is applied or set already. $2 is set if __cudaswitch_plainly
# has been tried.
__cudaswitch_settled() {
    \local _csw_want _csw_home _csw_old _csw_kept _csw_names _csw_unset _csw_cxx IFS
    \local _csw_theirs _csw_spared _csw_xla
    IFS=' ' _csw_xla='' _csw_want=$1 _csw_home=${1%%:*} _csw_old=${_OLD_VIRTUAL_PATH-} _csw_names=''
    _csw_theirs=${_CUDASWITCH_KEPT-} _csw_spared=''
    case $_csw_ld_set:$_csw_ld in set:) _csw_unset='' ;; *) _csw_unset=${_CUDASWITCH_LD-} ;; esac

    if [ -n "${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-}" ]; then
        case $_csw_search\|$_csw_ld\|$_csw_old${_CUDASWITCH_OLD-}${_CUDASWITCH_GONE-} in
            "${_cudaswitch_path:-none}|${_cudaswitch_ld-}|")
                _csw_search=$_cudaswitch_path_was
                _csw_ld=$_cudaswitch_ld_was _csw_ld_set=$_cudaswitch_ld_was_set
                ;;
            *) __cudaswitch_undo ;;
        esac
        __csw=${_CUDASWITCH_ON-} _csw_cxx=${CUDACXX-}
        case $__csw: in *:nvcc:*) _csw_cxx=${__csw%%:*}/bin/nvcc ;; esac
        case $__csw: in
            *":gpus=${CUDA_VISIBLE_DEVICES-}:"*) ;;
            *:gpus=*)
                # The GPUs that this shell was started with stay, as long as the want is the same.
                case ${_cudaswitch_gpus:+${CUDA_VISIBLE_DEVICES-}}:$_csw_want:nvcc in
                    "${_cudaswitch_gpus:-/}:${__csw%:nvcc}:nvcc") _csw_spared=gpus ;;
                esac
                _csw_cxx=/
                ;;
        esac
        case ${_CUDASWITCH_CC-}${_CUDASWITCH_XLA-} in ?*) __cudaswitch_flags_same || _csw_cxx=/ ;; esac
        # Even if nothing is applied any more, a script may have kept a PATH with a toolkit.
        __csw=${__csw%%:*} __csw=${_CUDASWITCH_ON:+$__csw|$__csw|$__csw|$_csw_cxx|${_cudaswitch_ld-}}
        case ${CONDA_PREFIX-}${VIRTUAL_ENV-}\|${CUDA_HOME-}\|${CUDA_PATH-}\|${CUDAToolkit_ROOT-}\|${CUDACXX-}\|${LD_LIBRARY_PATH-} in
            "|"*) ;;
            *"|${__csw:-none}")
                if __cudaswitch_path_kept; then __cudaswitch_snapshots; fi
                ;;
            *) __cudaswitch_snapshots ;;
        esac
        __cudaswitch_kept
        _csw_kept=$__csw$_csw_names
        if [ -n "$_csw_kept" ] && [ -n "${_CUDASWITCH_LIB-}" ]; then
            __cudaswitch_copies LD_LIBRARY_PATH "$_CUDASWITCH_LIB" ''
        fi
        if [ -n "$_csw_names" ]; then
            __cudaswitch_copies PATH "${_CUDASWITCH_BIN:+$_CUDASWITCH_BIN:}${_CUDASWITCH_GONE-}" ''
        fi
        __csw=${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}
        case ${_CUDASWITCH_ON:+=$__csw}\|$_csw_kept in
            "|"*) ;;
            "=${_cudaswitch_plain-}|") \unset CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX ;;
            *) __cudaswitch_scalars give "$_CUDASWITCH_ON" ;;
        esac
        _cudaswitch_plain='' _cudaswitch_besides=''
        case ${_CUDASWITCH_UNEXPORTED-} in ?*) __cudaswitch_unexport LD_LIBRARY_PATH ;; esac
        # First: if Ctrl-C ends this once the records are gone, nobody knows what to remove.
        __cudaswitch_written
        \unset _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_OLD _CUDASWITCH_GONE \
            _CUDASWITCH_LIB _CUDASWITCH_LD _CUDASWITCH_KEPT _CUDASWITCH_UNEXPORTED
    fi

    case $_csw_home in
        /*)
            __csw=${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x}
            if [ -z "$__csw${_OLD_VIRTUAL_PATH-}${2-}" ] \
                && __cudaswitch_plainly "$_csw_home" "$_csw_want"; then
                return 0
            fi
            if [ -d "$_csw_home/." ]; then
                __cudaswitch_apply
                __cudaswitch_written
                # With `typeset -U`, zsh has dropped second copies. What was there before is known
                # all the same.
                case $_cudaswitch_path in ?*) _cudaswitch_path=$PATH ;; esac
                case $_cudaswitch_ld in ?*) _cudaswitch_ld=$LD_LIBRARY_PATH ;; esac
            fi
            ;;
    esac
    # Last: in zsh, a read-only variable among these ends the function.
    case ${_CUDASWITCH_ON:+$_csw_want:${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x}$_csw_xla} in
        '') ;;
        *:gpus=* | *:cc=*) __cudaswitch_scalars set "$_csw_want" ;;
        *:nvcc:)
            # Empty if LD_LIBRARY_PATH was left alone.
            _cudaswitch_plain=${_cudaswitch_path:+$_csw_home:$_csw_home:$_csw_home:$_csw_home/bin/nvcc}
            \export "CUDA_HOME=$_csw_home" "CUDA_PATH=$_csw_home" "CUDAToolkit_ROOT=$_csw_home" \
                "CUDACXX=$_csw_home/bin/nvcc"
            ;;
        *) __cudaswitch_scalars set "$_csw_want" ;;
    esac
}

# Take what is applied out of $_csw_search, $_csw_old, $_csw_ld and $_csw_ld_set.
__cudaswitch_undo() {
    \local _csw_bin
    _csw_bin=${_CUDASWITCH_BIN-}
    # A virtualenv that was left has restored the PATH that it kept.
    if [ -z "$_csw_old${VIRTUAL_ENV-}" ]; then _csw_bin=${_CUDASWITCH_OLD:-$_csw_bin}; fi
    case 0$_csw_search: in
        "$_csw_bin:"?*) _csw_search=${_csw_search#*:} ;;
        *)
            __cudaswitch_without "$_csw_search" "$_csw_bin"
            _csw_search=$__csw
            ;;
    esac
    if [ -n "${_CUDASWITCH_GONE-}" ]; then
        __cudaswitch_without "$_csw_search" "$_CUDASWITCH_GONE"
        _csw_search=$__csw
    fi
    if [ -n "$_csw_old" ]; then
        # An activation that came after us took its snapshot with our entries in it.
        __cudaswitch_without "$_csw_old" "${_CUDASWITCH_OLD:-$_csw_bin}"
        _csw_old=$__csw
    fi
    if [ -z "${_CUDASWITCH_LIB-}" ] || __cudaswitch_regained LD_LIBRARY_PATH "$_csw_ld"; then
        _csw_until_now=$_csw_bin
        return 0
    elif [ "${_csw_ld:-none}" = "${_cudaswitch_ld-}" ]; then
        _csw_ld=$_cudaswitch_ld_was _csw_ld_set=$_cudaswitch_ld_was_set
        return 0
    fi
    __cudaswitch_without "$_csw_ld" "$_CUDASWITCH_LIB"
    if [ "$__csw" != "$_csw_ld" ]; then
        _csw_ld=$__csw
        if [ -z "$_csw_ld" ] && [ "${_CUDASWITCH_LD-}" = unset ]; then _csw_ld_set=''; fi
    fi
}

# Set the lists to $_csw_search, $_csw_old, $_csw_ld and $_csw_ld_set.
__cudaswitch_written() {
    if [ "$_csw_search" != "${PATH-}" ]; then PATH=$_csw_search; fi
    if [ "$_csw_old" != "${_OLD_VIRTUAL_PATH-}" ]; then _OLD_VIRTUAL_PATH=$_csw_old; fi
    if [ "$_csw_ld_set:$_csw_ld" != "${LD_LIBRARY_PATH+set}:${LD_LIBRARY_PATH-}" ]; then
        case $_csw_ld_set:$_csw_ld in
            :*) \unset LD_LIBRARY_PATH ;;
            set: | exported:) __cudaswitch_emptied ;;
            *) LD_LIBRARY_PATH=$_csw_ld ;;
        esac
    fi
}

# Put the toolkit $_csw_home of $_csw_want into $_csw_search, $_csw_old and $_csw_ld, and set the
# variables that record this. As long as nobody touches them, the earlier values are known and need
# not be worked out.
__cudaswitch_apply() {
    \local _csw_dir _csw_lib _csw_lib0
    _csw_dir=$_csw_home/bin _csw_lib='' _csw_lib0=''
    if ! __cudaswitch_left_alone; then
        for _csw_lib0 in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib; do
            if [ -d "$_csw_home/$_csw_lib0" ]; then _csw_lib=$_csw_home/$_csw_lib0 && break; fi
        done
        _csw_lib0=${_csw_lib:+0$_csw_lib}
        if [ -d "$_csw_home/extras/CUPTI/lib64" ]; then
            _csw_lib=${_csw_lib:+$_csw_lib:}$_csw_home/extras/CUPTI/lib64
            _csw_lib0=${_csw_lib0:+$_csw_lib0:}0$_csw_home/extras/CUPTI/lib64
        fi
    fi
    __csw=0$_csw_dir _cudaswitch_path_was=$_csw_search
    _cudaswitch_ld_was=$_csw_ld _cudaswitch_ld_was_set=$_csw_ld_set
    case :$_csw_search: in
        *":$_csw_dir:"*) __cudaswitch_record "$_csw_search" "$_csw_dir" "$_csw_until_now" ;;
    esac
    \export "_CUDASWITCH_BIN=$__csw"
    _csw_search=$_csw_dir${_csw_search:+:$_csw_search}
    if [ -n "$_csw_old" ]; then
        __cudaswitch_record "$_csw_old" "$_csw_dir" "$_csw_until_now"
        \export "_CUDASWITCH_OLD=$__csw"
        _csw_old=$_csw_dir:$_csw_old
    fi
    # Keep this record: folders that the user has added since may be removed again.
    case $_csw_unset in unset) \export "_CUDASWITCH_LD=unset" ;; esac
    if [ -n "$_csw_lib" ]; then
        case :$_csw_ld in
            *":$_csw_home/"*)
                __cudaswitch_record "$_csw_ld" "$_csw_lib" "$_csw_until_now" && _csw_lib0=$__csw
                ;;
        esac
        if [ -z "$_csw_ld_set" ]; then \export "_CUDASWITCH_LD=unset"; fi
        __cudaswitch_note LD_LIBRARY_PATH
        _csw_ld=$_csw_lib${_csw_ld:+:$_csw_ld} _csw_ld_set=set
        \export "_CUDASWITCH_LIB=$_csw_lib0" LD_LIBRARY_PATH
    fi
    # Empty if LD_LIBRARY_PATH was left alone.
    _cudaswitch_path=${_csw_lib:+$_csw_search} _cudaswitch_ld=$_csw_ld
    __cudaswitch_kept
    case $__csw in
        *"$_csw_home"* | *:gpus=*) __cudaswitch_theirs ;;
    esac
    if [ -x "$_csw_dir/nvcc" ]; then _csw_want=$_csw_want:nvcc; fi
    \export "_CUDASWITCH_ON=$_csw_want"
}

# Is LD_LIBRARY_PATH to stay as it is, because the want says so, or because the active environment
# brings its own CUDA? Examines the environment in either case, to set $_csw_xla.
__cudaswitch_left_alone() {
    case $_csw_want:${CONDA_PREFIX-}${VIRTUAL_ENV-} in
        *:lib=never:*) __cudaswitch_bundled || : ;;
        *:lib=always:*)
            __cudaswitch_bundled || :
            return 1
            ;;
        "$_csw_want:") return 1 ;;
        *) __cudaswitch_bundled ;;
    esac
}
