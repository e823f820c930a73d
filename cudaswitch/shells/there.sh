# shellcheck shell=dash
# Whether a toolkit is there. A file of its own, since hooks, shims and the integration ask it.

# Is the toolkit $1? One that is laid over another is of no use without that one.
__cudaswitch_there() {
    [ -d "$1/." ] && { ! [ -L "$1/.base" ] || [ -d "$1/.base/." ]; }
}
