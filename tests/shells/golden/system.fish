<release.fish>
<bundled.fish>
<copies.fish>
<flags.fish>
<lists.fish>
<core.fish>
<hooks.fish>
set -gx _CUDASWITCH_U 'system'
__cudaswitch_settle
