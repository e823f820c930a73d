# shellcheck shell=bash disable=SC1090,SC2154  # zsh runs it too; hooks are found at run time; `shells.init` sets
# What `cudaswitch init` adds to core.sh in bash and zsh: the function that changes this
# shell, and the look-round that the prompt asks for when environment or directory changed.
# $_cudaswitch_program is the command itself, which need not be on an environment's PATH.

# What the directory asks for, else the frameworks of the active environment, else the
# user: _CUDASWITCH_D. $_cudaswitch_file is the version file of the directory.
__cudaswitch_directory() {
    \local _csw_env
    \unset _CUDASWITCH_D
    _cudaswitch_file='' _cudaswitch_text=''
    if __cudaswitch_file; then
        _cudaswitch_file=$__csw
        __cudaswitch_content
        __cudaswitch_read "$_cudaswitch_file" \
            || __cudaswitch_ask_once "$_cudaswitch_file:$_cudaswitch_text" --file "$_cudaswitch_file"
    elif __cudaswitch_active && _csw_env=$__csw && __cudaswitch_framework "$_csw_env"; then
        :
    elif [ -f "$_cudaswitch_root/global" ]; then
        __cudaswitch_read "$_cudaswitch_root/global" \
            || __cudaswitch_ask_once global --file "$_cudaswitch_root/global"
    else
        __csw=''
    fi
    if [ -n "$__csw" ]; then \export "_CUDASWITCH_D=$__csw"; fi
}

# _cudaswitch_text = the content of the version file, to see it change.
__cudaswitch_content() {
    _cudaswitch_text=''
    if ! { [ -O "$_cudaswitch_file" ] && [ -r "$_cudaswitch_file" ]; }; then return 0; fi
    if [ -n "${ZSH_VERSION-}" ]; then
        _cudaswitch_text=$(< "$_cudaswitch_file")
    else
        IFS= \read -r -d '' _cudaswitch_text < "$_cudaswitch_file" || :
    fi
}

# Has the version file that decides changed, or is there a nearer one? Not asked where the
# shell or an environment decides.
__cudaswitch_edited() {
    \local _csw_text
    if [ -n "${_CUDASWITCH_U-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then return 1; fi
    if [ -f .cuda-version ] && [ "${_cudaswitch_file-}" != "$PWD/.cuda-version" ]; then return 0; fi
    if [ -z "${_cudaswitch_file-}" ]; then return 1; fi
    _csw_text=$_cudaswitch_text
    __cudaswitch_content
    [ "$_csw_text" != "$_cudaswitch_text" ] || ! [ -f "$_cudaswitch_file" ]
}

# __csw = the want of the frameworks in the environment $1; fails where they have none.
__cudaswitch_framework() {
    if ! __cudaswitch_globbing __cudaswitch_automatic "$1"; then
        __cudaswitch_ask_once "$1" --environment "$1"
    fi
    [ -n "$__csw" ]
}

# __csw = what Python answers to the rest of the arguments, which it is asked, and complains
# of, once as long as $1 is the same: on the way into a tree, not at every step within.
__cudaswitch_ask_once() {
    \local _csw_about
    _csw_about=$1
    if [ "$_csw_about" != "${_cudaswitch_asked-}" ]; then
        shift
        _cudaswitch_asked=interrupted
        if _cudaswitch_answer=$("$_cudaswitch_program" want "$@"); then
            _cudaswitch_asked=$_csw_about
        else
            # A question that Ctrl-C ended is asked again.
            case $? in 130) ;; *) _cudaswitch_asked=$_csw_about ;; esac
            _cudaswitch_answer=''
        fi
    fi
    __csw=$_cudaswitch_answer
}

# Drop what belongs to an environment that was left, take up what the environment, the
# directory or the user asks for, and settle.
__cudaswitch_look() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
    \local __csw _csw_env _csw_before _csw_hook _csw_moved
    _csw_before=${_CUDASWITCH_ON-} _csw_moved=1
    case ${_cudaswitch_seen-} in
        "${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*) _csw_moved='' ;;
        *) _cudaswitch_asked='' ;;
    esac
    _csw_env=${_CUDASWITCH_V-}
    if [ -n "$_csw_env" ] && [ "${_csw_env##*:env=}" != "${VIRTUAL_ENV-}" ]; then
        \unset _CUDASWITCH_V
    fi
    _csw_env=${_CUDASWITCH_C-}
    if [ -n "$_csw_env" ] && [ "${_csw_env##*:env=}" != "${CONDA_PREFIX-}" ]; then
        # Below a stacked environment this one is still active: its folder is on PATH.
        case :$PATH: in *":${_csw_env##*:env=}/bin:"*) ;; *) \unset _CUDASWITCH_C ;; esac
    fi
    # A hook that did not run: its activate script was rewritten, or bypassed.
    _csw_hook="${VIRTUAL_ENV-}/etc/cudaswitch/on.sh"
    if [ -z "${_CUDASWITCH_V-}" ] && [ -n "${VIRTUAL_ENV-}" ] && [ -f "$_csw_hook" ]; then
        \. "$_csw_hook"
    fi
    _csw_hook="${CONDA_PREFIX-}/etc/conda/activate.d/~~cudaswitch.sh"
    if [ -z "${_CUDASWITCH_C-}" ] && [ -n "${CONDA_PREFIX-}" ] && [ -f "$_csw_hook" ]; then
        \. "$_csw_hook"
    fi
    case "${_cudaswitch_seen-}" in
        *"|${CUDASWITCH_VERSION-}") ;;
        *)
            if [ -z "${CUDASWITCH_VERSION-}" ]; then
                \unset _CUDASWITCH_X
            elif __cudaswitch_ready "$CUDASWITCH_VERSION" \
                || __csw=$("$_cudaswitch_program" want -- "$CUDASWITCH_VERSION"); then
                \export "_CUDASWITCH_X=$__csw"
            fi
            ;;
    esac
    if [ -n "${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then
        \unset _CUDASWITCH_D
        _cudaswitch_file=''
    elif [ -z "${_CUDASWITCH_U-}" ]; then
        __cudaswitch_directory
    fi
    # Without a reason nothing is touched: people put their own folders before ours.
    __cudaswitch_strongest
    if [ -n "$_csw_moved${_CUDASWITCH_GONE-}" ] || [ "$__csw" != "${_csw_before%:nvcc}" ]; then
        __cudaswitch_settle
    fi
    if [ "${_cudaswitch_asked-}" != interrupted ]; then
        _cudaswitch_seen="${CONDA_PREFIX-}|${VIRTUAL_ENV-}|$PWD|${CUDASWITCH_VERSION-}"
    fi
    if [ "$_csw_before" != "${_CUDASWITCH_ON-}" ] && [ -z "${CUDASWITCH_QUIET-}" ]; then
        __cudaswitch_say
    fi
}

# One line on what is active now.
__cudaswitch_say() {
    \local _csw_home
    _csw_home=${_CUDASWITCH_ON-}
    if [ -z "$_csw_home" ]; then
        printf 'cudaswitch: no toolkit\n' >&2
        return 0
    fi
    _csw_home=${_csw_home%%:*}
    __cudaswitch_lacking "$_CUDASWITCH_ON"
    case ${_CUDASWITCH_LIB-}$_CUDASWITCH_ON in
        /*:lib=never*) __csw=" (LD_LIBRARY_PATH left alone, as asked)$__csw" ;;
        /*) __csw=" (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)$__csw" ;;
    esac
    printf 'cudaswitch: CUDA %s%s\n' "${_csw_home##*/}" "$__csw" >&2
}

# This shell's own choice is the want $1 from now on, none when it is empty.
__cudaswitch_choose() {
    \export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}" "_CUDASWITCH_U=$1"
    if [ -n "$1" ]; then
        __cudaswitch_settle
        if [ -z "${CUDASWITCH_QUIET-}" ]; then __cudaswitch_say; fi
    else
        \unset _CUDASWITCH_U
        __cudaswitch_look
    fi
}

# `use` of $__csw, which has no options, in place of another toolkit. There is nothing to work out
# as long as nobody has touched what was applied; fails, with nothing done, where it is not so.
__cudaswitch_swap() {
    \local _csw_home _csw_lib _csw_lib0 _csw_xla
    _csw_home=$__csw _csw_lib=$_csw_home/lib64 _csw_lib0=0$_csw_home/lib64 _csw_xla=''
    if [ "$PATH|${LD_LIBRARY_PATH-}|${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}|" \
        != "${_cudaswitch_path-}|${_cudaswitch_ld-}|${_cudaswitch_plain-}|" ] \
        || [ -n "${_OLD_VIRTUAL_PATH-}${_CUDASWITCH_GONE-}" ] || ! [ -d "$_csw_lib" ] || ! [ -x "$_csw_home/bin/nvcc" ]; then
        return 1
    fi
    case "$_csw_home:$_cudaswitch_path_was:$_cudaswitch_ld_was" in *":$_csw_home/"*) return 1 ;; esac
    if [ -n "${CONDA_PREFIX-}${VIRTUAL_ENV-}" ]; then
        if __cudaswitch_bundled || [ -n "$_csw_xla" ]; then return 1; fi
    fi
    if [ -n "${CONDA_SHLVL-}" ]; then
        __cudaswitch_kept
        if [ -n "$__csw" ]; then
            __csw=$_csw_home
            return 1
        fi
    fi
    if [ -d "$_csw_home/extras/CUPTI/lib64" ]; then
        _csw_lib=$_csw_lib:$_csw_home/extras/CUPTI/lib64
        _csw_lib0=$_csw_lib0:0$_csw_home/extras/CUPTI/lib64
    fi
    \export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}" "_CUDASWITCH_U=$_csw_home"
    _CUDASWITCH_ON=$_csw_home:nvcc _CUDASWITCH_BIN=0$_csw_home/bin _CUDASWITCH_LIB=$_csw_lib0
    PATH=$_csw_home/bin${_cudaswitch_path_was:+:$_cudaswitch_path_was}
    LD_LIBRARY_PATH=$_csw_lib${_cudaswitch_ld_was:+:$_cudaswitch_ld_was}
    CUDA_HOME=$_csw_home CUDA_PATH=$_csw_home CUDAToolkit_ROOT=$_csw_home
    CUDACXX=$_csw_home/bin/nvcc _cudaswitch_path=$PATH _cudaswitch_ld=$LD_LIBRARY_PATH
    _cudaswitch_plain=$_csw_home:$_csw_home:$_csw_home:$CUDACXX
    if [ -z "${CUDASWITCH_QUIET-}" ]; then
        printf 'cudaswitch: CUDA %s\n' "${_csw_home##*/}" >&2
    fi
}

cudaswitch() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
    \local __csw
    if [ "$#:${1-}" = 2:use ] && __cudaswitch_ready "$2"; then
        case $__csw in
            *:*) __cudaswitch_choose "$__csw" ;;
            *) __cudaswitch_swap || __cudaswitch_choose "$__csw" ;;
        esac
    else
        __cudaswitch_command "$@"
    fi
}

# What there is no ready answer to.
__cudaswitch_command() {
    \local _csw_arg
    case ${1-} in
        use | off | pin | unpin | install | adopt | remove | alias) ;;
        *)
            "$_cudaswitch_program" "$@"
            return
            ;;
    esac
    for _csw_arg; do
        case $_csw_arg in
            -h | --help)
                "$_cudaswitch_program" "$@"
                return
                ;;
        esac
    done
    case $1 in
        use)
            if [ $# -eq 2 ] && [ "$2" = - ]; then
                if [ -z "${_CUDASWITCH_PREVIOUS+x}" ]; then
                    printf 'cudaswitch: there is no earlier choice in this shell\n' >&2
                    printf 'hint: cudaswitch use VERSION\n' >&2
                    return 1
                fi
                __csw=$_CUDASWITCH_PREVIOUS
            elif [ $# -eq 2 ] && [ "$2" = system ]; then
                __csw=system
            else
                shift
                __csw=$("$_cudaswitch_program" want --for-use "$@") || return
            fi
            __cudaswitch_choose "$__csw"
            ;;
        off)
            if [ $# -gt 1 ]; then
                "$_cudaswitch_program" "$@"
                return
            fi
            __cudaswitch_choose ''
            ;;
        *)
            "$_cudaswitch_program" "$@" || return
            # What the hook of an active environment asks for may be another thing now.
            case ${_CUDASWITCH_C-} in *":env=${CONDA_PREFIX-}") \unset _CUDASWITCH_C ;; esac
            case ${_CUDASWITCH_V-} in *":env=${VIRTUAL_ENV-}") \unset _CUDASWITCH_V ;; esac
            _cudaswitch_seen='' _cudaswitch_asked=''
            __cudaswitch_look
            ;;
    esac
}
