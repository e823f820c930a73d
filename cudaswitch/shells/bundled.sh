# shellcheck shell=dash disable=SC2034,SC2154  # core.sh calls these, and has what they share
# What the active environment brings.

# Does the active environment bring its own CUDA? $_csw_left is one that is just being left.
__cudaswitch_bundled() {
    # A caller that asks more than once has $_csw_brought for the answer, empty at first.
    case ${_csw_brought-} in
        ?*)
            _csw_xla=${_csw_brought#?}
            case $_csw_brought in y*) return 0 ;; *) return 1 ;; esac
            ;;
    esac
    __csw=${CONDA_PREFIX-}
    case $__csw in "${_csw_left-}") __csw='' ;; esac
    case ${VIRTUAL_ENV-} in
        '' | "${_csw_left-}") ;;
        *)
            if [ -z "$__csw" ] || ! __cudaswitch_before "$__csw" "$VIRTUAL_ENV"; then
                __csw=$VIRTUAL_ENV
            fi
            ;;
    esac
    case $__csw in '') return 1 ;; esac
    if __cudaswitch_globbing __cudaswitch_brought "$__csw"; then __csw=y; else __csw=n; fi
    case ${_csw_brought+x} in x) _csw_brought=$__csw${_csw_xla-} ;; esac
    case $__csw in n) return 1 ;; esac
}

# Does the environment $1, or one below it on PATH whose packages are in use, bring its own
# CUDA? Goes down as `bundled.reached` does: change both.
__cudaswitch_brought() {
    \local _csw_env _csw_below
    __csw=''
    case $1 in "${CONDA_PREFIX-}") __cudaswitch_stack ;; esac
    _csw_env=$1 _csw_below=$__csw
    until __cudaswitch_brings "$_csw_env"; do
        if [ -f "$_csw_env/etc/cudaswitch/pin" ]; then return 1; fi
        case ${_CUDASWITCH_C-} in '') if [ -e "$_csw_env/bin/python" ]; then return 1; fi ;; esac
        _csw_env=${_csw_below%%:*} _csw_below=${_csw_below#*:}
        case ${VIRTUAL_ENV-} in
            '' | "$1" | "${_csw_left-}") ;;
            *)
                if [ -z "$_csw_env" ] || ! __cudaswitch_before "$_csw_env" "$VIRTUAL_ENV"; then
                    __cudaswitch_brings "$VIRTUAL_ENV"
                    return
                fi
                ;;
        esac
        case $_csw_env in '') return 1 ;; esac
    done
}

# Does the environment $1 bring its own CUDA? Looks where `bundled` does: change both. $_csw_xla is
# set if it has a framework that looks for libdevice elsewhere.
__cudaswitch_brings() {
    \local _csw_file _csw_base _csw_python _csw_extends _csw_user _csw_brings
    _csw_base='' _csw_extends='' _csw_user='' _csw_brings=''
    if [ -r "$1/pyvenv.cfg" ]; then __cudaswitch_config "$1/pyvenv.cfg"; fi
    case ${2-}$_csw_extends in
        /*)
            if __cudaswitch_layered "$1"; then return 0; fi
            __cudaswitch_extended "$1"
            __cudaswitch_brings "$__csw" below
            return
            ;;
    esac
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    case ${PYTHONNOUSERSITE:+unseen}$_csw_base in
        '') if [ -d "$1/conda-meta" ]; then _csw_user=${PYTHONUSERBASE:-${HOME-}/.local}; fi ;;
        /*) _csw_user=${PYTHONUSERBASE:-${HOME-}/.local} ;;
    esac
    # CPython's and PyPy's, with a single scan of a folder that may be long.
    for _csw_file in "$1"/lib/py[tp][hy]*/site-packages; do
        if [ -d "$_csw_file" ]; then __cudaswitch_sites "$1" "${_csw_file#"$1"}"; fi
    done
    # In a virtualenv, lib64 is a link to lib, except on Fedora.
    if [ -d "$1/lib64" ] && ! [ "$1/lib64" -ef "$1/lib" ]; then
        for _csw_file in "$1"/lib64/python[23]*/site-packages; do
            if [ -d "$_csw_file" ]; then __cudaswitch_sites "$1" "${_csw_file#"$1"}"; fi
        done
    fi
    case $_csw_brings:$_csw_base in
        1:*) return 0 ;;
        :) ;;
        *) if __cudaswitch_base_brings; then return 0; fi ;;
    esac
    __cudaswitch_meta "$1"
}

# Does the uv layer $1 add CUDA through `--with`? Looks where `sites.overlaid` does.
__cudaswitch_layered() {
    \local _csw_line
    for _csw_file in "$1"/lib/python*/site-packages; do
        if [ -d "$_csw_file" ] && __cudaswitch_site "$_csw_file"; then return 0; fi
        if ! [ -r "$_csw_file/_uv_ephemeral_overlay.pth" ]; then continue; fi
        \read -r _csw_line < "$_csw_file/_uv_ephemeral_overlay.pth" || :
        while :; do
            case $_csw_line in *\"/*\"*) ;; *) break ;; esac
            _csw_line=${_csw_line#*\"/} _csw_file=/${_csw_line%%\"*}
            if __cudaswitch_site "$_csw_file"; then return 0; fi
            _csw_line=${_csw_line#*\"}
        done
    done
    return 1
}

# Examine the package folder $2 of the environment $1, and the user's own for the same Python.
__cudaswitch_sites() {
    if [ -e "$1$2/tensorflow" ] || [ -e "$1$2/jaxlib" ]; then
        __cudaswitch_libdevice "$1" "$1$2" || _csw_xla=1
    fi
    if __cudaswitch_site "$1$2"; then _csw_brings=1
    elif [ -n "$_csw_user" ] && __cudaswitch_site "$_csw_user/lib/${2#/lib*/}"; then _csw_brings=1
    fi
}

# Does the base of a virtualenv bring CUDA?
__cudaswitch_base_brings() {
    for _csw_file in lib lib64 local/lib local/lib64; do
        _csw_file=$_csw_base/$_csw_file/python$_csw_python
        if [ -d "$_csw_file" ] && __cudaswitch_site "$_csw_file/site-packages"; then return 0; fi
        # 3.13t is the free-threaded Python.
        _csw_file=${_csw_file}t
        if [ -d "$_csw_file" ] && __cudaswitch_site "$_csw_file/site-packages"; then return 0; fi
    done
    for _csw_file in "lib/pypy$_csw_python/site-packages" lib/python3/dist-packages \
        "local/lib/python$_csw_python/dist-packages"; do
        if __cudaswitch_site "$_csw_base/$_csw_file"; then return 0; fi
    done
    __cudaswitch_meta "$_csw_base"
}

# Has conda put CUDA into the prefix $1?
__cudaswitch_meta() {
    \local _csw_file
    # cudatoolkit, cuda-cudart or libcublas: the folder is long, so it is read only once.
    for _csw_file in "$1"/conda-meta/*cu[db][al][-at]*-[0-9]*.json; do
        # The path of the environment itself may match.
        case ${_csw_file##*/} in
            cudatoolkit-[0-9]* | cuda-cudart-[0-9]* | libcublas-[0-9]*)
                if [ -e "$_csw_file" ]; then return 0; fi
                ;;
        esac
    done
    return 1
}

# Are there wheels with CUDA in the folder $1? NCCL, for example, is no part of a toolkit.
__cudaswitch_site() {
    \local _csw_file
    if [ -e "$1/torch/lib/libtorch_cuda.so" ]; then return 0; fi
    if ! [ -d "$1/nvidia" ]; then return 1; fi
    for _csw_file in "$1"/nvidia/cu*/lib; do
        if [ -e "$_csw_file" ]; then return 0; fi
    done
    return 1
}

# Is libdevice where XLA looks: beside it in the folder $2, or in the environment $1?
__cudaswitch_libdevice() {
    \local _csw_file
    for _csw_file in "$2"/nvidia/cuda_nvcc "$2"/nvidia/cu[0-9]* "$2"/jaxlib/cuda; do
        if [ -e "$_csw_file/nvvm/libdevice" ]; then return 0; fi
    done
    if ! [ -e "$1/nvvm/libdevice" ]; then return 1; fi
    # TensorFlow has looked there since 2.19.
    for _csw_file in "$2"/tensorflow-[12].* "$2"/tensorflow_gpu-[12].*; do
        case ${_csw_file##*/} in
            *-2.19.* | *-2.[2-9][0-9]*) ;;
            *) if [ -e "$_csw_file" ]; then return 1; fi ;;
        esac
    done
}

# Run a command with POSIX pattern expansion, whatever options the user has set; in zsh, the caller
# emulates sh.
__cudaswitch_globbing() {
    # shellcheck disable=SC3044  # bash only
    case $-:${BASH_VERSION-} in
        *f*:*) __cudaswitch_globbing_now "$@" ;;
        *:?*) if \shopt -q failglob; then __cudaswitch_globbing_now "$@"; else "$@"; fi ;;
        *) "$@" ;;
    esac
}

# The same if the user has set `noglob` or `failglob`.
__cudaswitch_globbing_now() {
    \local _csw_noglob _csw_failglob _csw_code
    _csw_noglob='' _csw_failglob='' _csw_code=0
    case $- in *f*) _csw_noglob=1 && set +f ;; esac
    # shellcheck disable=SC3028,SC3044  # elsewhere there is no such variable
    case ${BASHOPTS-} in *failglob*) _csw_failglob=1 && \shopt -u failglob ;; esac
    "$@" || _csw_code=$?
    if [ -n "$_csw_noglob" ]; then set -f; fi
    # shellcheck disable=SC3044  # bash only
    if [ -n "$_csw_failglob" ]; then \shopt -s failglob; fi
    return "$_csw_code"
}
