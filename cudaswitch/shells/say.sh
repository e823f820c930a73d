# shellcheck shell=sh disable=SC1091  # flags.sh is beside this text
# Says what is active now, where it is another line than was said last, and prints that line:
# sh say.sh "=$_CUDASWITCH_ON" "=$_CUDASWITCH_LIB" "=LAST"
. "${0%/*}/flags.sh"
on=${1#=} last=${3#=} line='no toolkit'
if [ -n "$on" ]; then
    home=${on%%:*}
    # `cuda`, of /opt/cuda, tells nobody which.
    case ${home##*/} in *[0-9]*) home=${home##*/} ;; esac
    __cudaswitch_lacking "$on"
    case ${2#=}$on in
        /*:lib=never*) __csw=" (LD_LIBRARY_PATH left alone, as asked)$__csw" ;;
        /*) __csw=" (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)$__csw" ;;
    esac
    line="CUDA ${home#cuda-}$__csw"
fi
if [ "$line" != "$last" ]; then printf 'cudaswitch: %s\n' "$line" >&2; fi
printf '%s\n' "$line"
