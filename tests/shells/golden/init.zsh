case $-${ZSH_VERSION:+z} in
*a*z) \set +a && \typeset -g _cudaswitch_all=1 ;;
*a*) \set +a && _cudaswitch_all=1 ;;
esac
\typeset -g _cudaswitch_root='/home/o'\''neill/a $store'
\typeset -g _cudaswitch_store='/home/o'\''neill/a $store'
\typeset -g _cudaswitch_program='/opt/a "program"/cudaswitch'
\typeset -g _cudaswitch_scripts='/opt/a `share`'
\typeset -g _cudaswitch_seen=''
__cudaswitch_load() { __cudaswitch_unaliased __cudaswitch_parse; }
__cudaswitch_parse() {
\eval '<packages.sh, [[>
'
\eval '<bundled.sh, [[>
'
\eval '<copies.sh, [[>
'
\eval '<exported.sh>
'
\eval '<flags.sh, [[>
'
\eval '<lists.sh, [[>
'
\eval '<core.sh, [[>
'
\eval '<plain.sh, [[>
'
\eval '<besides.sh, [[>
'
\eval '<there.sh, [[>
'
\eval '<hooks.sh, [[>
'
\eval '<ready.sh, [[>
'
\eval '<answers.sh, [[>
'
\eval '<store.sh>
'
\eval '<keepers.sh, [[>
'
\eval '<init.sh, [[>
'
\eval '<command.sh, [[>
'
}
<file.sh, [[>
<lazy.sh, [[>
<tab.zsh>
<init.zsh>
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
