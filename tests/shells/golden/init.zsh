typeset -g _cudaswitch_root='/home/o'\''neill/a $store'
typeset -g _cudaswitch_program='/opt/a "program"/cudaswitch'
typeset -g _cudaswitch_seen=''
<packages.sh>
<bundled.sh>
<copies.sh>
<flags.sh>
<core.sh>
<answers.sh>
<init.sh>
<init.zsh>
