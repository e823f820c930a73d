<packages.sh>
<bundled.sh>
<copies.sh>
<exported.sh>
<flags.sh>
<core.sh>
<hooks.sh>
\export _CUDASWITCH_U='/srv/a store/toolkits/10.1.243+cudnn7.6.5:lib=always:gpus=0,2'
__cudaswitch_settle
