_cudaswitch_root='/home/o'\''neill/a $store'
_cudaswitch_program='/opt/a "program"/cudaswitch'
_cudaswitch_seen=''
<packages.sh>
<bundled.sh>
<copies.sh>
<flags.sh>
<core.sh>
<answers.sh>
<init.sh>
<init.bash>
