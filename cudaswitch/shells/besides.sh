# shellcheck shell=dash disable=SC2034,SC2119,SC2120,SC2154  # core.sh sets them; plain.sh says who is left
# The short ways of core.sh for less usual cases: variables that were set before, the PATH that a
# virtualenv keeps, an environment that brings its own CUDA or whose framework needs XLA_FLAGS, a
# host compiler for nvcc. $_cudaswitch_besides records what the variables hold then.

# Do what __cudaswitch_plainly does, with the same arguments, in these cases. If even this is not
# simple enough, fail with nothing done: the slower __cudaswitch_apply takes over.
__cudaswitch_besides() {
    \local _csw_alone _csw_xla _csw_lib0 _csw_cc
    _csw_cc=''
    case $2: in
        [!/]* | *:lib=* | *:gpus=*) return 1 ;;
        "$1:cc="*) _csw_cc=1 ;;
        "$1:" | "$1:env="*) ;;
        *) return 1 ;;
    esac
    case :$_csw_search:$_csw_ld:${_OLD_VIRTUAL_PATH-} in *":$1/"*) return 1 ;; esac
    { [ -d "$1/lib64" ] && [ -x "$1/bin/nvcc" ]; } || return 1
    case ${CONDA_SHLVL-}${CUDA_HOME_CONDA_NVCC_BACKUP-} in
        ?*)
            __cudaswitch_kept
            case $__csw in ?*) return 1 ;; esac
            ;;
    esac
    if __cudaswitch_any_private; then return 1; fi
    case $_csw_cc in
        1)
            __cudaswitch_host "$2"
            if [ -n "$__csw" ] && [ -x "$__csw" ]; then _csw_cc=$__csw; else _csw_cc=''; fi
            case ${_csw_cc:+${CUDAHOSTCXX+x}${NVCC_PREPEND_FLAGS+x}} in ?*) return 1 ;; esac
            ;;
    esac
    _csw_alone='' _csw_xla=''
    case ${CONDA_PREFIX-}${VIRTUAL_ENV-} in
        "${_csw_plain-}") ;;
        *) if __cudaswitch_bundled; then _csw_alone=1; fi ;;
    esac
    if [ -n "$_csw_xla" ] && ! [ -e "$1/nvvm/libdevice" ]; then _csw_xla=''; fi
    case ${_csw_xla:+${XLA_FLAGS+x}$1} in
        *[' 	']* | x*) return 1 ;;
    esac
    # First: if PATH is read-only, this ends here, with nothing set.
    PATH=$1/bin${_csw_search:+:$_csw_search} _CUDASWITCH_BIN=0$1/bin
    case $_csw_xla in
        ?*) \export "_CUDASWITCH_XLA=--xla_gpu_cuda_data_dir=$1" "XLA_FLAGS=--xla_gpu_cuda_data_dir=$1" ;;
    esac
    case $_csw_cc in
        ?*)
            \export "_CUDASWITCH_CC=-ccbin=$_csw_cc" "CUDAHOSTCXX=$_csw_cc" \
                "NVCC_PREPEND_FLAGS=-ccbin=$_csw_cc"
            ;;
    esac
    _cudaswitch_ld=$_csw_ld _cudaswitch_ld_was=$_csw_ld _cudaswitch_ld_was_set=$_csw_ld_set
    case $_csw_ld_set${_csw_unset-}$_csw_alone in
        '' | *unset*) \export "_CUDASWITCH_LD=unset" ;;
    esac
    case $_csw_alone in
        '')
            _csw_lib0=0$1/lib64 _cudaswitch_ld=$1/lib64${_csw_ld:+:$_csw_ld}
            if [ -d "$1/extras/CUPTI/lib64" ]; then
                _csw_lib0=$_csw_lib0:0$1/extras/CUPTI/lib64
                _cudaswitch_ld=$1/lib64:$1/extras/CUPTI/lib64${_csw_ld:+:$_csw_ld}
            fi
            \export "_CUDASWITCH_LIB=$_csw_lib0" "LD_LIBRARY_PATH=$_cudaswitch_ld"
            ;;
    esac
    case ${_OLD_VIRTUAL_PATH:+x} in
        x) \export "_CUDASWITCH_OLD=0$1/bin" && _OLD_VIRTUAL_PATH=$1/bin:$_OLD_VIRTUAL_PATH ;;
    esac
    case ${CUDA_HOME+x} in x) \export "_CUDASWITCH_WAS_CUDA_HOME=$CUDA_HOME" ;; esac
    case ${CUDA_PATH+x} in x) \export "_CUDASWITCH_WAS_CUDA_PATH=$CUDA_PATH" ;; esac
    case ${CUDAToolkit_ROOT+x} in
        x) \export "_CUDASWITCH_WAS_CUDAToolkit_ROOT=$CUDAToolkit_ROOT" ;;
    esac
    case ${CUDACXX+x} in x) \export "_CUDASWITCH_WAS_CUDACXX=$CUDACXX" ;; esac
    _cudaswitch_path='' _cudaswitch_plain='' _cudaswitch_besides=$1:$1:$1:$1/bin/nvcc
    \export "_CUDASWITCH_ON=$2:nvcc" _CUDASWITCH_BIN \
        "CUDA_HOME=$1" "CUDA_PATH=$1" "CUDAToolkit_ROOT=$1" "CUDACXX=$1/bin/nvcc"
}

# Get to the want $1 by the short ways alone, from what one of them has applied or from nothing.
# Fails if more is needed; what it has done by then is complete.
__cudaswitch_shortly() {
    \local _csw_unset
    case $_csw_ld_set:$_csw_ld in set:) _csw_unset='' ;; *) _csw_unset=${_CUDASWITCH_LD-} ;; esac
    case ${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-} in
        ?*)
            if [ -n "${CONDA_PREFIX-}${VIRTUAL_ENV-}" ] && __cudaswitch_path_kept; then return 1; fi
            __cudaswitch_retrace || return 1
            _csw_search=${PATH-} _csw_ld=${LD_LIBRARY_PATH-} _csw_ld_set=${LD_LIBRARY_PATH+set}
            ;;
    esac
    case $1 in
        /*)
            if __cudaswitch_besides "${1%%:*}" "$1"; then return 0; fi
            if [ -d "${1%%:*}/." ]; then
                case $_csw_unset in unset) \export "_CUDASWITCH_LD=unset" ;; esac
            fi
            return 1
            ;;
    esac
}

# Would the undo have to unexport a variable? Usually none of these is set.
__cudaswitch_any_private() {
    case $_csw_ld_set in set) if __cudaswitch_private LD_LIBRARY_PATH; then return 0; fi ;; esac
    case ${CUDA_HOME+x} in x) if __cudaswitch_private CUDA_HOME; then return 0; fi ;; esac
    case ${CUDA_PATH+x} in x) if __cudaswitch_private CUDA_PATH; then return 0; fi ;; esac
    case ${CUDACXX+x} in x) if __cudaswitch_private CUDACXX; then return 0; fi ;; esac
    case ${CUDAToolkit_ROOT+x} in x) __cudaswitch_private CUDAToolkit_ROOT ;; *) return 1 ;; esac
}

# Undo what either short way did, if nobody has touched it. Otherwise this fails with nothing done.
# $1 as for __cudaswitch_restore.
__cudaswitch_retrace() {
    case ${_CUDASWITCH_GONE-}${_CUDASWITCH_KEPT+x}${_CUDASWITCH_UNEXPORTED-}:${CUDA_HOME-}:\
${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}\|${_CUDASWITCH_LIB:+${LD_LIBRARY_PATH-}} in
        ":${_cudaswitch_plain:-${_cudaswitch_besides:-none}}|${_CUDASWITCH_LIB:+${_cudaswitch_ld-}}") ;;
        *) return 1 ;;
    esac
    case ${_CUDASWITCH_XLA-}${_CUDASWITCH_CC-} in
        '') ;;
        *)
            if [ -n "${NVCC_PREPEND_FLAGS_BACKUP-}" ] || __cudaswitch_flags_kept \
                || ! __cudaswitch_flags_same; then return 1; fi
            ;;
    esac
    case 0${PATH-} in "${_CUDASWITCH_BIN-}:"*) ;; *) return 1 ;; esac
    case ${_CUDASWITCH_OLD-}:0${_OLD_VIRTUAL_PATH-} in
        :0 | "${_CUDASWITCH_OLD:-/}:${_CUDASWITCH_OLD-}:"*) ;;
        *) return 1 ;;
    esac
    case ${1-}${CONDA_SHLVL-}${CUDA_HOME_CONDA_NVCC_BACKUP-} in
        '' | C*) ;;
        *)
            __cudaswitch_kept
            case $__csw in ?*) return 1 ;; esac
            ;;
    esac
    PATH=${PATH#*:} _cudaswitch_plain='' _cudaswitch_besides=''
    case ${_CUDASWITCH_OLD:+x} in x) _OLD_VIRTUAL_PATH=${_OLD_VIRTUAL_PATH#*:} ;; esac
    case ${_CUDASWITCH_LIB:+x$_cudaswitch_ld_was_set:$_cudaswitch_ld_was} in
        '') ;;
        x:*) \unset LD_LIBRARY_PATH ;;
        xset: | xexported:) __cudaswitch_emptied ;;
        *) LD_LIBRARY_PATH=$_cudaswitch_ld_was ;;
    esac
    case ${_CUDASWITCH_XLA:+x} in x) \unset XLA_FLAGS ;; esac
    case ${_CUDASWITCH_CC:+x} in
        x) _cudaswitch_was_CUDAHOSTCXX='' && \unset CUDAHOSTCXX NVCC_PREPEND_FLAGS ;;
    esac
    case ${_CUDASWITCH_WAS_CUDA_HOME+x}${_CUDASWITCH_WAS_CUDA_PATH+x}\
${_CUDASWITCH_WAS_CUDAToolkit_ROOT+x}${_CUDASWITCH_WAS_CUDACXX+x} in
        '') \unset CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX ;;
        *) __cudaswitch_give_back ;;
    esac
    \unset _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_LIB _CUDASWITCH_LD _CUDASWITCH_OLD \
        _CUDASWITCH_XLA _CUDASWITCH_CC
}

# Restore the earlier values of the variables, and note them for __cudaswitch_forget, which may
# need them.
__cudaswitch_give_back() {
    _cudaswitch_gave=1 _cudaswitch_was_CUDA_HOME=${_CUDASWITCH_WAS_CUDA_HOME-} \
        _cudaswitch_was_CUDA_PATH=${_CUDASWITCH_WAS_CUDA_PATH-} \
        _cudaswitch_was_CUDAToolkit_ROOT=${_CUDASWITCH_WAS_CUDAToolkit_ROOT-} \
        _cudaswitch_was_CUDACXX=${_CUDASWITCH_WAS_CUDACXX-}
    case ${_CUDASWITCH_WAS_CUDA_HOME+x} in
        x) CUDA_HOME=$_CUDASWITCH_WAS_CUDA_HOME ;;
        *) \unset CUDA_HOME ;;
    esac
    case ${_CUDASWITCH_WAS_CUDA_PATH+x} in
        x) CUDA_PATH=$_CUDASWITCH_WAS_CUDA_PATH ;;
        *) \unset CUDA_PATH ;;
    esac
    case ${_CUDASWITCH_WAS_CUDAToolkit_ROOT+x} in
        x) CUDAToolkit_ROOT=$_CUDASWITCH_WAS_CUDAToolkit_ROOT ;;
        *) \unset CUDAToolkit_ROOT ;;
    esac
    case ${_CUDASWITCH_WAS_CUDACXX+x} in
        x) CUDACXX=$_CUDASWITCH_WAS_CUDACXX ;;
        *) \unset CUDACXX ;;
    esac
    \unset _CUDASWITCH_WAS_CUDA_HOME _CUDASWITCH_WAS_CUDA_PATH _CUDASWITCH_WAS_CUDAToolkit_ROOT \
        _CUDASWITCH_WAS_CUDACXX
}

# May conda keep flags with words of ours, now applied or applied in the environment that was left?
__cudaswitch_flags_kept() {
    \local _csw_kept
    case ${CONDA_SHLVL:-0} in [0-9]) ;; *) return 0 ;; esac
    _csw_kept=''
    case ${_CUDASWITCH_XLA-}${_cudaswitch_undone_xla-} in
        ?*)
            _csw_kept=${__CONDA_SHLVL_0_XLA_FLAGS-}${__CONDA_SHLVL_1_XLA_FLAGS-}\
${__CONDA_SHLVL_2_XLA_FLAGS-}${__CONDA_SHLVL_3_XLA_FLAGS-}${__CONDA_SHLVL_4_XLA_FLAGS-}\
${__CONDA_SHLVL_5_XLA_FLAGS-}${__CONDA_SHLVL_6_XLA_FLAGS-}${__CONDA_SHLVL_7_XLA_FLAGS-}\
${__CONDA_SHLVL_8_XLA_FLAGS-}${__CONDA_SHLVL_9_XLA_FLAGS-}
            ;;
    esac
    case ${_CUDASWITCH_CC-}${_cudaswitch_undone_cc-} in
        ?*)
            _csw_kept=$_csw_kept${__CONDA_SHLVL_0_CUDAHOSTCXX-}${__CONDA_SHLVL_1_CUDAHOSTCXX-}\
${__CONDA_SHLVL_2_CUDAHOSTCXX-}${__CONDA_SHLVL_3_CUDAHOSTCXX-}${__CONDA_SHLVL_4_CUDAHOSTCXX-}\
${__CONDA_SHLVL_5_CUDAHOSTCXX-}${__CONDA_SHLVL_6_CUDAHOSTCXX-}${__CONDA_SHLVL_7_CUDAHOSTCXX-}\
${__CONDA_SHLVL_8_CUDAHOSTCXX-}${__CONDA_SHLVL_9_CUDAHOSTCXX-}\
${__CONDA_SHLVL_0_NVCC_PREPEND_FLAGS-}${__CONDA_SHLVL_1_NVCC_PREPEND_FLAGS-}\
${__CONDA_SHLVL_2_NVCC_PREPEND_FLAGS-}${__CONDA_SHLVL_3_NVCC_PREPEND_FLAGS-}\
${__CONDA_SHLVL_4_NVCC_PREPEND_FLAGS-}${__CONDA_SHLVL_5_NVCC_PREPEND_FLAGS-}\
${__CONDA_SHLVL_6_NVCC_PREPEND_FLAGS-}${__CONDA_SHLVL_7_NVCC_PREPEND_FLAGS-}\
${__CONDA_SHLVL_8_NVCC_PREPEND_FLAGS-}${__CONDA_SHLVL_9_NVCC_PREPEND_FLAGS-}
            ;;
    esac
    [ -n "$_csw_kept" ]
}
