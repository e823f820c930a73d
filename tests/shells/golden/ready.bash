case ${BASH_VERSION-}${ZSH_VERSION-} in
'') return 0 ;;
esac
case ${_cudaswitch_rest-} in
'')
_cudaswitch_root='/home/o'\''neill/a $store'
_cudaswitch_program='/opt/a "program"/cudaswitch'
_cudaswitch_scripts='/opt/a `share`'
_cudaswitch_ready='/home/o'\''neill/a $store/init/bash'
_cudaswitch_seen=''
<again.sh, [[>
<file.sh, [[>
<lazy.sh, [[>
<tab.bash>
<init.bash>
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
<rest.bash>
_cudaswitch_rest=''
