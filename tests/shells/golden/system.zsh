<packages.sh, [[>
<bundled.sh, [[>
<copies.sh, [[>
<exported.sh>
<flags.sh, [[>
<core.sh, [[>
<hooks.sh, [[>
\export _CUDASWITCH_U='system'
__cudaswitch_settle
