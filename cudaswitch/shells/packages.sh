# shellcheck shell=dash disable=SC3013  # dash, busybox, bash and zsh have `-nt`
# Have the packages of the environment $1 changed since the file $2 was written?
__cudaswitch_newer() {
    \local _csw_dir
    for _csw_dir in "$1"/conda-meta "$1"/lib/python[23]*/site-packages; do
        if [ "$_csw_dir" -nt "$2" ]; then return 0; fi
    done
    return 1
}
