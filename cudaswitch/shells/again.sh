# shellcheck shell=bash disable=SC1090,SC2016,SC2154,SC2317  # zsh runs it too
# A new shell returns from its ready file, $_cudaswitch_ready, before the integration itself, and
# reads on there when something asks for a toolkit. By then it may be that of another version,
# which is as good, or gone.

__cudaswitch_load() {
    \local _csw_aliases _csw_text
    _csw_aliases=''
    # What the person has made of words by then must not get into what is parsed.
    if [ -n "${ZSH_VERSION-}" ]; then
        \emulate -L sh -o no_aliases -o no_warn_create_global
    elif \shopt -q expand_aliases; then
        _csw_aliases=1
        \shopt -u expand_aliases
    fi
    _cudaswitch_rest=1
    if [ -r "$_cudaswitch_ready" ]; then \. "$_cudaswitch_ready"; fi
    if [ -n "$_cudaswitch_rest" ] \
        && _csw_text=$("$_cudaswitch_program" init "${_cudaswitch_ready##*/}" 2> /dev/null); then
        _cudaswitch_rest=''
        \eval "$_csw_text"
    fi
    if [ -n "$_csw_aliases" ]; then \shopt -s expand_aliases; fi
    if [ -z "$_cudaswitch_rest" ]; then return 0; fi
    printf 'cudaswitch: `%s` is gone, so this shell switches nothing\n' "$_cudaswitch_ready" >&2
    __cudaswitch_look() { :; }
    __cudaswitch_edited() { return 1; }
    \unset -f cudaswitch __cudaswitch_settle __cudaswitch_enter __cudaswitch_leave
    return 1
}
