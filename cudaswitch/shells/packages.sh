# shellcheck shell=dash disable=SC3013  # dash, busybox, bash and zsh have `-nt`
# Have the packages of the environment $1 changed since the file $2 was written? A conda environment's
# `lib` is long: it is read once, for conda-meta tells of another Python.
__cudaswitch_newer() {
    \local _csw_dir _csw_rest
    if [ "$1/conda-meta" -nt "$2" ]; then
        _cudaswitch_pythons=''
        return 0
    fi
    if ! [ -d "$1/conda-meta" ]; then _cudaswitch_pythons=''; fi
    case ${_cudaswitch_pythons-} in
        "$1:"*) ;;
        *)
            _csw_rest=''
            for _csw_dir in "$1"/lib/python[23]*; do _csw_rest=$_csw_rest${_csw_dir##*/}/; done
            _cudaswitch_pythons=$1:$_csw_rest
            ;;
    esac
    _csw_rest=${_cudaswitch_pythons#"$1:"}
    while [ -n "$_csw_rest" ]; do
        if [ "$1/lib/${_csw_rest%%/*}/site-packages" -nt "$2" ]; then return 0; fi
        _csw_rest=${_csw_rest#*/}
    done
    return 1
}
