# shellcheck shell=dash disable=SC2016,SC2317,SC3044  # `names` in messages; conda calls; bash only
# The change and its exact undo, for bash, zsh, dash and every other POSIX shell with `local`.
#
# State lives in exported variables, so that child shells can undo:
#   _CUDASWITCH_U X C V D  who wants what: `use`, CUDASWITCH_VERSION, conda environment,
#                          virtualenv, directory (or user). HOME[:option]..., `system`,
#                          or `gone` for a pin whose toolkit is not there any more
#   _CUDASWITCH_ON         the want that is applied now
#   _CUDASWITCH_BIN OLD LIB  what it put into PATH, _OLD_VIRTUAL_PATH and LD_LIBRARY_PATH:
#                          COUNT/dir:COUNT/dir, COUNT = copies that were there before us
#   _CUDASWITCH_LD         `unset` when LD_LIBRARY_PATH was
#   _CUDASWITCH_GONE       what a PATH computed earlier may bring back, in the form of BIN
#   _CUDASWITCH_WAS_NAME   the value of NAME before us, absent when it was unset

# __csw = the list $1 without the directories of the record $2, each taken out once, at its
# first place, and only where more copies stand than before us.
__cudaswitch_without() {
    \local items item dir count seen head
    __csw=:$1: items=$2
    while [ -n "$items" ]; do
        item=${items%%:*} items=${items#"$item"} items=${items#:}
        count=${item%%/*} dir=/${item#*/} seen=$__csw
        while :; do
            case $seen in
                *":$dir:"*) ;;
                *) continue 2 ;;
            esac
            if [ "$count" -le 0 ]; then break; fi
            head=${seen%%":$dir:"*} seen=${seen#"$head:$dir"} count=$((count - 1))
        done
        head=${__csw%%":$dir:"*} __csw=$head${__csw#"$head:$dir"}
    done
    __csw=${__csw#:} __csw=${__csw%:}
}

# __csw = the record COUNT/dir of the directory $2 for the list $1.
__cudaswitch_record() {
    \local rest head count
    rest=:$1: count=0
    while :; do
        case $rest in
            *":$2:"*) head=${rest%%":$2:"*} rest=${rest#"$head:$2"} count=$((count + 1)) ;;
            *) break ;;
        esac
    done
    __csw=$count$2
}

# Is the conda environment $1 before the virtualenv $2 on PATH, and so the active one?
__cudaswitch_before() {
    \local head
    head=:${PATH-}:
    case ${head%%":$2/bin:"*}: in
        *":$1/bin:"*) return 0 ;;
    esac
    return 1
}

# Does the active environment bring its own CUDA? $left is one that is just being left.
__cudaswitch_bundled() {
    \local env venv file found noglob failglob
    env=${CONDA_PREFIX-} venv=${VIRTUAL_ENV-} found=1 noglob='' failglob=''
    if [ "$env" = "${left-}" ]; then env=''; fi
    if [ "$venv" = "${left-}" ]; then venv=''; fi
    if [ -n "$venv" ]; then
        if [ -z "$env" ] || ! __cudaswitch_before "$env" "$venv"; then env=$venv; fi
    fi
    if [ -z "$env" ]; then return 1; fi
    case $- in *f*) noglob=1 && set +f ;; esac
    if [ -n "${BASH_VERSION-}" ] && \shopt -q failglob; then failglob=1 && \shopt -u failglob; fi
    for file in "$env"/lib/python[23]*/site-packages/nvidia/*/lib \
        "$env"/lib/python[23]*/site-packages/torch/lib/libtorch_cuda.so \
        "$env"/conda-meta/cudatoolkit-[0-9]*.json \
        "$env"/conda-meta/cuda-cudart-[0-9]*.json \
        "$env"/conda-meta/libcublas-[0-9]*.json; do
        if [ -e "$file" ]; then found=0 && break; fi
    done
    if [ -n "$noglob" ]; then set -f; fi
    if [ -n "$failglob" ]; then \shopt -s failglob; fi
    return "$found"
}

# $1 = set or give: the variables that the applied want $2 has, one after the other.
__cudaswitch_scalars() {
    \local way home value name ours now had
    way=$1 home=${2%%:*} value=$2:
    set -- CUDA_HOME "$home" CUDA_PATH "$home" CUDAToolkit_ROOT "$home"
    case $value in *:nvcc:*) set -- "$@" CUDACXX "$home/bin/nvcc" ;; esac
    case $value in
        *:gpus=*)
            value=${value#*:gpus=}
            set -- "$@" CUDA_VISIBLE_DEVICES "${value%%:*}" CUDA_DEVICE_ORDER PCI_BUS_ID
            ;;
    esac
    while [ $# -gt 0 ]; do
        name=$1 ours=$2
        shift 2
        if [ "$way" = set ]; then
            \eval "if [ -n \"\${$name+x}\" ]; then \\export _CUDASWITCH_WAS_$name=\"\$$name\"; fi"
            \export "$name=$ours"
        else
            \eval "now=\${$name-} had=\${_CUDASWITCH_WAS_$name+x} value=\${_CUDASWITCH_WAS_$name-}"
            if [ "$now" = "$ours" ]; then
                if [ -n "$had" ]; then \export "$name=$value"; else \unset "$name"; fi
            fi
            if [ -n "$had" ]; then \unset "_CUDASWITCH_WAS_$name"; fi
        fi
    done
}

# __csw = what the strongest asks for.
__cudaswitch_strongest() {
    __csw=${_CUDASWITCH_U:-${_CUDASWITCH_X-}}
    if [ -n "$__csw" ]; then return 0; fi
    __csw=${_CUDASWITCH_C:-${_CUDASWITCH_V:-${_CUDASWITCH_D-}}}
    if [ -n "${_CUDASWITCH_C-}" ] && [ -n "${_CUDASWITCH_V-}" ]; then
        __cudaswitch_before "${_CUDASWITCH_C##*:env=}" "${_CUDASWITCH_V##*:env=}" \
            || __csw=$_CUDASWITCH_V
    fi
}

# Undo what is applied and apply what the strongest asks for.
__cudaswitch_settle() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
    \local __csw want home search bin old ld ld_set lib dir libs IFS
    IFS=' ' lib='' bin=${_CUDASWITCH_BIN-}
    search=${PATH-} old=${_OLD_VIRTUAL_PATH-} ld=${LD_LIBRARY_PATH-} ld_set=${LD_LIBRARY_PATH+set}

    if [ -n "$bin${_CUDASWITCH_GONE-}" ]; then
        # A virtualenv that was left has brought back the PATH that it kept.
        if [ -z "$old${VIRTUAL_ENV-}" ]; then bin=${_CUDASWITCH_OLD:-$bin}; fi
        __cudaswitch_without "$search" "$bin"
        if [ -n "${_CUDASWITCH_GONE-}" ]; then __cudaswitch_without "$__csw" "$_CUDASWITCH_GONE"; fi
        search=$__csw
        if [ -n "$old" ]; then
            # An activation that came after us took its snapshot with our entries in it.
            __cudaswitch_without "$old" "${_CUDASWITCH_OLD:-$bin}"
            old=$__csw
        fi
    fi
    if [ -n "${_CUDASWITCH_LIB-}" ]; then
        __cudaswitch_without "$ld" "$_CUDASWITCH_LIB"
        if [ "$__csw" != "$ld" ]; then
            ld=$__csw
            if [ -z "$ld" ] && [ "${_CUDASWITCH_LD-}" = unset ]; then ld_set=''; fi
        fi
    fi
    if [ -n "${_CUDASWITCH_ON-}" ]; then __cudaswitch_scalars give "$_CUDASWITCH_ON"; fi
    \unset _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_OLD _CUDASWITCH_GONE _CUDASWITCH_LIB _CUDASWITCH_LD

    __cudaswitch_strongest
    want=$__csw
    home=${want%%:*}
    case $home in /*) ;; *) home='' ;; esac
    if [ -n "$home" ] && [ -d "$home/." ]; then
        __cudaswitch_record "$search" "$home/bin"
        \export "_CUDASWITCH_BIN=$__csw"
        search=$home/bin${search:+:$search}
        if [ -n "$old" ]; then
            __cudaswitch_record "$old" "$home/bin"
            \export "_CUDASWITCH_OLD=$__csw"
            old=$home/bin:$old
        fi
        libs=1
        case $want: in
            *:lib=never:*) libs='' ;;
            *:lib=always:*) ;;
            *) if __cudaswitch_bundled; then libs=''; fi ;;
        esac
        if [ -n "$libs" ]; then
            for dir in extras/CUPTI/lib64 lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib; do
                if [ -d "$home/$dir" ]; then
                    __cudaswitch_record "$ld" "$home/$dir"
                    lib=$__csw${lib:+:$lib} ld=$home/$dir${ld:+:$ld}
                    if [ "$dir" != extras/CUPTI/lib64 ]; then break; fi
                fi
            done
        fi
        if [ -n "$lib" ]; then
            \export "_CUDASWITCH_LIB=$lib"
            if [ -z "$ld_set" ]; then \export _CUDASWITCH_LD=unset ld_set=set; fi
        fi
        if [ -x "$home/bin/nvcc" ]; then want=$want:nvcc; fi
        __cudaswitch_scalars set "$want"
        \export "_CUDASWITCH_ON=$want"
    fi

    if [ "$search" != "${PATH-}" ]; then PATH=$search; fi
    if [ "$old" != "${_OLD_VIRTUAL_PATH-}" ]; then _OLD_VIRTUAL_PATH=$old; fi
    if [ "$ld_set:$ld" != "${LD_LIBRARY_PATH+set}:${LD_LIBRARY_PATH-}" ]; then
        if [ -n "$ld_set" ]; then \export "LD_LIBRARY_PATH=$ld"; else \unset LD_LIBRARY_PATH; fi
    fi
}

# The hook of an environment that is entered: owner C or V, its folder, toolkit, options.
__cudaswitch_enter() {
    \local home
    home=$3
    if [ "$home" != system ] && ! [ -d "$home/." ]; then
        home=gone
        if [ -t 2 ]; then
            printf 'cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n' \
                "$3" "$2" >&2
        fi
    fi
    \export "_CUDASWITCH_$1=$home${4:+:$4}:env=$2"
    __cudaswitch_settle
}

# The hook of an environment that is left: owner C or V, its folder.
__cudaswitch_leave() {
    \local before __csw gone item left
    left=$2
    \eval "before=\${_CUDASWITCH_$1-}"
    if [ -z "$before" ]; then return 0; fi
    before=${_CUDASWITCH_BIN-}
    \unset "_CUDASWITCH_$1"
    __cudaswitch_settle
    if [ "$1" = V ]; then return 0; fi
    # These are called once when conda has finished. Where they have another name, the next
    # hook or prompt repairs instead.
    gone=''
    if \command -v __conda_hashr > /dev/null; then
        __conda_hashr() { __cudaswitch_repair; }
        gone=repaired
    fi
    if \command -v __mamba_hashr > /dev/null; then
        __mamba_hashr() { __cudaswitch_repair; }
        gone=repaired
    fi
    # On a switch between environments and on reactivation conda goes on to export a PATH
    # that it computed before this hook ran: remember what that brings back, and what is
    # applied now, which it takes away. Only where nobody repairs it matters which it is.
    case $gone:$PATH: in
        repaired:* | *":$2/bin:"*) ;;
        *) before='' ;;
    esac
    before=$before${_CUDASWITCH_BIN:+:$_CUDASWITCH_BIN} before=${before#:}
    gone=''
    while [ -n "$before" ]; do
        item=${before%%:*} before=${before#"$item"} before=${before#:}
        __cudaswitch_record "$PATH" "/${item#*/}"
        gone=$__csw${gone:+:$gone}
    done
    if [ -n "$gone" ]; then \export "_CUDASWITCH_GONE=$gone"; fi
}

__cudaswitch_repair() {
    if [ -n "${_CUDASWITCH_GONE-}" ]; then __cudaswitch_settle; fi
    if [ -n "${ZSH_VERSION-}" ]; then \rehash; else \hash -r; fi
}
