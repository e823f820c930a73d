<release.fish>
<bundled.fish>
<copies.fish>
<exported.fish>
<flags.fish>
<lists.fish>
<core.fish>
<plain.fish>
<besides.fish>
<hooks.fish>
set -gx _CUDASWITCH_U 'system'
__cudaswitch_settle
