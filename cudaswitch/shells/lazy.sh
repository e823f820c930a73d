# shellcheck shell=bash disable=SC2154  # zsh runs it too; `shells.init` sets _cudaswitch_root
# Stand-ins for the integration until something asks for a toolkit: a shell in which nothing does
# parses nothing more. __cudaswitch_load replaces them with the integration.

# Run the command that parses the integration, which must not contain the user's aliases.
__cudaswitch_unaliased() {
    \local _csw_code _csw_aliases _csw_all
    _csw_code=0 _csw_aliases='' _csw_all=''
    # bash exports functions too.
    case $- in *a*) _csw_all=1 && \set +a ;; esac
    if [ -n "${ZSH_VERSION-}" ]; then
        \emulate -L sh -o no_aliases -o no_warn_create_global -o no_force_float
    elif \shopt -q expand_aliases; then
        _csw_aliases=1
        \shopt -u expand_aliases
    fi
    "$@" || _csw_code=$?
    if [ -n "$_csw_aliases" ]; then \shopt -s expand_aliases; fi
    if [ -n "$_csw_all" ]; then \set -a; fi
    \return "$_csw_code"
}

__cudaswitch_look() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global -o no_force_float; fi
    case $- in *a*) __cudaswitch_unaliased __cudaswitch_look && \return ;; esac
    \local __csw
    # Nothing that a shell starts with is news.
    \: "${_cudaswitch_told=${_CUDASWITCH_ON-}|${_CUDASWITCH_LIB-}}" "${_cudaswitch_line=}" \
        "${_cudaswitch_keepers=|}"
    __csw=${CONDA_PREFIX-}${VIRTUAL_ENV-}${CUDASWITCH_VERSION-}${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}
    __csw=$__csw${_CUDASWITCH_U-}${_CUDASWITCH_X-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}
    if [ -z "$__csw${_CUDASWITCH_D-}${_CUDASWITCH_GONE-}" ] && ! [ -f "$_cudaswitch_root/global" ] \
        && [ "${CUDASWITCH_HOME:-$_cudaswitch_root}" = "$_cudaswitch_root" ] \
        && ! __cudaswitch_file; then
        _cudaswitch_seen="||$PWD|" _cudaswitch_keepers=${DIRENV_DIFF-}\|${__MISE_DIFF-}${NODE_VIRTUAL_ENV-}${_FLOX_HOOK_DIFF-}${__MISE_DIFF:+\|${LD_LIBRARY_PATH-}${PATH-}}
        _cudaswitch_then_bin='' _cudaswitch_then_lib='' _cudaswitch_then_ld='' _cudaswitch_then=()
        \return 0
    fi
    __cudaswitch_load && __cudaswitch_look
}

# Called if there is a version file where none was at the last look.
__cudaswitch_edited() { \return 0; }

# An alias for the command must not get into this, nor take precedence over it. In bash, there is a
# way without a redirection, which is slow; it is quoted because `set -k` takes assignments out of a
# command. In zsh, an alias may stand for any word.
case ${ZSH_VERSION-} in
    '') \alias 'cudaswitch=' && \unalias cudaswitch ;;
    *) \unalias cudaswitch 2> /dev/null || : ;;
esac
function cudaswitch {
    __cudaswitch_load && \cudaswitch "$@"
}

# Hooks call these.
__cudaswitch_enter() {
    __cudaswitch_load && __cudaswitch_enter "$@"
}

__cudaswitch_leave() {
    __cudaswitch_load && __cudaswitch_leave "$@"
}

# So do the functions that conda and mamba call when they have finished: see hooks.sh.
__cudaswitch_attend() {
    {
        if \typeset -f __conda_hashr; then
            __conda_hashr() {
                case ${_cudaswitch_seen:+x}${_CUDASWITCH_C:+hook} in x) __cudaswitch_look || : ;; esac
                \hash -r
            }
        fi
        if \typeset -f __mamba_hashr; then
            __mamba_hashr() {
                case ${_cudaswitch_seen:+x}${_CUDASWITCH_C:+hook} in x) __cudaswitch_look || : ;; esac
                \hash -r
            }
        fi
    } > /dev/null
}
__cudaswitch_attend

# Before the first prompt: others' lines in the startup file may come after ours.
__cudaswitch_first() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global -o no_force_float; fi
    case $- in *a*) __cudaswitch_unaliased __cudaswitch_first && \return ;; esac
    # They may also have rebuilt PATH, or put another toolkit before what is applied.
    case ${_CUDASWITCH_BIN:+${CUDA_HOME-}\|${PATH-}} in
        '' | "${_cudaswitch_fresh-}") ;;
        *)
            if __cudaswitch_overlaid; then _cudaswitch_seen=''; fi
            __cudaswitch_surplus
            ;;
    esac
    \unset _cudaswitch_fresh
    __cudaswitch_attend || :
}
