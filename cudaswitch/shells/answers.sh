# shellcheck shell=dash disable=SC2154  # who uses this sets _cudaswitch_root
# Answers that need no Python, for `cudaswitch init` in bash and zsh and for the shims.
# $_cudaswitch_root is the store; requests/NAME in it holds the ready answer to a request.

# __csw = the ready answer to the request $1; fails where Python must be asked.
__cudaswitch_ready() {
    case $1 in '' | .* | -* | *[!A-Za-z0-9._+-]*) return 1 ;; esac
    if ! [ -f "$_cudaswitch_root/requests/$1" ]; then return 1; fi
    # `read` makes zsh one system call for each byte, and what dash would not read is no process.
    # shellcheck disable=SC3034
    if [ -n "${ZSH_VERSION-}" ]; then
        __csw=$(< "$_cudaswitch_root/requests/$1")
    else
        IFS= \read -r __csw < "$_cudaswitch_root/requests/$1"
    fi && [ -d "${__csw%%:*}/." ]
}

# __csw = the ready answer to the version file $1; fails where Python must be asked.
__cudaswitch_read() {
    \local cuda cudnn mode gpus rest line key value
    cuda='' cudnn='' mode='' gpus=''
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
        case $__csw:$cuda:$cudnn:$mode:$gpus in
            cuda::*) cuda=$value ;;
            cudnn:*::*:*) cudnn=$value ;;
            libraries:*:*::*) mode=$value ;;
            gpus:*:) gpus=$value ;;
            *) return 1 ;;
        esac
    done < "$1"
    case $mode in '' | auto | always | never) ;; *) return 1 ;; esac
    # Indices only, each once; the rest of what may be said is Python's to check.
    case $gpus in -1) ;; *[!0-9,]* | *,,* | ,* | *,) return 1 ;; esac
    rest=$gpus
    while [ -n "$rest" ]; do
        value=${rest%%,*} rest=${rest#"$value"} rest=${rest#,}
        case ,$rest, in *",$value,"*) return 1 ;; esac
        case $value in ?????*) return 1 ;; esac
    done
    __cudaswitch_ready "$cuda${cudnn:++cudnn$cudnn}" || return 1
    __csw=$__csw${mode:+:lib=$mode}${gpus:+:gpus=$gpus}
}

# __csw = $1 without blanks and tabs at its ends.
__cudaswitch_trim() {
    __csw=${1#"${1%%[!' 	']*}"}
    __csw=${__csw%"${__csw##*[!' 	']}"}
}

# __csw = the active environment; fails where there is none. Of two that one is, whose
# programs come first on PATH.
__cudaswitch_active() {
    \local venv conda before env
    venv=${VIRTUAL_ENV-} conda=${CONDA_PREFIX-}
    before=:$PATH: before=${before%%":$conda/bin:"*}:
    case $before in
        *":$venv/bin:"* | ":$PATH::") ;;
        *) env=$venv venv=$conda conda=$env ;;
    esac
    for __csw in "$venv" "$conda"; do
        if [ -z "$__csw" ]; then continue; fi
        if [ -d "$__csw/conda-meta" ] || [ -f "$__csw/pyvenv.cfg" ] \
            || [ -f "$__csw/bin/activate_this.py" ]; then
            return 0
        fi
    done
    return 1
}

# __csw = the ready answer to what the frameworks of the environment $1 need, empty where
# they need nothing; fails where Python must be asked, because packages have changed since.
__cudaswitch_automatic() {
    \local file rest
    file='' rest=${1#/}/
    while [ -n "$rest" ]; do
        file=$file%${rest%%/*} rest=${rest#*/}
    done
    file=$_cudaswitch_root/auto/$file
    if ! [ -f "$file" ] || __cudaswitch_newer "$1" "$file"; then return 1; fi
    { IFS= \read -r rest && IFS= \read -r __csw; } < "$file" || return 1
    if [ "$rest" != "$1" ]; then return 1; fi
    [ -z "$__csw" ] || [ -d "${__csw%%:*}/." ]
}
