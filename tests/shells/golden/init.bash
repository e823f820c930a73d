_cudaswitch_root='/home/o'\''neill/a $store'
_cudaswitch_program='/opt/a "program"/cudaswitch'
_cudaswitch_seen=''
__cudaswitch_load() { __cudaswitch_unaliased \eval '<packages.sh, [[>
<bundled.sh, [[>
<copies.sh, [[>
<exported.sh>
<flags.sh, [[>
<core.sh, [[>
<hooks.sh, [[>
<answers.sh, [[>
<init.sh, [[>
'; }
<file.sh, [[>
<lazy.sh, [[>
<init.bash>
