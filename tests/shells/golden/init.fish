set -g _cudaswitch_root '/home/o\'neill/a $store'
set -g _cudaswitch_program '/opt/a "program"/cudaswitch'
set -g _cudaswitch_seen ''
<bundled.fish>
<copies.fish>
<flags.fish>
<core.fish>
<init.fish>
