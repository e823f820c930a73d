case ${BASH_VERSION-}${ZSH_VERSION-} in
'') \return 0 ;;
esac
case $-${ZSH_VERSION:+z} in
*a*z) \set +a && \typeset -g _cudaswitch_all=1 ;;
*a*) \set +a && _cudaswitch_all=1 ;;
esac
_cudaswitch_root='/home/o'\''neill/a $store'
_cudaswitch_store='/home/o'\''neill/a $store'
_cudaswitch_program='/opt/a "program"/cudaswitch'
_cudaswitch_scripts='/opt/a `share`'
_cudaswitch_rest='/home/o'\''neill/a $store/init/.bash/rest'
_cudaswitch_seen=''
__cudaswitch_join() { __cudaswitch_unaliased \eval '<join.bash>
' && __cudaswitch_join; }
<again.sh, [[>
<file.sh, [[>
<lazy.sh, [[>
<tab.bash>
<init.bash>
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
