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
#   _CUDASWITCH_CC XLA     the word that it put into NVCC_PREPEND_FLAGS, and XLA_FLAGS
#   _CUDASWITCH_GONE       what a PATH computed earlier may bring back, in the form of BIN
#   _CUDASWITCH_WAS_NAME   the value of NAME before us, absent when it was unset

# __csw = the list $1 without the directories of the record $2, each taken out once, at its
# first place, and only where more copies stand than before us.
__cudaswitch_without() {
    \local items item dir count seen
    __csw=:$1: items=${2:+$2:}
    while [ -n "$items" ]; do
        item=${items%%:*} items=${items#*:}
        dir=/${item#*/} count=${item%%/*} seen=$__csw
        while [ "$count" -gt 0 ]; do
            case $seen in
                *":$dir:"*) seen=:${seen#*":$dir:"} count=$((count - 1)) ;;
                *) continue 2 ;;
            esac
        done
        case $seen in *":$dir:"*) __csw=${__csw%%":$dir:"*}:${__csw#*":$dir:"} ;; esac
    done
    __csw=${__csw#:} __csw=${__csw%:}
}

# __csw = the record COUNT/dir:COUNT/dir of the directories $2 for the list $1.
__cudaswitch_record() {
    \local dirs dir rest count
    __csw='' dirs=$2:
    while [ -n "$dirs" ]; do
        dir=${dirs%%:*} dirs=${dirs#*:} rest=:$1: count=0
        while :; do
            case $rest in
                *":$dir:"*) rest=:${rest#*":$dir:"} count=$((count + 1)) ;;
                *) break ;;
            esac
        done
        __csw=${__csw:+$__csw:}$count$dir
    done
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

# Run a command with patterns expanded as POSIX has it, whatever the person has set.
__cudaswitch_globbing() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
    # shellcheck disable=SC3028  # elsewhere there is no such variable
    case "${BASHOPTS-} $-" in
        *failglob* | *" "*f*) __cudaswitch_globbing_now "$@" ;;
        *) "$@" ;;
    esac
}

# The same where patterns are not expanded, or are to match.
__cudaswitch_globbing_now() {
    \local noglob failglob code
    noglob='' failglob='' code=0
    case $- in *f*) noglob=1 && set +f ;; esac
    # shellcheck disable=SC3028  # elsewhere there is no such variable
    case ${BASHOPTS-} in *failglob*) failglob=1 && \shopt -u failglob ;; esac
    "$@" || code=$?
    if [ -n "$noglob" ]; then set -f; fi
    if [ -n "$failglob" ]; then \shopt -s failglob; fi
    return "$code"
}

# $1 = set or give: the variables that the applied want $2 has. $1 = forget: what conda keeps of
# those that the want $2 had, whose values before are in _cudaswitch_was_NAME.
__cudaswitch_scalars() {
    \local __csw way home name ours was
    way=$1 home=${2%%:*}
    set -- "$2:" CUDA_HOME "$home" CUDA_PATH "$home" CUDAToolkit_ROOT "$home"
    case $1 in *:nvcc:*) set -- "$@" CUDACXX "$home/bin/nvcc" ;; esac
    case $1 in
        *:gpus=*)
            ours=${1#*:gpus=}
            set -- "$@" CUDA_VISIBLE_DEVICES "${ours%%:*}" CUDA_DEVICE_ORDER PCI_BUS_ID
            ;;
    esac
    case $way in
        set) __cudaswitch_flags_set "$1" ;;
        give) __cudaswitch_flags_give ;;
        forget) __cudaswitch_flags_forget "${_cudaswitch_undone_cc-}" "${_cudaswitch_undone_xla-}" ;;
    esac
    shift
    while [ $# -gt 0 ]; do
        name=$1 ours=$2 was=_CUDASWITCH_WAS_$1
        shift 2
        if [ "$way" = set ]; then
            \eval "if [ -n \"\${$name+x}\" ]; then \\export $was=\"\$$name\"; fi"
            \export "$name=$ours"
        elif [ "$way" = forget ]; then
            was=''
            if [ -n "$_cudaswitch_gave" ]; then \eval "was=\${_cudaswitch_was_$name-}"; fi
            __cudaswitch_copies "$name" "$ours" "$was"
        else
            \eval "_cudaswitch_gave=1 _cudaswitch_was_$name=\${$was-}"
            if [ -n "${CONDA_PREFIX-}" ]; then
                \eval "__cudaswitch_copies $name \"\$ours\" \"\${$was-}\""
            fi
            \eval "if [ \"\${$name-}\" != \"\$ours\" ]; then :
                elif [ -n \"\${$was+x}\" ]; then $name=\$$was
                else \\unset $name
                fi"
            \unset "$was"
        fi
    done
}

# __csw = what the strongest asks for.
__cudaswitch_strongest() {
    __csw=${_CUDASWITCH_U:-${_CUDASWITCH_X:-${_CUDASWITCH_C:-${_CUDASWITCH_V:-${_CUDASWITCH_D-}}}}}
    case ${_CUDASWITCH_V:+$__csw} in
        "${_CUDASWITCH_C:-none}")
            __cudaswitch_before "${_CUDASWITCH_C##*:env=}" "${_CUDASWITCH_V##*:env=}" \
                || __csw=$_CUDASWITCH_V
            ;;
    esac
}

# Undo what is applied and apply what the strongest asks for. What is usual, a toolkit that
# stands in front and variables that nobody else has set, takes the short ways; bash copies a
# function for each call, so what is not usual has functions of its own.
__cudaswitch_settle() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
    \local __csw want home search old ld ld_set IFS
    IFS=' ' search=${PATH-} old=${_OLD_VIRTUAL_PATH-}
    ld=${LD_LIBRARY_PATH-} ld_set=${LD_LIBRARY_PATH+set}

    if [ -n "${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-}" ]; then
        case "$search|$ld|$old${_CUDASWITCH_OLD-}${_CUDASWITCH_GONE-}" in
            "${_cudaswitch_path:-none}|${_cudaswitch_ld-}|")
                search=$_cudaswitch_path_was ld=$_cudaswitch_ld_was ld_set=$_cudaswitch_ld_was_set
                ;;
            *) __cudaswitch_undo ;;
        esac
        case "${_CUDASWITCH_ON:+${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}}" in
            '') ;;
            "${_cudaswitch_plain-}") \unset CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX ;;
            *) __cudaswitch_scalars give "$_CUDASWITCH_ON" ;;
        esac
        _cudaswitch_plain=''
        \unset _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_OLD _CUDASWITCH_GONE \
            _CUDASWITCH_LIB _CUDASWITCH_LD
    fi

    __cudaswitch_strongest
    want=$__csw home=${__csw%%:*}
    case $home in /*) if [ -d "$home/." ]; then __cudaswitch_apply; fi ;; esac

    if [ "$search" != "${PATH-}" ]; then PATH=$search; fi
    if [ "$old" != "${_OLD_VIRTUAL_PATH-}" ]; then _OLD_VIRTUAL_PATH=$old; fi
    if [ "$ld_set:$ld" != "${LD_LIBRARY_PATH+set}:${LD_LIBRARY_PATH-}" ]; then
        if [ -n "$ld_set" ]; then \export "LD_LIBRARY_PATH=$ld"; else \unset LD_LIBRARY_PATH; fi
    fi
}

# $search, $old, $ld and $ld_set without what is applied.
__cudaswitch_undo() {
    \local bin
    bin=${_CUDASWITCH_BIN-}
    # A virtualenv that was left has brought back the PATH that it kept.
    if [ -z "$old${VIRTUAL_ENV-}" ]; then bin=${_CUDASWITCH_OLD:-$bin}; fi
    case 0$search: in
        "$bin:"?*) search=${search#*:} ;;
        *)
            __cudaswitch_without "$search" "$bin"
            search=$__csw
            ;;
    esac
    if [ -n "${_CUDASWITCH_GONE-}" ]; then
        __cudaswitch_without "$search" "$_CUDASWITCH_GONE"
        search=$__csw
    fi
    if [ -n "$old" ]; then
        # An activation that came after us took its snapshot with our entries in it.
        __cudaswitch_without "$old" "${_CUDASWITCH_OLD:-$bin}"
        old=$__csw
    fi
    if [ -z "${_CUDASWITCH_LIB-}" ]; then
        return 0
    elif [ "${ld:-none}" = "${_cudaswitch_ld-}" ]; then
        ld=$_cudaswitch_ld_was ld_set=$_cudaswitch_ld_was_set
        return 0
    fi
    if [ -n "${CONDA_PREFIX-}" ]; then
        __cudaswitch_copies LD_LIBRARY_PATH "$_CUDASWITCH_LIB" ''
    fi
    __cudaswitch_without "$ld" "$_CUDASWITCH_LIB"
    if [ "$__csw" != "$ld" ]; then
        ld=$__csw
        if [ -z "$ld" ] && [ "${_CUDASWITCH_LD-}" = unset ]; then ld_set=''; fi
    fi
}

# Put the toolkit $home of $want into $search, $old and $ld, and set the variables that say so.
# As long as nobody touches them, what was there before is known, and need not be worked out.
__cudaswitch_apply() {
    \local dir lib lib0 xla
    dir=$home/bin lib='' lib0='' xla=''
    if ! __cudaswitch_left_alone; then
        for lib0 in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib; do
            if [ -d "$home/$lib0" ]; then lib=$home/$lib0 && break; fi
        done
        lib0=${lib:+0$lib}
        if [ -d "$home/extras/CUPTI/lib64" ]; then
            lib=${lib:+$lib:}$home/extras/CUPTI/lib64
            lib0=${lib0:+$lib0:}0$home/extras/CUPTI/lib64
        fi
    fi
    __csw=0$dir _cudaswitch_path_was=$search _cudaswitch_ld_was=$ld _cudaswitch_ld_was_set=$ld_set
    case :$search: in *":$dir:"*) __cudaswitch_record "$search" "$dir" ;; esac
    \export "_CUDASWITCH_BIN=$__csw"
    search=$dir${search:+:$search}
    if [ -n "$old" ]; then
        __cudaswitch_record "$old" "$dir"
        \export "_CUDASWITCH_OLD=$__csw"
        old=$dir:$old
    fi
    if [ -n "$lib" ]; then
        case :$ld in *":$home/"*) __cudaswitch_record "$ld" "$lib" && lib0=$__csw ;; esac
        if [ -z "$ld_set" ]; then \export _CUDASWITCH_LD=unset; fi
        ld=$lib${ld:+:$ld} ld_set=set
        \export "_CUDASWITCH_LIB=$lib0"
    fi
    # Not so where LD_LIBRARY_PATH is not ours.
    _cudaswitch_path=${lib:+$search} _cudaswitch_ld=$ld
    if [ -x "$dir/nvcc" ]; then want=$want:nvcc; fi
    \export "_CUDASWITCH_ON=$want"
    case $want:${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x}$xla in
        *:gpus=* | *:cc=*) __cudaswitch_scalars set "$want" ;;
        *:nvcc:)
            _cudaswitch_plain=$home:$home:$home:$dir/nvcc
            \export "CUDA_HOME=$home" "CUDA_PATH=$home" "CUDAToolkit_ROOT=$home" \
                "CUDACXX=$dir/nvcc"
            ;;
        *) __cudaswitch_scalars set "$want" ;;
    esac
}

# Does LD_LIBRARY_PATH stay as it is, because that is asked for, or because the active environment
# brings its own CUDA? Looks into the environment in either case, for $xla.
__cudaswitch_left_alone() {
    case $want:${CONDA_PREFIX-}${VIRTUAL_ENV-} in
        *:lib=never:*) __cudaswitch_bundled || : ;;
        *:lib=always:*)
            __cudaswitch_bundled || :
            return 1
            ;;
        "$want:") return 1 ;;
        *) __cudaswitch_bundled ;;
    esac
}

# The hook of an environment that is entered: owner C or V, its folder, toolkit, options,
# and whether the request is `auto`.
__cudaswitch_enter() {
    \local home flags
    home=$3${4:+:$4}
    if [ -n "${5-}" ] && __cudaswitch_globbing __cudaswitch_newer "$2" "$2/etc/cudaswitch/want"; then
        if [ -n "${_cudaswitch_program-}" ]; then
            home=$("$_cudaswitch_program" want --environment "$2") || home=$3${4:+:$4}
        elif [ -t 2 ]; then
            printf 'cudaswitch: `%s` has other packages than when it was pinned\n' "$2" >&2
            printf 'hint: cudaswitch pin auto\n' >&2
        fi
    fi
    if [ "$home" != system ] && ! [ -d "${home%%:*}/." ]; then
        if [ -t 2 ]; then
            printf 'cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n' \
                "${home%%:*}" "$2" >&2
        fi
        home=gone
    fi
    # The conda environment that was left had a toolkit, and this one has variables of its own.
    flags=${_cudaswitch_undone_cc-}${_cudaswitch_undone_xla-}
    case ${1#V}${_cudaswitch_undone:+:${LD_LIBRARY_PATH-}|${CUDA_HOME-}${CUDA_PATH-}${CUDACXX-}$flags} in
        C | "C:${_cudaswitch_ld_was-}|") ;;
        C:*)
            __cudaswitch_copies LD_LIBRARY_PATH "$_cudaswitch_undone_lib" ''
            __cudaswitch_scalars forget "$_cudaswitch_undone"
            ;;
    esac
    \export "_CUDASWITCH_$1=${home}:env=$2"
    __cudaswitch_settle
}

# The hook of an environment that is left: owner C or V, its folder.
__cudaswitch_leave() {
    \local before now repaired __csw left
    # shellcheck disable=SC2034  # bundled.sh reads it
    left=$2
    \eval "before=\${_CUDASWITCH_$1-}"
    if [ -z "$before" ]; then return 0; fi
    before=${_CUDASWITCH_BIN-}
    _cudaswitch_undone=${_CUDASWITCH_ON-} _cudaswitch_undone_lib=${_CUDASWITCH_LIB-}
    _cudaswitch_undone_cc=${_CUDASWITCH_CC-} _cudaswitch_undone_xla=${_CUDASWITCH_XLA-}
    _cudaswitch_gave=''
    # Where the environment below was active at the last prompt, nothing else tells the next one.
    _cudaswitch_seen=''
    \unset "_CUDASWITCH_$1"
    __cudaswitch_settle
    if [ "$1" = V ]; then return 0; fi
    # These are called once when conda has finished. Where they have another name, the next
    # hook or prompt repairs instead.
    repaired=''
    if \command -v __conda_hashr > /dev/null; then
        __conda_hashr() { __cudaswitch_repair; }
        repaired=1
    fi
    if [ -n "${MAMBA_EXE-}" ] && \command -v __mamba_hashr > /dev/null; then
        __mamba_hashr() { __cudaswitch_repair; }
        repaired=1
    fi
    # On a switch between environments and on reactivation conda goes on to export a PATH
    # that it computed before this hook ran: remember what that brings back, and what is
    # applied now, which it takes away. Only where nobody repairs it matters which it is.
    case $repaired:$PATH: in
        1:* | *":$2/bin:"*) ;;
        *) before='' ;;
    esac
    now=${_CUDASWITCH_BIN-}
    if [ -z "$before$now" ]; then return 0; fi
    before=${before:+/${before#*/}} now=${now:+/${now#*/}} __csw=0$before
    case "$now|:$PATH:" in
        "|"*":$before:"* | /*) __cudaswitch_record "$PATH" "$before${now:+${before:+:}$now}" ;;
    esac
    \export "_CUDASWITCH_GONE=$__csw"
}

# conda has finished, and what a PATH of its own brought back goes. Usually nothing did.
__cudaswitch_repair() {
    case "${_CUDASWITCH_GONE-}|${_CUDASWITCH_ON-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}|:$PATH:" in
        "|"*) ;;
        *":${_CUDASWITCH_GONE#0}:"*) __cudaswitch_settle ;;
        "0${_CUDASWITCH_GONE#0}||"*) \unset _CUDASWITCH_GONE ;;
        *) __cudaswitch_settle ;;
    esac
    if [ -n "${ZSH_VERSION-}" ]; then \rehash; else \hash -r; fi
}
