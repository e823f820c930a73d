# shellcheck shell=bash disable=SC2154  # zsh runs it too; lazy.sh and core.sh set them
# Those who keep what variables are, and bring it back at a prompt.

# Who keeps what variables are has come, gone or gone elsewhere: direnv and mise, which have them of
# trees, and nodeenv. What they bring back has in it what was applied whenever that happened.
__cudaswitch_keepers() {
    \local _csw_now _csw_want
    _csw_now=${DIRENV_DIFF-}${__MISE_DIFF-}${NODE_VIRTUAL_ENV-} _csw_moved=1
    case ${_cudaswitch_keepers-} in
        ?*)
            __cudaswitch_without "${PATH-}" "$_cudaswitch_then_bin"
            PATH=$__csw
            __cudaswitch_without "${LD_LIBRARY_PATH-}" "$_cudaswitch_then_lib"
            case $__csw:$_cudaswitch_then_ld in
                "${LD_LIBRARY_PATH-}:"*) ;;
                :unset) \unset LD_LIBRARY_PATH ;;
                *) LD_LIBRARY_PATH=$__csw ;;
            esac
            for _csw_want in ${_cudaswitch_then[@]+"${_cudaswitch_then[@]}"}; do
                __cudaswitch_scalars back "$_csw_want"
            done
            ;;
    esac
    case ${_cudaswitch_keepers:+$_csw_now} in
        '')
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
    __cudaswitch_scalars note "$_CUDASWITCH_ON"
}
