# shellcheck shell=sh disable=SC1091  # flags.sh is beside this text
# Says what is active now: sh say.sh "$_CUDASWITCH_ON" "$_CUDASWITCH_LIB"
. "${0%/*}/flags.sh"
if [ -z "$1" ]; then
    printf 'cudaswitch: no toolkit\n' >&2
    exit
fi
home=${1%%:*}
__cudaswitch_lacking "$1"
case $2$1 in
    /*:lib=never*) __csw=" (LD_LIBRARY_PATH left alone, as asked)$__csw" ;;
    /*) __csw=" (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)$__csw" ;;
esac
printf 'cudaswitch: CUDA %s%s\n' "${home##*/}" "$__csw" >&2
