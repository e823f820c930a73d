# Defines `conda` for bash, zsh and dash; see conda_transitions.py for what it emulates.
# Source it with CONDA_EXE (that file) and CONDA_PYTHON_EXE set and exported.

export CONDA_SHLVL="${CONDA_SHLVL:-0}"

# conda calls a function of this name once after each transition; programs replace it to be
# told that conda has finished.
__conda_hashr() {
    if [ -n "${ZSH_VERSION:-}" ]; then
        \rehash
    else
        \hash -r
    fi
}

emulated_transition() {
    \local emitted
    emitted="$("$CONDA_PYTHON_EXE" -I -S "$CONDA_EXE" shell.posix "$@")" || \return
    \eval "$emitted"
    __conda_hashr
}

conda() {
    case "${1-}" in
    activate | deactivate | reactivate) emulated_transition "$@" ;;
    *) "$CONDA_PYTHON_EXE" -I -S "$CONDA_EXE" "$@" ;;
    esac
}
