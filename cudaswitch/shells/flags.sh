# shellcheck shell=dash disable=SC2154  # core.sh calls these, and sets $_csw_xla and $_csw_home
# Variables that are shared with others: the host compiler, and the flags of nvcc and XLA.

# __csw = the compiler to name to nvcc for the want $1; it need not exist, and is empty if somebody
# else has named one. Decides as `activation.host_compiler` does: change both.
__cudaswitch_host() {
    \local _csw_cxx
    __csw=${1#*:cc=} _csw_cxx=${CXX-}
    __csw=${__csw%%:*}
    case $_csw_cxx in
        '' | */*) ;;
        g++ | c++) _csw_cxx='' ;;
        # conda-forge's compilers have names of their own, without a folder since the end of 2025.
        *) if [ -x "${CONDA_PREFIX-}/bin/$_csw_cxx" ]; then _csw_cxx=${CONDA_PREFIX-}/bin/$_csw_cxx; fi ;;
    esac
    if [ -n "${CONDA_PREFIX-}" ] && [ "$CONDA_PREFIX" != "${_csw_left-}" ]; then
        if [ -z "$_csw_cxx" ] && [ -x "$CONDA_PREFIX/bin/gcc" ]; then __csw=''; fi
        case $_csw_cxx in "$CONDA_PREFIX"/*) __csw=$_csw_cxx ;; ?*) __csw='' ;; esac
    else
        case $_csw_cxx in '' | "${_csw_left:-/}"/*) ;; *) __csw='' ;; esac
    fi
    # nvcc splits its flags at blanks and knows no quotes.
    case $__csw in *[' 	']*) __csw='' ;; esac
    case ${CUDAHOSTCXX:+x}${NVCC_CCBIN:+x}:${NVCC_PREPEND_FLAGS-}${NVCC_APPEND_FLAGS-} in
        x* | *-ccbin* | *--compiler-bindir*) __csw='' ;;
    esac
}

# __csw = what is unusual about the applied toolkit, for the line that names it; empty if nothing is.
__cudaswitch_remark() {
    __csw=''
    case ${_CUDASWITCH_CC-}$_CUDASWITCH_ON in /*:cc=*) __cudaswitch_host "$_CUDASWITCH_ON" ;; esac
    if [ -x "$__csw" ]; then __csw=''; fi
    __csw=${__csw:+" (its nvcc refuses the gcc here: install ${__csw##*/})"}
    case ${_CUDASWITCH_LIB-}$_CUDASWITCH_ON in
        /*:lib=never*) __csw=" (LD_LIBRARY_PATH left alone, as asked)$__csw" ;;
        /*) __csw=" (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)$__csw" ;;
    esac
}

# Add words to the flags: for nvcc that of the want $1, for XLA that of the toolkit $_csw_home.
__cudaswitch_flags_set() {
    \local __csw
    case $1 in
        *:cc=*)
            __cudaswitch_host "$1"
            if [ -n "$__csw" ] && [ -x "$__csw" ]; then
                __cudaswitch_keep CUDAHOSTCXX NVCC_PREPEND_FLAGS
                \export "_CUDASWITCH_CC=-ccbin=$__csw" "CUDAHOSTCXX=$__csw" \
                    "NVCC_PREPEND_FLAGS=-ccbin=$__csw${NVCC_PREPEND_FLAGS:+ $NVCC_PREPEND_FLAGS}"
            fi
            ;;
    esac
    if [ -z "${_csw_xla-}" ] || ! [ -e "$_csw_home/nvvm/libdevice" ]; then return 0; fi
    # If XLA_FLAGS names a file of flags, it stays. XLA takes a value in quotes for one word.
    case ${XLA_FLAGS-} in *xla_gpu_cuda_data_dir*) return 0 ;; '' | [-' 	']*) ;; *) return 0 ;; esac
    case $_csw_home in
        *[' 	']*) __csw=--xla_gpu_cuda_data_dir=\"$_csw_home\" ;;
        *) __csw=--xla_gpu_cuda_data_dir=$_csw_home ;;
    esac
    __cudaswitch_keep XLA_FLAGS
    \export "_CUDASWITCH_XLA=$__csw" "XLA_FLAGS=${XLA_FLAGS:+$XLA_FLAGS }$__csw"
}

# Remove our words, and give the host compiler back. A variable that was not exported stays
# exported if somebody has changed it.
__cudaswitch_flags_give() {
    \local _csw_word
    _cudaswitch_was_CUDAHOSTCXX=${_CUDASWITCH_WAS_CUDAHOSTCXX-}
    if [ -n "${CONDA_SHLVL-}${_csw_names-}" ]; then
        __cudaswitch_flags_forget "${_CUDASWITCH_CC-}" "${_CUDASWITCH_XLA-}"
    fi
    _csw_word=${_CUDASWITCH_CC-}
    if [ -n "$_csw_word" ]; then
        if [ "${CUDAHOSTCXX-}" != "${_csw_word#-ccbin=}" ]; then :
        elif [ -n "${_CUDASWITCH_WAS_CUDAHOSTCXX+x}" ]; then
            CUDAHOSTCXX=$_CUDASWITCH_WAS_CUDAHOSTCXX && __cudaswitch_unexport CUDAHOSTCXX
        else \unset CUDAHOSTCXX
        fi
        # The copy that conda's nvcc keeps would bring our word back when that environment is left.
        if [ -n "${NVCC_PREPEND_FLAGS_BACKUP-}" ]; then
            __cudaswitch_wordless "$NVCC_PREPEND_FLAGS_BACKUP" "$_csw_word"
            case $__csw${_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS+x} in
                '') __cudaswitch_flags_unkept ;;
                *) NVCC_PREPEND_FLAGS_BACKUP=$__csw ;;
            esac
        fi
        __cudaswitch_wordless "${NVCC_PREPEND_FLAGS-}" "$_csw_word"
        case ${NVCC_PREPEND_FLAGS-}:${_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS+x} in
            "$_csw_word:") \unset NVCC_PREPEND_FLAGS ;;
            "$__csw:"*) ;;
            *)
                NVCC_PREPEND_FLAGS=$__csw
                case $__csw in "${_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS-}") __cudaswitch_unexport NVCC_PREPEND_FLAGS ;; esac
                ;;
        esac
    fi
    _csw_word=${_CUDASWITCH_XLA-}
    if [ -n "$_csw_word" ]; then
        __cudaswitch_wordless "${XLA_FLAGS-}" "$_csw_word"
        case ${XLA_FLAGS-}:${_CUDASWITCH_WAS_XLA_FLAGS+x} in
            "$_csw_word:") \unset XLA_FLAGS ;;
            "$__csw:"*) ;;
            *)
                XLA_FLAGS=$__csw
                case $__csw in "${_CUDASWITCH_WAS_XLA_FLAGS-}") __cudaswitch_unexport XLA_FLAGS ;; esac
                ;;
        esac
    fi
    \unset _CUDASWITCH_CC _CUDASWITCH_XLA _CUDASWITCH_WAS_CUDAHOSTCXX \
        _CUDASWITCH_WAS_NVCC_PREPEND_FLAGS _CUDASWITCH_WAS_XLA_FLAGS
}

# Set NVCC_PREPEND_FLAGS_BACKUP as the script of conda-forge's cuda-nvcc does if there were no
# flags: to UNSET, without which it leaves its own flags behind; before September 2025, not at all.
__cudaswitch_flags_unkept() {
    \local _csw_level _csw_script _csw_line _csw_kept IFS
    _csw_level=${CONDA_SHLVL:-0} _csw_script=${CONDA_PREFIX-} _csw_kept='' IFS=''
    case $_csw_level in *[!0-9]* | 0?* | ???*) _csw_script='' ;; esac
    while [ -n "$_csw_script" ]; do
        _csw_script="$_csw_script/etc/conda/deactivate.d/~cuda-nvcc_deactivate.sh"
        if [ -f "$_csw_script" ] && [ -r "$_csw_script" ]; then
            while command read -r _csw_line; do
                case $_csw_line in *UNSET*) _csw_kept=1 ;; esac
            done < "$_csw_script"
            break
        fi
        _csw_level=$((_csw_level - 1)) _csw_script=''
        if [ "$_csw_level" -gt 0 ]; then \eval "_csw_script=\${CONDA_PREFIX_$_csw_level-}"; fi
    done
    # The variable is exported, and stays so.
    case $_csw_kept in '') \unset NVCC_PREPEND_FLAGS_BACKUP ;; *) NVCC_PREPEND_FLAGS_BACKUP=UNSET ;; esac
}

# Are the flags exactly as we have set them? A script that has replaced them may have kept ours.
__cudaswitch_flags_same() {
    \local _csw_nvcc _csw_xla
    _csw_nvcc=${_CUDASWITCH_CC-}${_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS:+ $_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS}
    _csw_xla=${_CUDASWITCH_WAS_XLA_FLAGS:+$_CUDASWITCH_WAS_XLA_FLAGS }${_CUDASWITCH_XLA-}
    case ${_CUDASWITCH_CC:+${CUDAHOSTCXX-}\|${NVCC_PREPEND_FLAGS-}}\|${_CUDASWITCH_XLA:+${XLA_FLAGS-}} in
        "${_CUDASWITCH_CC:+${_CUDASWITCH_CC#-ccbin=}|$_csw_nvcc}|${_CUDASWITCH_XLA:+$_csw_xla}") ;;
        *) return 1 ;;
    esac
}

# Take the words $1 for nvcc and $2 for XLA out of what conda keeps.
__cudaswitch_flags_forget() {
    if [ -n "$1" ]; then
        __cudaswitch_copies CUDAHOSTCXX "${1#-ccbin=}" "$_cudaswitch_was_CUDAHOSTCXX"
        __cudaswitch_copies NVCC_PREPEND_FLAGS "$1" ''
    fi
    if [ -n "$2" ]; then __cudaswitch_copies XLA_FLAGS "$2" ''; fi
}

# __csw = the flags $1 without the word $2, removed once with the blank that came with it.
__cudaswitch_wordless() {
    __csw=$1
    case $1 in
        "$2") __csw='' ;;
        "$2 "*) __csw=${1#"$2 "} ;;
        *" $2") __csw=${1%" $2"} ;;
        *" $2 "*) __csw=${1%%" $2 "*}\ ${1#*" $2 "} ;;
    esac
}

# Remember what the variables $@ hold, where they are set.
__cudaswitch_keep() {
    \local __csw _csw_name
    for _csw_name; do
        \eval "__csw=\${$_csw_name+x}"
        case $__csw in '') continue ;; esac
        \eval "\\export \"_CUDASWITCH_WAS_$_csw_name=\$$_csw_name\""
        __cudaswitch_note "$_csw_name"
    done
}
