# shellcheck shell=dash disable=SC2016,SC2154  # `names` in messages; said.sh sets the rest
# What a shim does if said.sh has found nothing. Written after answers.sh.

# Add the line that asks for the toolkit to the name of the pin or version file $_cudaswitch_origin,
# as Python does.
__cudaswitch_lined() {
    \local number line __csw
    case $_cudaswitch_origin in /*) ;; *) return 0 ;; esac
    if ! { [ -f "$_cudaswitch_origin" ] && [ -r "$_cudaswitch_origin" ]; }; then return 0; fi
    number=0
    while IFS= \read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        __cudaswitch_trim "${line%%#*}"
        case $__csw in
            cudnn[' 	=']* | libraries[' 	=']* | gpus[' 	=']*) ;;
            *[A-Za-z0-9]*)
                case $_cudaswitch_origin in
                    "$PWD/.cuda-version") _cudaswitch_origin=./.cuda-version ;;
                esac
                _cudaswitch_origin=$_cudaswitch_origin:$number
                return 0
                ;;
        esac
    done < "$_cudaswitch_origin"
}

# Python is asked with the store of this shim, wherever the shim is called from.
__cudaswitch_ask() {
    if ! [ -x "$_cudaswitch_program" ]; then
        __cudaswitch_lined
        printf 'cudaswitch: `%s` is gone, and is needed to find what %s requests\n' \
            "$_cudaswitch_program" "$_cudaswitch_origin" >&2
        printf 'hint: reinstall cudaswitch and run cudaswitch shims refresh\n' >&2
        exit 127
    fi
    if ! [ -d "$_cudaswitch_root/." ]; then
        printf 'cudaswitch: the store of this shim, `%s`, is gone\n' "$_cudaswitch_root" >&2
        printf 'hint: cudaswitch shims refresh\n' >&2
        exit 127
    fi
    __csw=$(CUDASWITCH_HOME=$_cudaswitch_root "$_cudaswitch_program" want "$@")
}

# __csw = what the pin or version file $_cudaswitch_origin asks for.
__cudaswitch_decided() {
    __cudaswitch_read "$_cudaswitch_origin" || __cudaswitch_ask --file "$_cudaswitch_origin" || exit
}

# The active environment has no pin: _cudaswitch_origin = the pin of the next environment below it
# that has one, in the order of `environments.standing_environments`; fails if none has.
__cudaswitch_pinned() {
    \local env venv below __csw
    __cudaswitch_virtualenv
    venv=$__csw
    __cudaswitch_stack
    below=${CONDA_PREFIX-}:$__csw
    while [ -n "$below" ]; do
        env=${below%%:*} below=${below#*:}
        if [ -n "$venv" ] && ! __cudaswitch_before "$env" "$venv"; then
            if __cudaswitch_has_pin "$venv"; then return 0; fi
            venv=''
        fi
        if __cudaswitch_has_pin "$env"; then return 0; fi
    done
    __cudaswitch_has_pin "$venv"
}

# _cudaswitch_origin = the pin of the environment $1, if it has one.
__cudaswitch_has_pin() {
    _cudaswitch_origin=$1/etc/cudaswitch/pin
    case $1 in /*) [ -e "$_cudaswitch_origin" ] ;; *) return 1 ;; esac
}

case $_cudaswitch_origin:$__csw in
    CUDASWITCH_VERSION:)
        __cudaswitch_lent "$CUDASWITCH_VERSION" || __cudaswitch_auto "$CUDASWITCH_VERSION" '' \
            || __cudaswitch_ask -- "$CUDASWITCH_VERSION" || exit
        ;;
esac
if [ -z "$_cudaswitch_origin" ]; then
    __cudaswitch_active || __csw=''
    _cudaswitch_env=$__csw _cudaswitch_origin=$__csw/etc/cudaswitch/pin
    if { [ -n "$_cudaswitch_env" ] && [ -e "$_cudaswitch_origin" ]; } \
        || { [ -n "${VIRTUAL_ENV-}${CONDA_PREFIX-}" ] && __cudaswitch_pinned; } \
        || { __cudaswitch_file && _cudaswitch_origin=$__csw; }; then
        __cudaswitch_decided
    else
        __csw='' _cudaswitch_origin=$_cudaswitch_env
        if [ -n "$_cudaswitch_env" ] && ! __cudaswitch_automatic "$_cudaswitch_env"; then
            # Nobody has asked for it: if it is not installed, that stops nobody, and is said once.
            __cudaswitch_ask --environment "$_cudaswitch_env" || case $? in 1) ;; *) exit ;; esac
        fi
        if [ -z "$__csw" ] && [ -f "$_cudaswitch_root/global" ]; then
            _cudaswitch_origin=$_cudaswitch_root/global
            __cudaswitch_decided
        fi
    fi
fi

__csw=${__csw%%:*}
if [ -n "${__csw#system}" ] && [ -f "$__csw/bin/$_cudaswitch_tool" ] \
    && [ -x "$__csw/bin/$_cudaswitch_tool" ]; then
    exec "$__csw/bin/$_cudaswitch_tool" "$@"
fi

# What follows is needed if the tool is not there, and read only then.

# Look through the stores: _cudaswitch_name = the name of the toolkit $__csw, _cudaswitch_having =
# the toolkits that have the tool.
__cudaswitch_survey() {
    \local stores store kit at
    _cudaswitch_name=${__csw##*/} _cudaswitch_having='' stores=${CUDASWITCH_STORES-}
    # The stores that config.toml names are noted there.
    at=$_cudaswitch_root/requests/.stores
    if [ -z "$stores" ] && [ -f "$at" ]; then IFS= \read -r stores < "$at"; fi
    stores=$_cudaswitch_root:$stores:
    while [ -n "$stores" ]; do
        store=${stores%%:*} stores=${stores#*:}
        for kit in "${store:-/nowhere}"/toolkits/*/cudaswitch.json; do
            kit=${kit%/*} kit=${kit##*/}
            # An adopted toolkit is elsewhere; the answer to its full name says where.
            case $kit in *+*) at=$store/requests/$kit ;; *) at=$store/requests/$kit+cudnnnone ;; esac
            if [ -f "$at" ] && IFS= \read -r at < "$at"; then
                at=${at%%:*}
                if [ "$at" = "$__csw" ]; then _cudaswitch_name=$kit; fi
                if [ -f "$at/bin/$_cudaswitch_tool" ] && [ -x "$at/bin/$_cudaswitch_tool" ]; then
                    _cudaswitch_having="${_cudaswitch_having:+$_cudaswitch_having, }$kit"
                fi
            fi
        done
    done
}

# End with the reason $1, and with the hint $2, or else with where the tool would be.
__cudaswitch_fail() {
    \local hint
    hint=${2:-${_cudaswitch_having:+it is in $_cudaswitch_having}}
    printf 'cudaswitch: %s\n' "$1" >&2
    if [ -n "$hint" ]; then printf 'hint: %s\n' "$hint" >&2; fi
    exit 127
}

if [ -n "${__csw#system}" ]; then
    __cudaswitch_survey
    __cudaswitch_lined
    if [ -f "$__csw/bin/$_cudaswitch_tool" ]; then
        __cudaswitch_fail "\`$__csw/bin/$_cudaswitch_tool\` exists, but is not executable" \
            "cudaswitch exec $_cudaswitch_name -- $_cudaswitch_tool explains why"
    fi
    if [ -d "$__csw/." ]; then
        __cudaswitch_fail "\`$_cudaswitch_tool\` is not in CUDA $_cudaswitch_name (asked for by $_cudaswitch_origin)"
    fi
    __cudaswitch_fail "toolkit \`$__csw\` is gone (asked for by $_cudaswitch_origin)"
fi

# __csw = the tool after the file $1 on PATH, else the first one; fails if there is none.
__cudaswitch_next() {
    \local rest first behind
    rest=$PATH: first='' behind=''
    while [ -n "$rest" ]; do
        __csw=${rest%%:*}/$_cudaswitch_tool rest=${rest#*:}
        case $__csw in /*) ;; *) continue ;; esac
        if [ -f "$__csw" ] && [ -x "$__csw" ] && ! [ -e "${__csw%/*}/.cudaswitch-shims" ] \
            && ! [ "$__csw" -ef "$0" ]; then
            if [ -n "$behind" ] && ! [ "$__csw" -ef "$1" ]; then return 0; fi
            first=${first:-$__csw}
        fi
        if [ "$__csw" -ef "$1" ]; then behind=1; fi
    done
    __csw=$first
    [ -n "$first" ]
}

_cudaswitch_asked=$__csw
# ccache and the like, which stand in for the tool on PATH, look there for one other than
# themselves, and find the shim, before them on PATH or after them.
case ${_cudaswitch_last%%:*} in
    "$$" | "$PPID") __cudaswitch_next "${_cudaswitch_last#*:}" ;;
    *) __cudaswitch_next "$0" ;;
esac && {
    \export "_CUDASWITCH_SHIMS=$_cudaswitch_count:$$:$__csw"
    exec "$__csw" "$@"
}
__cudaswitch_survey
if [ -n "$_cudaswitch_asked" ]; then
    __cudaswitch_lined
    __cudaswitch_fail "\`$_cudaswitch_tool\` is not on PATH, and \`system\` is asked for by $_cudaswitch_origin"
fi
_cudaswitch_having=${_cudaswitch_having:+$_cudaswitch_having; cudaswitch pin VERSION --global asks for one}
__cudaswitch_fail "\`$_cudaswitch_tool\` is not on PATH, and no toolkit is requested here"
