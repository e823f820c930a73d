# shellcheck shell=sh disable=SC1091,SC2154  # flags.sh is beside this text, and sets __csw
# Reports what is active now, if the line differs from the last one, and prints that line:
# sh say.sh "=LAST"
. "${0%/*}/flags.sh"
line='no toolkit'
if [ -n "${_CUDASWITCH_ON-}" ]; then
    home=${_CUDASWITCH_ON%%:*}
    # A name such as `cuda`, of /opt/cuda, does not tell which one it is.
    case ${home##*/} in *[0-9]*) home=${home##*/} ;; esac
    __cudaswitch_remark
    line="CUDA ${home#cuda-}$__csw"
fi
if [ "$line" != "${1#=}" ]; then printf 'cudaswitch: %s\n' "$line" >&2; fi
printf '%s\n' "$line"
