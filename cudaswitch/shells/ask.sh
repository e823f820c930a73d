# shellcheck shell=sh disable=SC1091,SC2016,SC2154  # answers.sh is beside this text; `names`
# Prints the answer to a question, for shells that cannot read the files themselves: the ready
# answer, or Python's.
#
#   sh ask.sh STORE PROGRAM want REQUEST        what a variable holds
#   sh ask.sh STORE PROGRAM file FILE           a version file
#   sh ask.sh STORE PROGRAM virtualenv          the environment that VIRTUAL_ENV counts as
#   sh ask.sh STORE PROGRAM framework           what the active environment needs
#   sh ask.sh STORE PROGRAM use ARGUMENT...     the words after `cudaswitch use`
#   sh ask.sh STORE PROGRAM run ARGUMENT...     what the program itself prints
#
# If PROGRAM has been moved, or reinstalled elsewhere, the one on PATH runs, which rewrites the
# ready files.
_cudaswitch_root=$1 program=$2 what=$3
shift 3
. "${0%/*}/packages.sh"
. "${0%/*}/there.sh"
. "${0%/*}/ready.sh"
. "${0%/*}/answers.sh"

run() {
    if ! [ -x "$program" ]; then
        if ! found=$(command -v cudaswitch); then
            printf 'cudaswitch: `%s` is gone, and no other is on PATH\n' "$program" >&2
            printf 'hint: reinstall cudaswitch and run cudaswitch init --install, or remove its marked lines from the startup file\n' >&2
            exit 127
        fi
        program=$found
    fi
    exec "$program" "$@"
}

case $what in
    run) run "$@" ;;
    file) if [ -f "$1" ] && [ -r "$1" ] && [ "$(wc -c < "$1")" -le 4096 ] && __cudaswitch_read "$1"; then printf '%s\n' "$__csw"; else run want --file "$1"; fi ;;
    want) if __cudaswitch_ready "$1" || __cudaswitch_lent "$1"; then printf '%s\n' "$__csw"; else run want -- "$1"; fi ;;
    virtualenv)
        __cudaswitch_virtualenv
        printf '%s\n' "$__csw"
        ;;
    framework)
        if ! __cudaswitch_active; then exit; fi
        environment=$__csw
        if ! __cudaswitch_automatic "$environment"; then
            run want --environment "$environment"
        elif [ -n "$__csw" ]; then
            printf '%s\n' "$__csw"
        fi
        ;;
    use)
        if [ $# -eq 1 ] && { __cudaswitch_ready "$1" || __cudaswitch_lent "$1" || __cudaswitch_auto "$1" '' sure; }; then
            printf '%s\n' "$__csw"
        else
            run want --for-use "$@"
        fi
        ;;
esac
