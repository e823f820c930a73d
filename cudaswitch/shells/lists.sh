# shellcheck shell=dash
# Lists of directories for core.sh.

# __csw = the list $1 without the directories of the record $2, each removed once, at its first
# place, and only if it is there more often than before us.
__cudaswitch_without() {
    \local _csw_items _csw_item _csw_dir _csw_count _csw_seen
    __csw=:$1: _csw_items=${2:+$2:}
    while [ -n "$_csw_items" ]; do
        _csw_item=${_csw_items%%:*} _csw_items=${_csw_items#*:}
        _csw_dir=/${_csw_item#*/} _csw_count=${_csw_item%%/*} _csw_seen=$__csw
        while [ "$_csw_count" -gt 0 ]; do
            case $_csw_seen in
                *":$_csw_dir:"*)
                    _csw_seen=:${_csw_seen#*":$_csw_dir:"} _csw_count=$((_csw_count - 1))
                    ;;
                *) continue 2 ;;
            esac
        done
        case $_csw_seen in
            *":$_csw_dir:"*)
                _csw_seen=${__csw#*":$_csw_dir:"}
                # An empty last element is the colon of a folder that a script has removed.
                case $_csw_seen in :) _csw_seen='' ;; esac
                __csw=${__csw%%":$_csw_dir:"*}:$_csw_seen
                ;;
        esac
    done
    __csw=${__csw#:} __csw=${__csw%:}
}

# __csw = the record COUNT/dir:COUNT/dir of the directories $2 for the list $1. A count does not rise
# above one in $3, the records until now: the other copies came after us, and whoever put them there
# may remove them.
__cudaswitch_record() {
    \local _csw_dirs _csw_dir _csw_rest _csw_count
    __csw='' _csw_dirs=$2:
    while [ -n "$_csw_dirs" ]; do
        _csw_dir=${_csw_dirs%%:*} _csw_dirs=${_csw_dirs#*:} _csw_rest=:$1: _csw_count=0
        while :; do
            case $_csw_rest in
                *":$_csw_dir:"*)
                    case :${3-}: in *":$_csw_count$_csw_dir:"*) break ;; esac
                    _csw_rest=:${_csw_rest#*":$_csw_dir:"} _csw_count=$((_csw_count + 1))
                    ;;
                *) break ;;
            esac
        done
        __csw=${__csw:+$__csw:}$_csw_count$_csw_dir
    done
}

# Set LD_LIBRARY_PATH to empty again. In an array that zsh ties to it, an empty element would put
# the working directory before the next folder that the user adds.
__cudaswitch_emptied() {
    LD_LIBRARY_PATH=''
    case ${ZSH_VERSION-} in
        ?*) \eval 'case ${(t)ld_library_path-} in array-tied*) ld_library_path=() ;; esac' ;;
    esac
}
