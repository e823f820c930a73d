# shellcheck shell=dash disable=SC2154  # core.sh sets them
# The short ways of core.sh for the usual case, a toolkit where nobody else has set anything.

# Undo what __cudaswitch_plainly did, if nobody has touched it and nobody asks for anything.
# Otherwise this fails with nothing done, and the slower __cudaswitch_settle takes over. $1 = C: a
# conda environment is being left; what conda keeps was checked on entering it, and has not grown.
__cudaswitch_restore() {
    __csw=${_CUDASWITCH_U-}${_CUDASWITCH_X-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}${_CUDASWITCH_D-}
    __csw=$__csw${_CUDASWITCH_OLD-}${_CUDASWITCH_GONE-}${_OLD_VIRTUAL_PATH-}${_CUDASWITCH_KEPT+x}\
${_CUDASWITCH_UNEXPORTED-}
    __csw=$__csw:${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}
    case $__csw\|${LD_LIBRARY_PATH-} in
        ":${_cudaswitch_plain:-none}|${_cudaswitch_ld:-none}") ;;
        *)
            case ${_CUDASWITCH_U-}${_CUDASWITCH_X-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}${_CUDASWITCH_D-} in
                '') __cudaswitch_retrace "$@" ;;
                *) return 1 ;;
            esac
            return
            ;;
    esac
    case 0${PATH-} in "${_CUDASWITCH_BIN-}:"*) ;; *) return 1 ;; esac
    case ${1-}${CONDA_SHLVL-}${CUDA_HOME_CONDA_NVCC_BACKUP-} in
        '' | C*) ;;
        *)
            __cudaswitch_kept
            case $__csw in ?*) return 1 ;; esac
            ;;
    esac
    PATH=${PATH#*:} _cudaswitch_plain=''
    case $_cudaswitch_ld_was_set:$_cudaswitch_ld_was in
        :*) \unset LD_LIBRARY_PATH ;;
        set: | exported:) __cudaswitch_emptied ;;
        *) LD_LIBRARY_PATH=$_cudaswitch_ld_was ;;
    esac
    \unset CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX \
        _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_LIB _CUDASWITCH_LD
}

# Apply the want $2 of the toolkit $1 in front of $_csw_search and $_csw_ld, $_csw_ld_set being
# empty if that is unset, provided nobody has set what a toolkit sets, and nothing needs working
# out. Otherwise this fails with nothing done, and the slower __cudaswitch_apply takes over.
__cudaswitch_plainly() {
    case $2: in [!/]*) return 1 ;; "$1:" | "$1:env="*) ;; *) return 1 ;; esac
    case :$_csw_search:$_csw_ld in *":$1/"*) return 1 ;; esac
    { [ -d "$1/lib64" ] && [ -x "$1/bin/nvcc" ]; } || return 1
    case ${CONDA_SHLVL-}${CUDA_HOME_CONDA_NVCC_BACKUP-}${CONDA_PREFIX-}${VIRTUAL_ENV-}$_csw_ld_set in
        '' | exported) ;;
        *)
            if ! __cudaswitch_unhindered; then
                # Not the caller's, who needs that if this fails.
                \local __csw
                case ${_CUDASWITCH_ON-} in '') __cudaswitch_besides "$@" ;; *) return 1 ;; esac
                return
            fi
            ;;
    esac
    # First: if PATH is read-only, this ends here, with nothing set.
    PATH=$1/bin${_csw_search:+:$_csw_search}
    case ${_CUDASWITCH_LD-}:$_csw_ld_set${_csw_unset-} in
        unset:*) ;;
        : | *unset) \export "_CUDASWITCH_LD=unset" ;;
    esac
    case ${_CUDASWITCH_ON-} in
        '')
            \export _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_LIB LD_LIBRARY_PATH \
                CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
            ;;
    esac
    _cudaswitch_path='' _cudaswitch_ld_was=$_csw_ld _cudaswitch_ld_was_set=$_csw_ld_set \
        _cudaswitch_plain=$1:$1:$1:$1/bin/nvcc _CUDASWITCH_ON=$2:nvcc _CUDASWITCH_BIN=0$1/bin \
        CUDA_HOME=$1 CUDA_PATH=$1 CUDAToolkit_ROOT=$1 CUDACXX=$1/bin/nvcc
    # Record and list at once: if Ctrl-C comes before, both are still those of the other toolkit.
    if [ -d "$1/extras/CUPTI/lib64" ]; then
        _CUDASWITCH_LIB=0$1/lib64:0$1/extras/CUPTI/lib64 \
            _cudaswitch_ld=$1/lib64:$1/extras/CUPTI/lib64${_csw_ld:+:$_csw_ld} \
            LD_LIBRARY_PATH=$_cudaswitch_ld
    else
        _CUDASWITCH_LIB=0$1/lib64 _cudaswitch_ld=$1/lib64${_csw_ld:+:$_csw_ld} \
            LD_LIBRARY_PATH=$_cudaswitch_ld
    fi
}

# Is that ruled out neither by what conda keeps, nor by what the environment brings, nor by a list
# that is not exported?
__cudaswitch_unhindered() {
    \local __csw _csw_xla
    __csw='' _csw_xla=''
    case ${CONDA_SHLVL-}${CUDA_HOME_CONDA_NVCC_BACKUP-} in ?*) __cudaswitch_kept ;; esac
    case $__csw:${CONDA_PREFIX-}${VIRTUAL_ENV-} in
        ":${_csw_plain-}") ;;
        :*) if __cudaswitch_bundled || [ -n "$_csw_xla" ]; then return 1; fi ;;
        *) return 1 ;;
    esac
    case $_csw_ld_set in
        set) if __cudaswitch_private LD_LIBRARY_PATH; then return 1; else _csw_ld_set=exported; fi ;;
    esac
}

# Remove from PATH the toolkit of an environment that was left, in the simple case: nothing is
# applied, conda has brought the toolkit back at the very front or not at all, and nobody has
# touched PATH since, or what else conda restores. Fails in any other case.
__cudaswitch_ungone() {
    case ${_cudaswitch_undone_xla-}${_cudaswitch_undone_cc-} in
        ?*) if __cudaswitch_flags_kept; then return 1; fi ;;
    esac
    case $_CUDASWITCH_GONE\|${LD_LIBRARY_PATH-} in
        *:*"|"*) return 1 ;;
        0/*"|${_cudaswitch_ld_was-}") ;;
        *) return 1 ;;
    esac
    if __cudaswitch_path_kept; then return 1; fi
    case 0${PATH-}: in
        "$_CUDASWITCH_GONE:${CONDA_PREFIX:-/}/bin:"*) PATH=${PATH#*:} ;;
        "$_CUDASWITCH_GONE:"* | *":${_CUDASWITCH_GONE#0}:"*) return 1 ;;
    esac
    \unset _CUDASWITCH_GONE
}
