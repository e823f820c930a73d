# shellcheck shell=dash disable=SC2154  # core.sh calls these, and sets $_csw_want and $_csw_home
# Copies of our values that conda keeps and restores.

# Remove our value $2 of the variable $1, or the folders of the record $2, or the word $2 of its
# flags, from the copies __CONDA_SHLVL_LEVEL_NAME: in them conda keeps what the variables of an
# environment (`conda env config vars`) replace, and restores it. $3 = the value before us. Copies
# that are the user's own according to $_csw_theirs, which is like _CUDASWITCH_KEPT, stay.
__cudaswitch_copies() {
    \local _csw_level _csw_least _csw_value _csw_name _csw_lower _csw_doubt
    case ${_csw_theirs-}: in *":$1:"*) _csw_least=${_csw_theirs%%:*} ;; *) _csw_least=0 ;; esac
    _csw_level=${CONDA_SHLVL:-0}
    # conda never deletes its copies, and restores them with the next environment.
    case $_csw_level in [01] | *[!0-9]* | ???*) _csw_level=2 ;; esac
    while [ "$_csw_level" -ge "$_csw_least" ]; do
        \eval "_csw_value=\${__CONDA_SHLVL_${_csw_level}_$1-}"
        case $1:$_csw_value in
            LD_LIBRARY_PATH:?*) __cudaswitch_without "$_csw_value" "$2" ;;
            *_FLAGS:?*) __cudaswitch_wordless "$_csw_value" "$2" ;;
            "$1:$2") __csw=$3 ;;
            *) __csw=$_csw_value ;;
        esac
        if [ "$__csw" != "$_csw_value" ]; then
            __cudaswitch_put "__CONDA_SHLVL_${_csw_level}_$1"
            # conda has already restored the copy of this level.
            if [ "$_csw_level" = "${CONDA_SHLVL:-0}" ]; then
                \eval "if [ \"\${$1-}\" = \"\$_csw_value\" ]; then __cudaswitch_put $1; fi"
            fi
        fi
        _csw_level=$((_csw_level - 1))
    done
    case ${_csw_theirs-}: in *":$1:"*) return 0 ;; esac
    # conda-forge's nvcc_linux-64 keeps copies of CUDA_HOME and CUDA_PATH, too, and restores them.
    \eval "_csw_value=\${${1}_CONDA_NVCC_BACKUP-}"
    if [ -n "$_csw_value" ] && [ "$_csw_value" = "$2" ]; then
        __csw=$3
        __cudaswitch_put "${1}_CONDA_NVCC_BACKUP"
        case $1$3 in CUDA_HOME) _cudaswitch_taken=1 ;; esac
    fi
    # The name has to say that it is a copy if it is one of flags, of which users may have several
    # kinds, or if the variable is still ours: then nobody has saved it in order to set another value,
    # but some scripts save it in any case.
    \eval "__csw=\${$1-}"
    case $1:$__csw in *_FLAGS:* | CUDAHOSTCXX:* | "$1:$2") _csw_doubt=1 ;; *) _csw_doubt='' ;; esac
    case ${_csw_names:+$1} in
        LD_LIBRARY_PATH) _csw_lower=ld_library_path ;;
        CUDA_HOME) _csw_lower=cuda_home ;;
        CUDA_PATH) _csw_lower=cuda_path ;;
        CUDAToolkit_ROOT) _csw_lower=cudatoolkit_root ;;
        CUDACXX) _csw_lower=cudacxx ;;
        CUDA_VISIBLE_DEVICES) _csw_lower=cuda_visible_devices ;;
        CUDAHOSTCXX) _csw_lower=cudahostcxx ;;
        NVCC_PREPEND_FLAGS) _csw_lower=nvcc_prepend_flags ;;
        XLA_FLAGS) _csw_lower=xla_flags ;;
        PATH) _csw_lower=path ;;
        *) return 0 ;;
    esac
    for _csw_name in $_csw_names; do
        case _${_csw_name}_ in
            *_"$1"_* | *_"$_csw_lower"_* | *_OLD"$1"_* | *_old"$_csw_lower"_* \
                | *_"$1"[0-9]_ | *_"$_csw_lower"[0-9]_) ;;
            *) continue ;;
        esac
        case ${_csw_doubt:+$_csw_name} in
            '' | *OLD* | *BACKUP* | *BAK* | *ORIG* | *SAVE* | *PREV* \
                | *old* | *backup* | *bak* | *orig* | *save* | *prev*) ;;
            *) continue ;;
        esac
        \eval "_csw_value=\${$_csw_name-}"
        case $1:$_csw_value in
            LD_LIBRARY_PATH:* | PATH:*) __cudaswitch_without "$_csw_value" "${2%:}" ;;
            *_FLAGS:*) __cudaswitch_wordless "$_csw_value" "$2" ;;
            "$1:$2") __csw=$3 ;;
            *) continue ;;
        esac
        if [ "$__csw" = "$_csw_value" ]; then continue; fi
        # The `x` is for __csw, as a list may begin with a colon.
        case ${__csw:+x}:$- in
            x*) \eval "$_csw_name=\$__csw" ;;
            # With `set -u`, a script may read its copy without a check, since it always sets it.
            # (In zsh, that option is switched off here.)
            *u*) \eval "$_csw_name=" ;;
            # A script that saves only what is set takes an existing copy for a sign that it was.
            *)
                if __cudaswitch_was_set "$1"; then
                    \eval "$_csw_name="
                else
                    \unset "$_csw_name"
                    case $1 in CUDA_HOME) _cudaswitch_taken=1 ;; esac
                fi
                ;;
        esac
    done
}

# Was the variable $1 set before us, as far as our records still tell?
__cudaswitch_was_set() {
    case $1 in
        LD_LIBRARY_PATH) [ "${_CUDASWITCH_LD-}" != unset ] ;;
        *) \eval "[ -n \"\${_CUDASWITCH_WAS_$1+x}\" ]" ;;
    esac
}

# _csw_names = the variables named after one of ours: scripts of environments save in them what they
# replace, and restore it (`OLD_LD_LIBRARY_PATH`). Names with a version, or of what a container
# gets, are the user's own, and `module` counts folders in lists of its own. Scripts may number
# copies of a list (`LD_LIBRARY_PATH0`); behind CUDA_HOME, a digit is a version.
__cudaswitch_snapshots() {
    \local _csw_all _csw_name IFS
    # CUDA, PATH or FLAG is in all of them; the pattern matches a few other names, too.
    _csw_all='!*[CPFcpf][UALual][DTAdta][AHGahg]*'
    # shellcheck disable=SC3044  # bash only
    case ${BASH_VERSION:+b}${ZSH_VERSION:+z} in
        b) \eval "IFS=\$'\\n'" && _csw_all=$(\compgen -A variable -X "$_csw_all") ;;
        z) \eval 'IFS=" " _csw_all=${(kj: :)parameters[@]}' ;;
        # The dot protects the newline from the command substitution.
        *) IFS=$(printf '\n.') _csw_all=$(set | __cudaswitch_variables) ;;
    esac
    for _csw_name in $_csw_all; do
        case _${_csw_name}_ in
            __CUDASWITCH_* | __cudaswitch_* | ___CONDA_SHLVL_* | *_CONDA_NVCC_BACKUP_) ;;
            *_CUDA_????_[0-9]* | *_CUDA_????_[vV][0-9]*) ;;
            _SINGULARITYENV_* | _APPTAINERENV_* | *_modshare_ | ___MODULES_* | ___LMOD_*) ;;
            _LD_LIBRARY_PATH_ | _CUDA_HOME_ | _CUDA_PATH_ | _CUDACXX_ | _CUDA_VISIBLE_DEVICES_) ;;
            _ld_library_path_ | _cuda_home_ | _cuda_path_ | _cudacxx_ | _cuda_visible_devices_) ;;
            _CUDAToolkit_ROOT_ | _CUDATOOLKIT_ROOT_ | _cudatoolkit_root_) ;;
            _CUDAHOSTCXX_ | _NVCC_PREPEND_FLAGS_ | _NVCC_PREPEND_FLAGS_BACKUP_ | _XLA_FLAGS_) ;;
            _cudahostcxx_ | _nvcc_prepend_flags_ | _xla_flags_) ;;
            *_LD_LIBRARY_PATH_* | *_CUDA_HOME_* | *_CUDA_PATH_* | *_CUDACXX_* | *_CUDA_VISIBLE_DEVICES_* \
                | *_LD_LIBRARY_PATH[0-9]_ | *_ld_library_path[0-9]_ \
                | *_CUDAToolkit_ROOT_* | *_cudatoolkit_root_* \
                | *_CUDAHOSTCXX_* | *_NVCC_PREPEND_FLAGS_* | *_XLA_FLAGS_* \
                | *_cudahostcxx_* | *_nvcc_prepend_flags_* | *_xla_flags_* \
                | *OLD_PATH_ | *_PATH_OLD* | *BACKUP_PATH_ | *_PATH_BACKUP* | _ORIG*_PATH_ | *_PATH_ORIG* \
                | _SAVE*_PATH_ | *_PATH_SAVE* | __ORIG*_PATH_ | __SAVE*_PATH_ \
                | *_OLDPATH_ | *_PATH_CONDA_BACKUP_ | *_PATH_BAK* | *_BAK_PATH_ | *_PATH_PREV* | *_PREV*_PATH_ \
                | *_ld_library_path_* | *_cuda_home_* | *_cuda_path_* | *_cudacxx_* | *_cuda_visible_devices_* \
                | *old_path_ | *_path_old* | *backup_path_ | *_path_backup* | _orig*_path_ | *_path_orig* \
                | _save*_path_ | *_path_save* | __orig*_path_ | __save*_path_ \
                | *_oldpath_ | *_path_bak* | *_bak_path_ | *_path_prev* | *_prev*_path_)
                _csw_names="$_csw_names $_csw_name"
                ;;
        esac
    done
}

# Does a script of the environment keep a PATH? Looking through all names each time takes too long;
# these are the names met in practice.
__cudaswitch_path_kept() {
    case ${OLD_PATH-}${_OLD_PATH-}${PATH_OLD-}${BACKUP_PATH-}${PATH_BACKUP-}${ORIG_PATH-}${_ORIG_PATH-}\
${PATH_ORIG-}${ORIGINAL_PATH-}${PATH_ORIGINAL-}${SAVED_PATH-}${_SAVED_PATH-}${PATH_SAVED-}\
${SAVE_PATH-}${PATH_SAVE-} in
        ?*) return 0 ;;
    esac
    # Not in one word: zsh takes longer for each variable in a long word.
    case ${OLDPATH-}${PATH_BAK-}${BAK_PATH-}${PREV_PATH-}${PATH_PREV-}${CONDA_BACKUP_PATH-}\
${CONDA_PATH_BACKUP-}${PATH_CONDA_BACKUP-}${_CONDA_OLD_PATH-}${_PATH_BACKUP-}${_PATH_OLD-}\
${__OLD_PATH-}${old_path-}${_old_path-}${path_old-} in
        ?*) return 0 ;;
    esac
    case ${backup_path-}${path_backup-}${orig_path-}${_orig_path-}${path_orig-}${original_path-}\
${path_original-}${saved_path-}${_saved_path-}${path_saved-}${save_path-}${path_save-}\
${oldpath-}${path_bak-}${bak_path-}${prev_path-}${path_prev-} in
        '') return 1 ;;
    esac
}

# Print the names in what `set` prints.
__cudaswitch_variables() {
    while IFS= command read -r _csw_name; do
        _csw_name=${_csw_name%%=*}
        case $_csw_name in *[!A-Z0-9a-z_]*) ;; *) printf '%s\n' "$_csw_name" ;; esac
    done
}

# __csw = conda's copies of the variables that a toolkit sets; empty if there are none.
__cudaswitch_kept() {
    __csw=${CUDA_HOME_CONDA_NVCC_BACKUP-}
    case ${CONDA_SHLVL-} in
        '') ;;
        *)
            # As one word: bash copies a function at each call, word by word.
            __csw=$__csw${__CONDA_SHLVL_0_CUDA_HOME-}${__CONDA_SHLVL_0_CUDA_PATH-}\
${__CONDA_SHLVL_0_CUDACXX-}${__CONDA_SHLVL_0_CUDAToolkit_ROOT-}${__CONDA_SHLVL_0_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_1_CUDA_HOME-}${__CONDA_SHLVL_1_CUDA_PATH-}${__CONDA_SHLVL_1_CUDACXX-}\
${__CONDA_SHLVL_1_CUDAToolkit_ROOT-}${__CONDA_SHLVL_1_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_2_CUDA_HOME-}${__CONDA_SHLVL_2_CUDA_PATH-}${__CONDA_SHLVL_2_CUDACXX-}\
${__CONDA_SHLVL_2_CUDAToolkit_ROOT-}${__CONDA_SHLVL_2_LD_LIBRARY_PATH-}
            # Each switch without a deactivation adds a level.
            case $CONDA_SHLVL in
                [0-2]) ;;
                *)
                    __csw=$__csw${__CONDA_SHLVL_3_CUDA_HOME-}${__CONDA_SHLVL_3_CUDA_PATH-}\
${__CONDA_SHLVL_3_CUDACXX-}${__CONDA_SHLVL_3_CUDAToolkit_ROOT-}${__CONDA_SHLVL_3_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_4_CUDA_HOME-}${__CONDA_SHLVL_4_CUDA_PATH-}\
${__CONDA_SHLVL_4_CUDACXX-}${__CONDA_SHLVL_4_CUDAToolkit_ROOT-}${__CONDA_SHLVL_4_LD_LIBRARY_PATH-}
                    ;;
            esac
            case $CONDA_SHLVL in
                [0-4]) ;;
                *)
                    __csw=$__csw${__CONDA_SHLVL_5_CUDA_HOME-}${__CONDA_SHLVL_5_CUDA_PATH-}\
${__CONDA_SHLVL_5_CUDACXX-}${__CONDA_SHLVL_5_CUDAToolkit_ROOT-}${__CONDA_SHLVL_5_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_6_CUDA_HOME-}${__CONDA_SHLVL_6_CUDA_PATH-}\
${__CONDA_SHLVL_6_CUDACXX-}${__CONDA_SHLVL_6_CUDAToolkit_ROOT-}${__CONDA_SHLVL_6_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_7_CUDA_HOME-}${__CONDA_SHLVL_7_CUDA_PATH-}\
${__CONDA_SHLVL_7_CUDACXX-}${__CONDA_SHLVL_7_CUDAToolkit_ROOT-}${__CONDA_SHLVL_7_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_8_CUDA_HOME-}${__CONDA_SHLVL_8_CUDA_PATH-}\
${__CONDA_SHLVL_8_CUDACXX-}${__CONDA_SHLVL_8_CUDAToolkit_ROOT-}${__CONDA_SHLVL_8_LD_LIBRARY_PATH-}\
${__CONDA_SHLVL_9_CUDA_HOME-}${__CONDA_SHLVL_9_CUDA_PATH-}\
${__CONDA_SHLVL_9_CUDACXX-}${__CONDA_SHLVL_9_CUDAToolkit_ROOT-}${__CONDA_SHLVL_9_LD_LIBRARY_PATH-}
                    case $CONDA_SHLVL in [5-9]) ;; *) __cudaswitch_kept_deep ;; esac
                    ;;
            esac
            ;;
    esac
    case ${CONDA_SHLVL:+${_CUDASWITCH_ON-}${_cudaswitch_undone-}${_csw_want-}} in
        *:gpus=*) __cudaswitch_kept_gpus ;;
    esac
}

# The same for more than nine levels; not empty if nobody knows how many there are.
__cudaswitch_kept_deep() {
    \local _csw_level _csw_name
    _csw_level=$CONDA_SHLVL
    # shellcheck disable=SC3053  # bash only
    case ${BASH_VERSION:+b}${ZSH_VERSION:+z} in
        b) \eval '_csw_name=${!__CONDA_SHLVL_*}' ;;
        z) \eval '_csw_name=${(k)parameters[(I)__CONDA_SHLVL_*]}' ;;
        *) _csw_name=some ;;
    esac
    case $_csw_name:$_csw_level in
        :*) return 0 ;;
        *:[1-9][0-9]) ;;
        *) __csw=$__csw: _csw_level=0 ;;
    esac
    while [ "$_csw_level" -ge 10 ]; do
        for _csw_name in CUDA_HOME CUDA_PATH CUDACXX CUDAToolkit_ROOT LD_LIBRARY_PATH; do
            \eval "__csw=\$__csw\${__CONDA_SHLVL_${_csw_level}_$_csw_name-}"
        done
        _csw_level=$((_csw_level - 1))
    done
}

# Add the GPUs that conda keeps for each level, after `:gpus=`; never empty.
__cudaswitch_kept_gpus() {
    \local _csw_level
    _csw_level=$CONDA_SHLVL
    case $_csw_level in [01] | *[!0-9]* | ???*) _csw_level=2 ;; esac
    while [ "$_csw_level" -ge 0 ]; do
        \eval "__csw=\$__csw:gpus=\${__CONDA_SHLVL_${_csw_level}_CUDA_VISIBLE_DEVICES-}"
        _csw_level=$((_csw_level - 1))
    done
    __csw=$__csw:
}

# Set _CUDASWITCH_KEPT, if conda keeps the toolkit $_csw_home or the GPUs of $_csw_want for the
# active environments.
__cudaswitch_theirs() {
    \local _csw_level _csw_name _csw_gpus
    _csw_theirs='' _csw_gpus=''
    case ${CONDA_SHLVL:-0} in *[!0-9]* | ???*) return 0 ;; esac
    case $_csw_want in *:gpus=*) _csw_gpus=${_csw_want#*:gpus=} _csw_gpus=${_csw_gpus%%:*} ;; esac
    for _csw_name in CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX LD_LIBRARY_PATH XLA_FLAGS \
        CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER; do
        _csw_level=${CONDA_SHLVL:-0}
        \eval "__csw=:\${${_csw_name}_CONDA_NVCC_BACKUP-}"
        # Unlike conda, nvcc's script leaves no copy behind.
        case $__csw: in :"$_csw_home":) _csw_theirs=$_csw_theirs:${_csw_name}_CONDA_NVCC_BACKUP ;; esac
        while [ "$_csw_level" -gt 0 ]; do
            _csw_level=$((_csw_level - 1))
            \eval "__csw=\$__csw:\${__CONDA_SHLVL_${_csw_level}_$_csw_name-}"
        done
        case $_csw_name$__csw: in
            CUDA_VISIBLE_DEVICES:*":${_csw_gpus:-/}:"* | CUDA_DEVICE_ORDER:*:PCI_BUS_ID:*) ;;
            *:"$_csw_home"[:/]* | XLA_FLAGS:*"$_csw_home"*) ;;
            *) continue ;;
        esac
        _csw_theirs=$_csw_theirs:$_csw_name
    done
    case $_csw_theirs in ?*) \export "_CUDASWITCH_KEPT=${CONDA_SHLVL:-0}$_csw_theirs" ;; esac
}

# Has conda restored the value $2 of the variable $1, which conda or its nvcc kept before we set
# the same? conda leaves its copies behind. If several environments have been left at once, the copy
# may be that of a higher level.
__cudaswitch_regained() {
    \local _csw_level _csw_set _csw_rest
    case ${_csw_theirs-}: in *":$1:"*) ;; *) return 1 ;; esac
    # Some shells evaluate the operands of a numeric comparison.
    case ${CONDA_SHLVL:-0}:${_csw_theirs%%:*} in *[!0-9:]* | *: | *:*:*) return 1 ;; esac
    if [ "${CONDA_SHLVL:-0}" -ge "${_csw_theirs%%:*}" ]; then return 1; fi
    _csw_level=${_csw_theirs%%:*}
    while [ "$_csw_level" -gt "${CONDA_SHLVL:-0}" ]; do
        _csw_level=$((_csw_level - 1))
        \eval "__csw=\${__CONDA_SHLVL_${_csw_level}_$1-}"
        case $__csw in "$2") break ;; esac
    done
    case $_csw_theirs: in
        *":$1_CONDA_NVCC_BACKUP:"*)
            \eval "_csw_set=\${$1_CONDA_NVCC_BACKUP+x}"
            case $_csw_set in '') __csw=$2 ;; esac
            ;;
    esac
    case ${2:+$__csw} in '') return 1 ;; esac
    if [ "$__csw" = "$2" ]; then return 0; fi
    # Then scripts of the environment that is active again may add to the list. If our folder is
    # there beside what conda keeps, or the list is as we left it, nothing has been restored.
    _csw_rest=:$2:
    case $1$_csw_rest in
        LD_LIBRARY_PATH:"${_cudaswitch_ld-}":) return 1 ;;
        LD_LIBRARY_PATH*":$__csw:"*) ;;
        *) return 1 ;;
    esac
    _csw_rest=${_csw_rest%%":$__csw:"*}:${_csw_rest#*":$__csw:"} __csw=${_CUDASWITCH_LIB%%:*}
    case $_csw_rest in *":/${__csw#*/}:"*) return 1 ;; esac
}

# Set the variable $1 to __csw, or unset it if that is empty, which is the same to conda.
__cudaswitch_put() {
    if [ -n "$__csw" ]; then \export "$1=$__csw"; else \unset "$1"; fi
}
