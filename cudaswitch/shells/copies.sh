# shellcheck shell=dash  # core.sh calls these
# What conda keeps of ours, and brings back.

# Take what we put there, the value $2 of the variable $1, the record $2 of its folders or the word
# $2 of its flags, out of the copies __CONDA_SHLVL_LEVEL_NAME: conda keeps in them what the
# variables of an environment (`conda env config vars`) replace, and brings it back. $3 = the
# value before us.
__cudaswitch_copies() {
    \local level value
    level=${CONDA_SHLVL:-0}
    while [ "$level" -ge 0 ]; do
        \eval "value=\${__CONDA_SHLVL_${level}_$1-}"
        case $1:$value in
            LD_LIBRARY_PATH:?*) __cudaswitch_without "$value" "$2" ;;
            *_FLAGS:?*) __cudaswitch_wordless "$value" "$2" ;;
            "$1:$2") __csw=$3 ;;
            *) __csw=$value ;;
        esac
        if [ "$__csw" != "$value" ]; then
            __cudaswitch_put "__CONDA_SHLVL_${level}_$1"
            # That of this level has been brought back already.
            if [ "$level" = "${CONDA_SHLVL:-0}" ]; then
                \eval "if [ \"\${$1-}\" = \"\$value\" ]; then __cudaswitch_put $1; fi"
            fi
        fi
        level=$((level - 1))
    done
}

# The variable $1 = __csw, unset where that is empty, which is the same to conda.
__cudaswitch_put() {
    if [ -n "$__csw" ]; then \export "$1=$__csw"; else \unset "$1"; fi
}
