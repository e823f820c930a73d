# shellcheck shell=dash disable=SC2154  # who uses this sets _cudaswitch_root
# Answers that need no Python, for `cudaswitch init` in bash and zsh and for the shims.
# $_cudaswitch_root is the store; requests/NAME in it holds the ready answer to a request.

# __csw = the ready answer to the version file $1; fails if Python must be asked. Except in zsh,
# `read` skips zero bytes, which Python refuses: detecting them would take a process.
__cudaswitch_read() {
    \local _csw_cuda _csw_cudnn _csw_mode _csw_gpus _csw_line _csw_key _csw_room IFS
    _csw_cuda='' _csw_cudnn='' _csw_mode='' _csw_gpus='' _csw_room=4096 IFS=''
    if ! { [ -f "$1" ] && [ -O "$1" ] && [ -r "$1" ]; }; then return 1; fi
    # In somebody else's folder, a link is theirs, even if the file that it leads to is ours.
    if [ -L "$1" ] && ! [ -O "${1%/*}/." ]; then return 1; fi
    while \read -r _csw_line || [ -n "$_csw_line" ]; do
        # Python refuses longer files, which would be slow to read here.
        _csw_room=$((_csw_room - ${#_csw_line} - 1)) _csw_key=cuda
        case $_csw_room in -*) return 1 ;; esac
        case $_csw_line in
            '') continue ;;
            [a-z]*=* | *[!A-Za-z0-9._+'<>=!,'-]*)
                __cudaswitch_entry || return 1
                case $_csw_line in '') continue ;; esac
                ;;
        esac
        # Each key may be given once.
        case $_csw_key:$_csw_cuda:$_csw_cudnn:$_csw_mode:$_csw_gpus in
            cuda::*) _csw_cuda=$_csw_line ;;
            cudnn:*::*:*) _csw_cudnn=$_csw_line ;;
            libraries:*:*::*) _csw_mode=$_csw_line ;;
            gpus:*:) _csw_gpus=$_csw_line ;;
            *) return 1 ;;
        esac
    done < "$1"
    case $_csw_mode in '' | auto | always | never) ;; *) return 1 ;; esac
    case $_csw_gpus in ?*) __cudaswitch_indices "$_csw_gpus" || return 1 ;; esac
    _csw_cuda=$_csw_cuda${_csw_cudnn:++cudnn$_csw_cudnn}
    __cudaswitch_ready "$_csw_cuda" || __cudaswitch_lent "$_csw_cuda" \
        || __cudaswitch_auto "$_csw_cuda$_csw_mode$_csw_gpus" "$1" || return 1
    # The settings may have said so already.
    case ${_csw_mode:+$__csw} in *:lib=*) return 1 ;; esac
    __csw=$__csw${_csw_mode:+:lib=$_csw_mode}${_csw_gpus:+:gpus=$_csw_gpus}
}

# __csw = the kept answer of a shared store to the request $1: valid as long as the shared stores
# and what they offer are the same. A ready answer takes precedence.
__cudaswitch_lent() {
    \local _csw_file _csw_said _csw_folders _csw_offered _csw_offers IFS
    _csw_file=$_cudaswitch_root/lent/$1 _csw_said=${CUDASWITCH_STORES-} _csw_offers='' IFS=''
    case $1 in '' | [.-]* | *[!A-Za-z0-9._+'<>=!,'-]*) return 1 ;; esac
    if ! [ -f "$_csw_file" ] || [ -f "$_cudaswitch_root/requests/$1" ]; then return 1; fi
    if [ -z "$_csw_said" ] && [ -f "$_cudaswitch_root/requests/.stores" ]; then
        \read -r _csw_said < "$_cudaswitch_root/requests/.stores"
    fi
    {
        \read -r __csw && [ "$__csw" = "$_csw_said" ] \
            && \read -r _csw_folders && \read -r _csw_offered && \read -r __csw
    } < "$_csw_file" || return 1
    while [ -n "$_csw_folders" ]; do
        _csw_file=${_csw_folders%%:*}/requests/.fingerprint _csw_said=''
        if [ -f "$_csw_file" ] && [ -r "$_csw_file" ]; then \read -r _csw_said < "$_csw_file"; fi
        _csw_offers=$_csw_offers:$_csw_said
        case $_csw_folders in *:*) _csw_folders=${_csw_folders#*:} ;; *) _csw_folders='' ;; esac
    done
    [ "$_csw_offers" = "$_csw_offered" ] && __cudaswitch_there "${__csw%%:*}"
}

# Split the line $_csw_line: its key in $_csw_key, its value in $_csw_line, which is empty if the
# line says nothing.
__cudaswitch_entry() {
    __cudaswitch_trim "${_csw_line%%#*}"
    _csw_line=$__csw
    case $_csw_line in
        '') return 0 ;;
        [a-z]*[' 	=']*)
            _csw_key=${_csw_line%%[' 	=']*}
            case $_csw_key in *[!a-z]*) return 1 ;; esac
            __cudaswitch_trim "${_csw_line#"$_csw_key"}"
            __cudaswitch_trim "${__csw#=}"
            _csw_line=$__csw
            ;;
    esac
    # Ranges may have blanks after their commas.
    while :; do
        case $_csw_key:$_csw_line in
            cuda:*', '*) _csw_line=${_csw_line%%, *},${_csw_line#*, } ;;
            *: | *[' 	']*) return 1 ;;
            *) return 0 ;;
        esac
    done
}

# Are these GPU indices, each given once? Anything else that is allowed is left to Python.
__cudaswitch_indices() {
    \local _csw_rest _csw_index
    case $1 in -1) ;; *[!0-9,]* | *,,* | ,* | *,) return 1 ;; esac
    _csw_rest=$1
    while [ -n "$_csw_rest" ]; do
        _csw_index=${_csw_rest%%,*} _csw_rest=${_csw_rest#"$_csw_index"} _csw_rest=${_csw_rest#,}
        case ,$_csw_rest, in *",$_csw_index,"*) return 1 ;; esac
        case $_csw_index in 0?* | ?????*) return 1 ;; esac
    done
}

# __csw = $1 without blanks and tabs at its ends.
__cudaswitch_trim() {
    __csw=${1#"${1%%[!' 	']*}"}
    __csw=${__csw%"${__csw##*[!' 	']}"}
}

# __csw = the active environment; fails if there is none. Of two, it is the one whose programs come
# first on PATH.
__cudaswitch_active() {
    case ${VIRTUAL_ENV-}${CONDA_PREFIX-} in '') return 1 ;; esac
    __cudaswitch_virtualenv
    set -- "$__csw" "${CONDA_PREFIX-}"
    case ${1:+$2} in
        ?*) if __cudaswitch_before "$2" "$1"; then set -- "$2" "$1"; fi ;;
    esac
    for __csw; do
        case $__csw in /*) ;; *) continue ;; esac
        if [ -d "$__csw/conda-meta" ] || [ -f "$__csw/pyvenv.cfg" ] \
            || [ -f "$__csw/bin/activate_this.py" ]; then
            return 0
        fi
    done
    return 1
}

# __csw = the ready answer to what the frameworks of the environment $1 need, empty if they need
# nothing; fails if Python must be asked, because packages have changed since, or, with $2, because
# there is more to say about the answer.
__cudaswitch_automatic() {
    \local _csw_file _csw_rest _csw_caution IFS
    _csw_caution='' _csw_file='' _csw_rest=${1#/}/ IFS=''
    while [ -n "$_csw_rest" ]; do
        _csw_file=$_csw_file%${_csw_rest%%/*} _csw_rest=${_csw_rest#*/}
    done
    _csw_file=$_cudaswitch_root/auto/$_csw_file
    if ! [ -f "$_csw_file" ]; then return 1; fi
    if __cudaswitch_newer "$1" "$_csw_file"; then return 2; fi
    { \read -r _csw_rest && \read -r __csw && { \read -r _csw_caution || \:; }; } < "$_csw_file" || return 1
    if [ "$_csw_rest" != "$1" ] || [ -n "${2:+$_csw_caution}" ]; then return 1; fi
    [ -z "$__csw" ] || __cudaswitch_there "${__csw%%:*}"
}

# __csw = the ready answer to the request $1 if that is `auto`, for the pin $2 or for the active
# environment; fails if Python must be asked, also about one that needs nothing: Python may have
# refused it. $3 is $2 of the function above.
__cudaswitch_auto() {
    case $1:$2 in
        auto:*/etc/cudaswitch/pin) __csw=${2%/etc/cudaswitch/pin} ;;
        auto:*) __cudaswitch_active || return 1 ;;
        *) return 1 ;;
    esac
    __cudaswitch_automatic "$__csw" "${3-}" && [ -n "$__csw" ]
}
