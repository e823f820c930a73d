# shellcheck shell=bash disable=SC1090,SC2016,SC2154,SC2317,SC2329  # zsh runs it too
# A new shell's ready file has only what it needs at once: the integration itself, in
# $_cudaswitch_rest, is parsed when something asks for a toolkit. By then it may be that of another
# version, which is just as good, or gone.

__cudaswitch_load() {
    __cudaswitch_unaliased __cudaswitch_again
}

__cudaswitch_again() {
    \local _csw_text
    # The folder's name is a dot and the name of the shell.
    _csw_text=${_cudaswitch_rest%/*}
    if [ -r "$_cudaswitch_rest" ]; then \. "$_cudaswitch_rest"; fi
    # The file's last line empties this, so it was read to the end.
    if [ -n "$_cudaswitch_rest" ] \
        && _csw_text=$("$_cudaswitch_program" init "${_csw_text##*/.}" 2> /dev/null); then
        _cudaswitch_rest=''
        \eval "$_csw_text"
    fi
    if [ -z "$_cudaswitch_rest" ]; then \return 0; fi
    printf 'cudaswitch: `%s` is gone, so this shell switches nothing\n' "$_cudaswitch_rest" >&2
    __cudaswitch_look() { :; }
    __cudaswitch_edited() { \return 1; }
    __cudaswitch_first() { \unset _cudaswitch_fresh; }
    _cudaswitch_alone=''
    \unset -f cudaswitch __cudaswitch_enter __cudaswitch_leave
    \unset _cudaswitch_here
    \return 1
}
