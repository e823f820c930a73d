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
    \local cuda cudnn mode key value rest
    cuda='' cudnn='' mode=''
    if ! [ -O "$1" ]; then return 1; fi
    # A blank, a tab and `=`, spelled so that dash reads it too.
    while IFS=' 	=' \read -r key value rest || [ -n "$key" ]; do
        case $key in
            '' | '#'*) continue ;;
            cuda | cudnn | libraries) ;;
            *) rest=$value$rest value=$key key=cuda ;;
        esac
        case $rest in '' | '#'*) ;; *) return 1 ;; esac
        case $key$cuda$cudnn$mode in
            cuda"$cudnn$mode") cuda=$value ;;
            cudnn"$cuda$mode") cudnn=$value ;;
            libraries"$cuda$cudnn") mode=$value ;;
            *) return 1 ;;
        esac
    done < "$1"
    case $mode in '' | auto | always | never) ;; *) return 1 ;; esac
    __cudaswitch_ready "$cuda${cudnn:++cudnn$cudnn}" && __csw=$__csw${mode:+:lib=$mode}
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
