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
<answers.fish>
<keepers.fish>
<init.fish>
<command.fish>
set -g _cudaswitch_rest ''
