<packages.sh, [[>
<bundled.sh, [[>
<copies.sh, [[>
<flags.sh, [[>
<core.sh, [[>
<hooks.sh, [[>
\export _CUDASWITCH_U='system'
__cudaswitch_settle
