<packages.sh>
<bundled.sh>
<copies.sh>
<flags.sh>
<core.sh>
\export _CUDASWITCH_U='system'
__cudaswitch_settle
