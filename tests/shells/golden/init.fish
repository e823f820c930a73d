set -g _cudaswitch_root '/home/o\'neill/a $store'
set -g _cudaswitch_store '/home/o\'neill/a $store'
set -g _cudaswitch_program '/opt/a "program"/cudaswitch'
set -g _cudaswitch_scripts '/opt/a `share`'
set -g _cudaswitch_seen ''
function __cudaswitch_load
    eval '<release.fish>
'
    eval '<bundled.fish>
'
    eval '<copies.fish>
'
    eval '<exported.fish>
'
    eval '<flags.fish>
'
    eval '<lists.fish>
'
    eval '<core.fish>
'
    eval '<plain.fish>
'
    eval '<besides.fish>
'
    eval '<hooks.fish>
'
    eval '<answers.fish>
'
    eval '<keepers.fish>
'
    eval '<init.fish>
'
    eval '<command.fish>
'
end
<release.fish>
<lazy.fish>
<tab.fish>
<prompt.fish>
