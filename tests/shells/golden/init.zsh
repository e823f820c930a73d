typeset -g _cudaswitch_root='/home/o'\''neill/a $store'
typeset -g _cudaswitch_program='/opt/a "program"/cudaswitch'
typeset -g _cudaswitch_seen=''
__cudaswitch_load() {
    \local _csw_code _csw_aliases
    _csw_code=0 _csw_aliases=''
    if [ -n "${ZSH_VERSION-}" ]; then
        \emulate -L sh -o no_aliases -o no_warn_create_global
    elif \shopt -q expand_aliases; then
        _csw_aliases=1
        \shopt -u expand_aliases
    fi
    \eval '<packages.sh, [[>
<bundled.sh, [[>
<copies.sh, [[>
<flags.sh, [[>
<core.sh, [[>
<hooks.sh, [[>
<answers.sh, [[>
<init.sh, [[>
' || _csw_code=$?
    if [ -n "$_csw_aliases" ]; then \shopt -s expand_aliases; fi
    return "$_csw_code"
}
<file.sh, [[>
<lazy.sh, [[>
<init.zsh>
