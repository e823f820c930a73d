# shellcheck shell=sh disable=SC1091  # flags.sh is beside this text
# Reports what is active now, if the line differs from the last one, and prints that line:
# sh say.sh "=$_CUDASWITCH_ON" "=$_CUDASWITCH_LIB" "=LAST"
. "${0%/*}/flags.sh"
on=${1#=} last=${3#=} line='no toolkit'
if [ -n "$on" ]; then
    home=${on%%:*}
    # A name such as `cuda`, of /opt/cuda, does not tell which one it is.
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
