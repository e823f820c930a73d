# shellcheck shell=dash disable=SC3013  # dash, busybox, bash and zsh have `-nt`
# Whether an environment's packages have changed, what its pyvenv.cfg says, and which come below it.

# Have the packages of the environment $1 changed since the file $2 was written? A conda
# environment's `lib` is long, so it is read once: conda-meta changes with a new Python.
__cudaswitch_newer() {
    \local _csw_dir _csw_rest
    if [ "$1/conda-meta" -nt "$2" ]; then
        _cudaswitch_pythons=''
        return 0
    fi
    if ! [ -d "$1/conda-meta" ]; then _cudaswitch_pythons=''; fi
    case ${_cudaswitch_pythons-} in
        "$1:"*) ;;
        *)
            _csw_rest=''
            for _csw_dir in "$1"/lib/python[23]*; do _csw_rest=$_csw_rest${_csw_dir##*/}/; done
            _cudaswitch_pythons=$1:$_csw_rest
            ;;
    esac
    _csw_rest=${_cudaswitch_pythons#"$1:"}
    while [ -n "$_csw_rest" ]; do
        if [ "$1/lib/${_csw_rest%%/*}/site-packages" -nt "$2" ]; then return 0; fi
        _csw_rest=${_csw_rest#*/}
    done
    return 1
}

# Read the pyvenv.cfg $1: _csw_base = the prefix of the Python whose packages the virtualenv sees,
# empty if it sees none; _csw_python = its version; _csw_extends = what a layer of uv's extends.
__cudaswitch_config() {
    \local _csw_key _csw_line _csw_shared IFS
    _csw_base='' _csw_python='' _csw_extends='' _csw_shared='' IFS=' 	='
    # A function `read` of the user's might never end.
    while command read -r _csw_key _csw_line || [ -n "$_csw_key" ]; do
        case $_csw_key in home | include* | version* | extends*) ;; *) continue ;; esac
        # Also strip Windows line endings.
        _csw_line=${_csw_line%"${_csw_line##*[![:space:]]}"}
        case $_csw_key in
            home) _csw_base=$_csw_line ;;
            include-system-site-packages) _csw_shared=$_csw_line ;;
            version | version_info) _csw_python=$_csw_line ;;
            extends-environment) _csw_extends=$_csw_line ;;
        esac
    done < "$1"
    case $_csw_shared:$_csw_base in
        [tT][rR][uU][eE]:?*)
            _csw_base=${_csw_base%"${_csw_base##*[!/]}"} _csw_base=${_csw_base%/bin}
            _csw_base=${_csw_base:-/}
            ;;
        *) _csw_base='' ;;
    esac
    case $_csw_python in *.*.*) _csw_python=${_csw_python%".${_csw_python#*.*.}"} ;; esac
}

# __csw = the environment that $1 counts as: for a layer of `uv run --with`, the one below it, as in
# `sites.extended`.
__cudaswitch_extended() {
    \local _csw_base _csw_python _csw_extends _csw_layers
    __csw=$1 _csw_layers=''
    while [ -r "$__csw/pyvenv.cfg" ]; do
        __cudaswitch_config "$__csw/pyvenv.cfg"
        # Layers in a circle would never end.
        case $_csw_layers:$_csw_extends in
            ?????????:*) return 0 ;;
            *:/*) if ! [ -e "$_csw_extends/pyvenv.cfg" ] && ! [ -e "$_csw_extends/conda-meta" ]; then return 0; fi ;;
            *) return 0 ;;
        esac
        __csw=$_csw_extends _csw_layers=x$_csw_layers
    done
}

# __csw = the same for VIRTUAL_ENV, which is examined once. A layer has no pin; a relative path
# would be looked for in any directory.
__cudaswitch_virtualenv() {
    __csw=${VIRTUAL_ENV-}
    case $__csw:${_cudaswitch_layer-} in
        "$__csw:$__csw|"*) __csw=${_cudaswitch_layer#"$__csw|"} ;;
        /*)
            if ! [ -f "$__csw/etc/cudaswitch/pin" ]; then __cudaswitch_extended "$__csw"; fi
            _cudaswitch_layer=$VIRTUAL_ENV\|$__csw
            ;;
    esac
}

# Is the conda environment $1 before the virtualenv $2 on PATH, and so the active one?
__cudaswitch_before() {
    \local _csw_head
    _csw_head=:${PATH-}:
    case ${_csw_head%%":$2/bin:"*}: in
        *":$1/bin:"*) return 0 ;;
    esac
    return 1
}

# $__csw = the environments that the active one was stacked on and that are on PATH, downwards, each
# followed by a colon, like the list of `environments.stacked_on`.
__cudaswitch_stack() {
    \local _csw_level _csw_stacked _csw_env
    __csw='' _csw_level=${CONDA_SHLVL:-0}
    # Each switch without a deactivation adds a level, and none of these is stacked.
    case ${CONDA_STACKED_2-}${CONDA_STACKED_3-}${CONDA_STACKED_4-}${CONDA_STACKED_5-}${CONDA_STACKED_6-}\
${CONDA_STACKED_7-}${CONDA_STACKED_8-}${CONDA_STACKED_9-}:$_csw_level in
        :? | *:*[!0-9]* | *:0* | *:???*) return 0 ;;
    esac
    while [ "$_csw_level" -gt 1 ]; do
        \eval "_csw_stacked=\${CONDA_STACKED_$_csw_level-}"
        _csw_level=$((_csw_level - 1))
        \eval "_csw_env=\${CONDA_PREFIX_$_csw_level-}"
        case ${_csw_stacked:+$_csw_env:$PATH:} in
            /*":$_csw_env/bin:"*) __csw=$__csw$_csw_env: ;;
        esac
    done
}
