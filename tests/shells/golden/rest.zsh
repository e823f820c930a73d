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
<ready.sh, [[>
<answers.sh, [[>
<store.sh>
<keepers.sh, [[>
<init.sh, [[>
<command.sh, [[>
\typeset -g _cudaswitch_rest=''
