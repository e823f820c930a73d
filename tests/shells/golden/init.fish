set -g _cudaswitch_root '/home/o\'neill/a $store'
set -g _cudaswitch_store '/home/o\'neill/a $store'
set -g _cudaswitch_program '/opt/a "program"/cudaswitch'
set -g _cudaswitch_scripts '/opt/a `share`'
set -g _cudaswitch_seen ''
function __cudaswitch_load
    eval '<release.fish>
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
'
end
<release.fish>
<lazy.fish>
<tab.fish>
<prompt.fish>
