# shellcheck shell=dash disable=SC2154  # who uses this sets _cudaswitch_root
# The ready answer to a request: requests/NAME in $_cudaswitch_root, the store. A file of its own,
# so that a shim that needs no other function has its answer before it reads one.

# __csw = the ready answer to the request $1; fails where Python must be asked.
__cudaswitch_ready() {
    case $1 in '' | [.-]* | *[!A-Za-z0-9._+'<>=!,'-]*) return 1 ;; esac
    __csw=$_cudaswitch_root/requests/$1
    if ! [ -f "$__csw" ]; then return 1; fi
    # In zsh, `read` takes a system call per byte; `$(<)`, unknown to dash, starts no process.
    # shellcheck disable=SC3034
    case ${ZSH_VERSION-} in
        '') IFS= \read -r __csw < "$__csw" ;;
        *) __csw=$(< "$__csw") ;;
    esac || return 1
    # A call takes zsh longer than all of this, and most toolkits have no `.base`.
    if [ -L "${__csw%%:*}/.base" ]; then
        __cudaswitch_there "${__csw%%:*}"
    else
        [ -d "${__csw%%:*}/." ]
    fi
}
