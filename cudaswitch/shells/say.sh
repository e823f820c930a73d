# shellcheck shell=sh disable=SC1091  # flags.sh is beside this text
# Says what is active now: sh say.sh "$_CUDASWITCH_ON" "$_CUDASWITCH_LIB"
. "${0%/*}/flags.sh"
if [ -z "$1" ]; then
    printf 'cudaswitch: no toolkit\n' >&2
    exit
fi
home=${1%%:*}
printf 'cudaswitch: CUDA %s' "${home##*/}" >&2
case $2$1 in
    /*:lib=never*) printf ' (LD_LIBRARY_PATH left alone, as asked)' >&2 ;;
    /*) printf ' (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)' >&2 ;;
esac
__cudaswitch_lacking "$1" >&2
printf '\n' >&2
