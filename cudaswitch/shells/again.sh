# shellcheck shell=bash disable=SC1090,SC2016,SC2154,SC2317  # zsh runs it too
# A new shell returns from its ready file, $_cudaswitch_ready, before the integration itself, and
# reads on there when something asks for a toolkit. By then it may be that of another version,
# which is as good, or gone.

__cudaswitch_load() {
    __cudaswitch_unaliased __cudaswitch_again
}

__cudaswitch_again() {
    \local _csw_text
    _cudaswitch_rest=1
    if [ -r "$_cudaswitch_ready" ]; then \. "$_cudaswitch_ready"; fi
    if [ -n "$_cudaswitch_rest" ] \
        && _csw_text=$("$_cudaswitch_program" init "${_cudaswitch_ready##*/}" 2> /dev/null); then
        _cudaswitch_rest=''
        \eval "$_csw_text"
    fi
    if [ -z "$_cudaswitch_rest" ]; then return 0; fi
    printf 'cudaswitch: `%s` is gone, so this shell switches nothing\n' "$_cudaswitch_ready" >&2
    __cudaswitch_look() { :; }
    __cudaswitch_edited() { return 1; }
    _cudaswitch_alone=''
    \unset -f cudaswitch __cudaswitch_settle __cudaswitch_enter __cudaswitch_leave
    return 1
}
