case ${BASH_VERSION-}${ZSH_VERSION-} in
'') \return 0 ;;
esac
case $-${ZSH_VERSION:+z} in
*a*z) \set +a && \typeset -g _cudaswitch_all=1 ;;
*a*) \set +a && _cudaswitch_all=1 ;;
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
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
