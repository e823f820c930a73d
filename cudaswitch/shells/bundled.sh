# shellcheck shell=dash disable=SC2034,SC2154  # core.sh calls these, and has what they share
# What the active environment brings.

# Does the active environment bring its own CUDA? $_csw_left is one that is just being left.
__cudaswitch_bundled() {
    \local _csw_env _csw_venv
    _csw_env=${CONDA_PREFIX-} _csw_venv=${VIRTUAL_ENV-}
    if [ "$_csw_env" = "${_csw_left-}" ]; then _csw_env=''; fi
    if [ "$_csw_venv" = "${_csw_left-}" ]; then _csw_venv=''; fi
    if [ -n "$_csw_venv" ]; then
        if [ -z "$_csw_env" ] || ! __cudaswitch_before "$_csw_env" "$_csw_venv"; then
            _csw_env=$_csw_venv
        fi
    fi
    [ -n "$_csw_env" ] && __cudaswitch_globbing __cudaswitch_brings "$_csw_env"
}

# Does the environment $1 bring its own CUDA? Looks where `detect.bundled` does: change both.
# $_csw_xla is set where it has a framework that looks for libdevice outside.
__cudaswitch_brings() {
    \local _csw_file _csw_line _csw_base _csw_shared _csw_python _csw_user _csw_brings
    _csw_base='' _csw_shared='' _csw_python='' _csw_user='' _csw_brings=''
    if [ -r "$1/pyvenv.cfg" ]; then
        while IFS= \read -r _csw_line || [ -n "$_csw_line" ]; do
            case $_csw_line in
                home[\ =]*) _csw_base=${_csw_line#*=} ;;
                include-system-site-packages[\ =]*[tT][rR][uU][eE]) _csw_shared=1 ;;
                version[\ =]* | version_info[\ =]*) _csw_python=${_csw_line#*=} ;;
            esac
        done < "$1/pyvenv.cfg"
        if [ -z "$_csw_shared" ]; then _csw_base=''; fi
        _csw_base=${_csw_base#"${_csw_base%%[! ]*}"} _csw_base=${_csw_base%/bin}
        _csw_python=${_csw_python#"${_csw_python%%[! ]*}"}
        case $_csw_python in *.*.*) _csw_python=${_csw_python%".${_csw_python#*.*.}"} ;; esac
    fi
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    if [ -z "${PYTHONNOUSERSITE-}" ] && { [ -n "$_csw_base" ] || [ -d "$1/conda-meta" ]; }; then
        _csw_user=${PYTHONUSERBASE:-${HOME-}/.local}
    fi
    for _csw_file in "$1"/lib/python[23]*/site-packages; do
        if ! [ -d "$_csw_file" ]; then continue; fi
        if [ -e "$_csw_file/tensorflow" ] || [ -e "$_csw_file/jaxlib" ]; then
            __cudaswitch_libdevice "$1" "$_csw_file" || _csw_xla=1
        fi
        if __cudaswitch_site "$_csw_file"; then _csw_brings=1
        elif [ -n "$_csw_user" ] && __cudaswitch_site "$_csw_user${_csw_file#"$1"}"; then
            _csw_brings=1
        fi
    done
    if [ -n "$_csw_brings" ]; then return 0; fi
    if [ -n "$_csw_base" ]; then
        for _csw_file in "lib/python$_csw_python/site-packages" lib/python3/dist-packages \
            "local/lib/python$_csw_python/dist-packages"; do
            if __cudaswitch_site "$_csw_base/$_csw_file"; then return 0; fi
        done
    fi
    for _csw_line in "$1" ${_csw_base:+"$_csw_base"}; do
        if ! [ -d "$_csw_line/conda-meta" ]; then continue; fi
        for _csw_file in "$_csw_line"/conda-meta/cuda[-t][co]*-[0-9]*.json \
            "$_csw_line"/conda-meta/libcublas-[0-9]*.json; do
            case $_csw_file in
                */cudatoolkit-[0-9]* | */cuda-cudart-[0-9]* | */libcublas-[0-9]*)
                    if [ -e "$_csw_file" ]; then return 0; fi
                    ;;
            esac
        done
    done
    return 1
}

# Are there wheels with CUDA in the folder $1?
__cudaswitch_site() {
    \local _csw_file
    if [ -e "$1/torch/lib/libtorch_cuda.so" ]; then return 0; fi
    if ! [ -d "$1/nvidia" ]; then return 1; fi
    for _csw_file in "$1"/nvidia/*/lib; do
        if [ -e "$_csw_file" ]; then return 0; fi
    done
    return 1
}

# Is libdevice where XLA looks in the environment $1, or beside it in the folder $2?
__cudaswitch_libdevice() {
    \local _csw_file
    for _csw_file in "$1" "$2"/nvidia/cuda_nvcc "$2"/nvidia/cu[0-9]* "$2"/jaxlib/cuda; do
        if [ -e "$_csw_file/nvvm/libdevice" ]; then return 0; fi
    done
    return 1
}
