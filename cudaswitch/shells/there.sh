# shellcheck shell=dash
# Whether a toolkit is there. A file of its own, as hooks, shims and the integration all need it.

# Is the toolkit $1 there? One that is based on another is of no use without it.
__cudaswitch_there() {
    [ -d "$1/." ] && { ! [ -L "$1/.base" ] || [ -d "$1/.base/." ]; }
}
