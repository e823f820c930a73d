case ${BASH_VERSION-}${ZSH_VERSION-} in
'') return 0 ;;
esac
case ${_cudaswitch_rest-} in
'')
typeset -g _cudaswitch_root='/home/o'\''neill/a $store'
typeset -g _cudaswitch_program='/opt/a "program"/cudaswitch'
typeset -g _cudaswitch_scripts='/opt/a `share`'
typeset -g _cudaswitch_ready='/home/o'\''neill/a $store/init/zsh'
typeset -g _cudaswitch_seen=''
<again.sh, [[>
<file.sh, [[>
<lazy.sh, [[>
<tab.zsh>
<init.zsh>
return 0
;;
esac
<packages.sh, [[>
<bundled.sh, [[>
<copies.sh, [[>
<exported.sh>
<flags.sh, [[>
<lists.sh, [[>
<core.sh, [[>
<plain.sh, [[>
<besides.sh, [[>
<hooks.sh, [[>
<ready.sh, [[>
<answers.sh, [[>
<keepers.sh, [[>
<init.sh, [[>
<command.sh, [[>
_cudaswitch_rest=''
