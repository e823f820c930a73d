# shellcheck shell=dash disable=SC2154  # who uses this sets _cudaswitch_root
# Answers that need no Python, for `cudaswitch init` in bash and zsh and for the shims.
# $_cudaswitch_root is the store; requests/NAME in it holds the ready answer to a request.

# __csw = the ready answer to the request $1; fails where Python must be asked.
__cudaswitch_ready() {
    case $1 in '' | .* | -* | *[!A-Za-z0-9._+-]*) return 1 ;; esac
    if ! [ -f "$_cudaswitch_root/requests/$1" ]; then return 1; fi
    IFS= \read -r __csw < "$_cudaswitch_root/requests/$1" && [ -d "$__csw/." ]
}

# __csw = the ready answer to the version file $1; fails where Python must be asked.
__cudaswitch_read() {
    \local cuda cudnn mode line key value
    cuda='' cudnn='' mode=''
    if ! [ -O "$1" ]; then return 1; fi
    while IFS= \read -r line || [ -n "$line" ]; do
        __cudaswitch_trim "${line%%#*}"
        line=$__csw
        case $line in
            '') continue ;;
            *=*) key=${line%%=*} value=${line#*=} ;;
            *[' 	']*) key=${line%%[' 	']*} value=${line#*[' 	']} ;;
            *) key=cuda value=$line ;;
        esac
        __cudaswitch_trim "$value"
        value=$__csw
        __cudaswitch_trim "$key"
        case $value in '' | *[' 	=']*) return 1 ;; esac
        # Once each.
        case $__csw:$cuda:$cudnn:$mode in
            cuda::*) cuda=$value ;;
            cudnn:*::*) cudnn=$value ;;
            libraries:*:) mode=$value ;;
            *) return 1 ;;
        esac
    done < "$1"
    case $mode in '' | auto | always | never) ;; *) return 1 ;; esac
    __cudaswitch_ready "$cuda${cudnn:++cudnn$cudnn}" && __csw=$__csw${mode:+:lib=$mode}
}

# __csw = $1 without blanks and tabs at its ends.
__cudaswitch_trim() {
    __csw=${1#"${1%%[!' 	']*}"}
    __csw=${__csw%"${__csw##*[!' 	']}"}
}

# __csw = the nearest version file from the working directory upward, not above the home
# folder, else the user's; fails where there is none.
__cudaswitch_file() {
    \local dir
    dir=$PWD
    while :; do
        __csw=$dir/.cuda-version
        if [ -f "$__csw" ]; then return 0; fi
        if [ -z "$dir" ] || [ "$dir" = "${HOME-}" ]; then break; fi
        dir=${dir%/*}
    done
    __csw=$_cudaswitch_root/global
    [ -f "$__csw" ]
}
