set -g _cudaswitch_root '/home/o\'neill/a $store'
set -g _cudaswitch_store '/home/o\'neill/a $store'
set -g _cudaswitch_program '/opt/a "program"/cudaswitch'
set -g _cudaswitch_scripts '/opt/a `share`'
set -g _cudaswitch_rest '/home/o\'neill/a $store/init/.fish/rest'
set -g _cudaswitch_seen ''
<again.fish>
<release.fish>
<lazy.fish>
<tab.fish>
<prompt.fish>
