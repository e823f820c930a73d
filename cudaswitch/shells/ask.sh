# shellcheck shell=sh disable=SC1091,SC2154  # answers.sh is beside this text, and sets
# Prints what somebody asks for, for shells that read no file themselves: the ready answer,
# or Python's.
#
#   sh ask.sh STORE PROGRAM want REQUEST        what a variable holds
#   sh ask.sh STORE PROGRAM file FILE           a version file
#   sh ask.sh STORE PROGRAM framework           what the active environment needs
#   sh ask.sh STORE PROGRAM use ARGUMENT...     the words behind `cudaswitch use`
_cudaswitch_root=$1 program=$2 what=$3
shift 3
. "${0%/*}/packages.sh"
. "${0%/*}/ready.sh"
. "${0%/*}/answers.sh"
case $what in
    file) if __cudaswitch_read "$1"; then printf '%s\n' "$__csw"; else exec "$program" want --file "$1"; fi ;;
    want) if __cudaswitch_ready "$1"; then printf '%s\n' "$__csw"; else exec "$program" want -- "$1"; fi ;;
    framework)
        if ! __cudaswitch_active; then exit; fi
        environment=$__csw
        if ! __cudaswitch_automatic "$environment"; then
            exec "$program" want --environment "$environment"
        elif [ -n "$__csw" ]; then
            printf '%s\n' "$__csw"
        fi
        ;;
    use)
        if [ $# -eq 1 ] && __cudaswitch_ready "$1"; then
            printf '%s\n' "$__csw"
        else
            exec "$program" want --for-use "$@"
        fi
        ;;
esac
