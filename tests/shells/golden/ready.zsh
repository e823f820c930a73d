case ${BASH_VERSION-}${ZSH_VERSION-} in
'') \return 0 ;;
esac
\typeset -g _cudaswitch_root='/home/o'\''neill/a $store'
\typeset -g _cudaswitch_store='/home/o'\''neill/a $store'
\typeset -g _cudaswitch_program='/opt/a "program"/cudaswitch'
\typeset -g _cudaswitch_scripts='/opt/a `share`'
\typeset -g _cudaswitch_rest='/home/o'\''neill/a $store/init/.zsh/rest'
\typeset -g _cudaswitch_seen=''
<again.sh, [[>
<file.sh, [[>
<lazy.sh, [[>
<tab.zsh>
<init.zsh>
