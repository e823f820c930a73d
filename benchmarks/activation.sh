# shellcheck shell=dash disable=SC1090  # hooks are found at run time
# What conda has a POSIX shell do to activate and deactivate an environment, without the
# Python that decides it: the benchmark measures what a hook adds to that.

__conda_hashr() {
    if [ -n "${ZSH_VERSION:-}" ]; then \rehash; else \hash -r; fi
}

plain_activate() {
    export PATH="$1/bin:$PATH" CONDA_PREFIX="$1" CONDA_SHLVL=1 CONDA_DEFAULT_ENV="$1"
    if [ -f "$1/etc/conda/activate.d/~~cudaswitch.sh" ]; then
        \. "$1/etc/conda/activate.d/~~cudaswitch.sh"
    fi
    __conda_hashr
}

# conda computes PATH before the hooks run; when the last environment is left, conda also
# exports it before they run.
plain_deactivate() {
    case $PATH in
        *"$CONDA_PREFIX/bin:"*) PATH=${PATH%%"$CONDA_PREFIX/bin:"*}${PATH#*"$CONDA_PREFIX/bin:"} ;;
    esac
    if [ -f "$CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.sh" ]; then
        \. "$CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.sh"
    fi
    unset CONDA_PREFIX CONDA_DEFAULT_ENV
    export CONDA_SHLVL=0
    __conda_hashr
}

# From one environment to another; each switch adds a level, and there were some before.
plain_switch() {
    set -- "$1" "${PATH%%"$CONDA_PREFIX/bin:"*}$1/bin:${PATH#*"$CONDA_PREFIX/bin:"}"
    if [ -f "$CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.sh" ]; then
        \. "$CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.sh"
    fi
    export PATH="$2" CONDA_PREFIX="$1" CONDA_SHLVL=4 CONDA_DEFAULT_ENV="$1"
    if [ -f "$1/etc/conda/activate.d/~~cudaswitch.sh" ]; then
        \. "$1/etc/conda/activate.d/~~cudaswitch.sh"
    fi
    __conda_hashr
}
