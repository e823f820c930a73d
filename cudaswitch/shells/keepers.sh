# shellcheck shell=bash disable=SC2154  # zsh runs it too; lazy.sh and core.sh set them
# Tools that save variables, and restore them at a prompt.

# Has somebody removed what is applied? With $1, a CUDA_HOME that the user has set since does not
# count as removed.
__cudaswitch_lost() {
    case ${_CUDASWITCH_ON-} in '') return 1 ;; esac
    case ${1:+${CUDA_HOME-}} in
        '' | "${_CUDASWITCH_WAS_CUDA_HOME-}") set -- "${CUDA_HOME-}" ;;
        *) set -- "${_CUDASWITCH_ON%%:*}" ;;
    esac
    __csw=${_CUDASWITCH_LIB-} __csw=${__csw%%:*}
    case ":${PATH-}:|:${LD_LIBRARY_PATH-}:|$1" in
        *":/${_CUDASWITCH_BIN#*/}:"*"|"*":${__csw:+/${__csw#*/}:}"*"|${_CUDASWITCH_ON%%:*}")
            return 1
            ;;
    esac
}

# If a tool that saves variables (direnv, mise, nodeenv, flox) has come, gone, or moved to another
# directory tree since the last call: remove what it has restored of ours, and note what it saves
# now. What it restores contains what was applied each time that happened.
__cudaswitch_keepers() {
    \local _csw_diffs _csw_now _csw_want _csw_kept _csw_between
    _csw_diffs=${DIRENV_DIFF-}\|${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}
    _csw_now=$_csw_diffs${__MISE_DIFF:+\|${LD_LIBRARY_PATH-}${PATH-}}
    case $_csw_now in "$_cudaswitch_keepers") return 0 ;; esac
    _csw_between=''
    case ${_cudaswitch_keepers-} in
        \|) ;;
        # Nobody has moved: mise may have set PATH again, to what that was when mise was loaded, or
        # the user may have set it.
        "$_csw_diffs|"*) __cudaswitch_off_path "${__MISE_ORIG_PATH-}" ;;
        *)
            # Between trees, direnv has removed what the first one had, which we may have found at
            # the `cd`.
            _csw_between=between
            __cudaswitch_off_path
            __cudaswitch_left_over "${LD_LIBRARY_PATH-}" "$_cudaswitch_then_lib" "${_CUDASWITCH_LIB-}"
            case $__csw:$_cudaswitch_then_ld in
                "${LD_LIBRARY_PATH-}:"*) ;;
                :unset) \unset LD_LIBRARY_PATH ;;
                ":$_cudaswitch_then_ld") __cudaswitch_emptied ;;
                *) LD_LIBRARY_PATH=$__csw ;;
            esac
            for _csw_want in ${_cudaswitch_then[@]+"${_cudaswitch_then[@]}"}; do
                case $_csw_want\|${_cudaswitch_then_CUDA_HOME-}\|${_cudaswitch_then_CUDACXX-} in
                    "${_CUDASWITCH_ON-}|${_CUDASWITCH_WAS_CUDA_HOME+=}${_CUDASWITCH_WAS_CUDA_HOME-}|\
${_CUDASWITCH_WAS_CUDACXX+=}${_CUDASWITCH_WAS_CUDACXX-}") ;;
                    *) __cudaswitch_scalars back "$_csw_want" ;;
                esac
            done
            # With the state variables that it has saved, direnv removes our records of a toolkit
            # applied later: it knows nothing of that toolkit's GPUs and flags, which would stay.
            _csw_kept=''
            case ${_CUDASWITCH_ON:+x}${_cudaswitch_told-} in
                /*:gpus=*)
                    _csw_want=${_cudaswitch_told#*:gpus=} _csw_want=gpus=${_csw_want%%[:\|]*}
                    __cudaswitch_scalars give "${_cudaswitch_told%%:*}:$_csw_want:nvcc"
                    ;;
                x*) ;;
                *) case ${_CUDASWITCH_XLA-}${_CUDASWITCH_CC-} in ?*) __cudaswitch_flags_give ;; esac ;;
            esac
            ;;
    esac
    # direnv may have set what a toolkit sets. Otherwise, if nothing of ours is missing, what users
    # have put in front of it stays there.
    case ${_cudaswitch_keepers-} in
        "${DIRENV_DIFF-}|"*) if __cudaswitch_lost kept; then _csw_moved=1; fi ;;
        *) _csw_moved=1 ;;
    esac
    case $_csw_now:${_cudaswitch_keepers-} in
        \|:* | *:\|)
            _cudaswitch_then=() _cudaswitch_then_bin='' _cudaswitch_then_lib='' _cudaswitch_then_ld=''
            \unset _cudaswitch_then_CUDA_HOME _cudaswitch_then_CUDA_PATH \
                _cudaswitch_then_CUDAToolkit_ROOT _cudaswitch_then_CUDACXX \
                _cudaswitch_then_CUDA_VISIBLE_DEVICES _cudaswitch_then_CUDA_DEVICE_ORDER
            ;;
    esac
    _cudaswitch_keepers=$_csw_now
    case ${_CUDASWITCH_ON-} in '') return 0 ;; esac
    case ${_CUDASWITCH_BIN:+:$_cudaswitch_then_bin:} in
        '' | *":${_CUDASWITCH_BIN-}:"*) ;;
        *) _cudaswitch_then_bin=$_CUDASWITCH_BIN${_cudaswitch_then_bin:+:$_cudaswitch_then_bin} ;;
    esac
    case ${_CUDASWITCH_LIB:+:$_cudaswitch_then_lib:} in
        '' | *":${_CUDASWITCH_LIB-}:"*) ;;
        *) _cudaswitch_then_lib=$_CUDASWITCH_LIB${_cudaswitch_then_lib:+:$_cudaswitch_then_lib} ;;
    esac
    _cudaswitch_then_ld=${_CUDASWITCH_LD:-$_cudaswitch_then_ld}
    for _csw_want in ${_cudaswitch_then[@]+"${_cudaswitch_then[@]}"}; do
        case $_csw_want in "$_CUDASWITCH_ON") return 0 ;; esac
    done
    _cudaswitch_then+=("$_CUDASWITCH_ON")
    __cudaswitch_scalars note "$_CUDASWITCH_ON" "$_csw_between"
}

# Take off PATH what others have brought back. With $1, only what is in that list as well.
__cudaswitch_off_path() {
    __cudaswitch_left_over "${PATH-}" "$_cudaswitch_then_bin" "${_CUDASWITCH_BIN-}" "$@"
    PATH=$__csw
    # A virtualenv that was activated since then has saved a copy.
    case ${_OLD_VIRTUAL_PATH:+x} in
        x)
            __cudaswitch_left_over "$_OLD_VIRTUAL_PATH" "$_cudaswitch_then_bin" "${_CUDASWITCH_OLD-}" "$@"
            _OLD_VIRTUAL_PATH=$__csw
            ;;
    esac
}

# __csw = the list $1 without what was put into it according to the record $2, each removed once.
# What is in it now according to the record $3 stays, once. With $4, only what is in that list as
# well is removed.
__cudaswitch_left_over() {
    \local _csw_items _csw_item
    __csw=$1 _csw_items=${2:+$2:}
    while [ -n "$_csw_items" ]; do
        _csw_item=${_csw_items%%:*} _csw_items=${_csw_items#*:}
        case ${4+:$4}: in : | *":/${_csw_item#*/}:"*) ;; *) continue ;; esac
        case :$3: in
            *[0-9]"/${_csw_item#*/}:"*) _csw_item=$((${_csw_item%%/*} + 1))/${_csw_item#*/} ;;
        esac
        __cudaswitch_without "$__csw" "$_csw_item"
    done
}
