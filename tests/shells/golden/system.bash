case ${KSH_VERSION:+k} in
'')
case $-${ZSH_VERSION:+z} in
*a*z) \set +a && \typeset -g _cudaswitch_all=1 ;;
*a*) \set +a && _cudaswitch_all=1 ;;
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
<there.sh, [[>
<hooks.sh, [[>
\export _CUDASWITCH_U='system'
__cudaswitch_settle
case ${_cudaswitch_all-} in 1) \unset _cudaswitch_all && \set -a ;; esac
;;
*)
printf 'cudaswitch: %s\nhint: %s\n' 'ksh cannot be switched: its functions have no `local`' 'cudaswitch exec VERSION -- ksh' >&2
\false
;;
esac
