# Defines `conda` for bash, zsh and dash: the transitions of conda_transitions.py, in its order,
# but done by the shell itself, so that thousands of them take seconds. Elements of PATH must be
# normalised already, and prefixes absolute.

export CONDA_SHLVL="${CONDA_SHLVL:-0}"

__conda_hashr() {
    if [ -n "${ZSH_VERSION:-}" ]; then \rehash; else \hash -r; fi
}

# Set quick_path to PATH with $2 in place of $1, or in front if $1 is not there; each may be empty.
quick_path_with() {
    \local list head
    list=:$PATH:
    case $list in
    *":${1:-/nowhere}/bin:"*)
        head=${list%%":$1/bin:"*}
        quick_path=$head${2:+":$2/bin"}${list#"$head:$1/bin"}
        ;;
    *) quick_path=${2:+":$2/bin"}$list ;;
    esac
    quick_path=${quick_path#:} quick_path=${quick_path%:}
}

# Run the scripts of the environment $1 for $2; $3 reverses their order.
quick_scripts() {
    \local prefix kind script reverse
    if [ -n "${ZSH_VERSION:-}" ]; then \setopt local_options no_nomatch; fi
    prefix=$1 kind=$2 reverse=${3:-}
    set --
    for script in "$prefix/etc/conda/$kind.d"/*.sh; do
        if ! [ -e "$script" ]; then continue; fi
        if [ -n "$reverse" ]; then set -- "$script" "$@"; else set -- "$@" "$script"; fi
    done
    for script; do \. "$script"; done
}

quick_named() {
    \local name
    name=$1
    case $1 in */envs/*) if [ "${1%/*}" = "${1%/envs/*}/envs" ]; then name=${1##*/}; fi ;; esac
    export CONDA_DEFAULT_ENV="$name" CONDA_PROMPT_MODIFIER="($name) "
}

quick_enter() {
    \local old level quick_path
    old=${CONDA_PREFIX:-} level=$((CONDA_SHLVL + 1))
    if [ "$CONDA_SHLVL" -gt 0 ] && [ -z "$2" ]; then
        quick_path_with "$old" "$1"
        quick_scripts "$old" deactivate reverse
    else
        quick_path_with "" "$1"
    fi
    export PATH="$quick_path" CONDA_PREFIX="$1" CONDA_SHLVL="$level"
    quick_named "$1"
    if [ "$level" -gt 1 ]; then export "CONDA_PREFIX_$((level - 1))=$old"; fi
    if [ "$level" -gt 1 ] && [ -n "$2" ]; then export "CONDA_STACKED_$level=true"; fi
    quick_scripts "$1" activate
}

quick_again() {
    \local quick_path
    if [ "$CONDA_SHLVL" -eq 0 ]; then return 0; fi
    quick_path_with "$CONDA_PREFIX" "$CONDA_PREFIX"
    quick_scripts "$CONDA_PREFIX" deactivate reverse
    export PATH="$quick_path"
    quick_scripts "$CONDA_PREFIX" activate
}

quick_leave() {
    \local level below stacked old quick_path
    level=$CONDA_SHLVL old=${CONDA_PREFIX:-}
    if [ "$level" -eq 0 ]; then return 0; fi
    if [ "$level" -eq 1 ]; then
        quick_path_with "$old" ""
        export PATH="$quick_path"
        quick_scripts "$old" deactivate reverse
        export CONDA_PREFIX='' CONDA_DEFAULT_ENV='' CONDA_PROMPT_MODIFIER='' CONDA_SHLVL=0
        return 0
    fi
    eval "below=\$CONDA_PREFIX_$((level - 1)) stacked=\${CONDA_STACKED_$level:-}"
    if [ -n "$stacked" ]; then quick_path_with "$old" ""; else quick_path_with "$old" "$below"; fi
    export PATH="$quick_path"
    quick_scripts "$old" deactivate reverse
    export "CONDA_PREFIX_$((level - 1))="
    if [ -n "$stacked" ]; then export "CONDA_STACKED_$level="; fi
    export CONDA_PREFIX="$below" CONDA_SHLVL="$((level - 1))"
    quick_named "$below"
    quick_scripts "$below" activate
}

conda() {
    \local stack
    stack=
    if [ "${2:-}" = --stack ]; then stack=stack; fi
    case $1 in
    activate)
        if [ -n "$stack" ]; then shift; fi
        if [ "$CONDA_SHLVL" -gt 0 ] && [ "$2" = "$CONDA_PREFIX" ]; then
            quick_again
        else
            quick_enter "$2" "$stack"
        fi
        ;;
    reactivate) quick_again ;;
    deactivate) quick_leave ;;
    *)
        "$CONDA_PYTHON_EXE" -I -S "$CONDA_EXE" "$@"
        return
        ;;
    esac
    __conda_hashr
}
