# shellcheck shell=dash disable=SC2034,SC2154  # core.sh calls these, and has $left and $xla
# What the active environment brings.

# Does the active environment bring its own CUDA? $left is one that is just being left.
__cudaswitch_bundled() {
    \local env venv
    env=${CONDA_PREFIX-} venv=${VIRTUAL_ENV-}
    if [ "$env" = "${left-}" ]; then env=''; fi
    if [ "$venv" = "${left-}" ]; then venv=''; fi
    if [ -n "$venv" ]; then
        if [ -z "$env" ] || ! __cudaswitch_before "$env" "$venv"; then env=$venv; fi
    fi
    [ -n "$env" ] && __cudaswitch_globbing __cudaswitch_brings "$env"
}

# Does the environment $1 bring its own CUDA? Looks where `detect.bundled` does: change both.
# $xla is set where it has a framework that looks for libdevice outside.
__cudaswitch_brings() {
    \local file line base shared python user brings
    base='' shared='' python='' user='' brings=''
    if [ -r "$1/pyvenv.cfg" ]; then
        while IFS= \read -r line || [ -n "$line" ]; do
            case $line in
                home[\ =]*) base=${line#*=} ;;
                include-system-site-packages[\ =]*[tT][rR][uU][eE]) shared=1 ;;
                version[\ =]* | version_info[\ =]*) python=${line#*=} ;;
            esac
        done < "$1/pyvenv.cfg"
        if [ -z "$shared" ]; then base=''; fi
        base=${base#"${base%%[! ]*}"} base=${base%/bin} python=${python#"${python%%[! ]*}"}
        case $python in *.*.*) python=${python%".${python#*.*.}"} ;; esac
    fi
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    if [ -z "${PYTHONNOUSERSITE-}" ] && { [ -n "$base" ] || [ -d "$1/conda-meta" ]; }; then
        user=${PYTHONUSERBASE:-${HOME-}/.local}
    fi
    for file in "$1"/lib/python[23]*/site-packages; do
        if ! [ -d "$file" ]; then continue; fi
        if [ -e "$file/tensorflow" ] || [ -e "$file/jaxlib" ]; then
            __cudaswitch_libdevice "$1" "$file" || xla=1
        fi
        if __cudaswitch_site "$file"; then brings=1
        elif [ -n "$user" ] && __cudaswitch_site "$user${file#"$1"}"; then brings=1
        fi
    done
    if [ -n "$brings" ]; then return 0; fi
    if [ -n "$base" ]; then
        for file in "lib/python$python/site-packages" lib/python3/dist-packages \
            "local/lib/python$python/dist-packages"; do
            if __cudaswitch_site "$base/$file"; then return 0; fi
        done
    fi
    for line in "$1" ${base:+"$base"}; do
        if ! [ -d "$line/conda-meta" ]; then continue; fi
        for file in "$line"/conda-meta/cuda[-t][co]*-[0-9]*.json \
            "$line"/conda-meta/libcublas-[0-9]*.json; do
            case $file in
                */cudatoolkit-[0-9]* | */cuda-cudart-[0-9]* | */libcublas-[0-9]*)
                    if [ -e "$file" ]; then return 0; fi
                    ;;
            esac
        done
    done
    return 1
}

# Are there wheels with CUDA in the folder $1?
__cudaswitch_site() {
    \local file
    if [ -e "$1/torch/lib/libtorch_cuda.so" ]; then return 0; fi
    if ! [ -d "$1/nvidia" ]; then return 1; fi
    for file in "$1"/nvidia/*/lib; do
        if [ -e "$file" ]; then return 0; fi
    done
    return 1
}

# Is libdevice where XLA looks in the environment $1, or beside it in the folder $2?
__cudaswitch_libdevice() {
    \local file
    for file in "$1" "$2"/nvidia/cuda_nvcc "$2"/nvidia/cu[0-9]* "$2"/jaxlib/cuda; do
        if [ -e "$file/nvvm/libdevice" ]; then return 0; fi
    done
    return 1
}
