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
set -gx _CUDASWITCH_U '/srv/a store/toolkits/10.1.243+cudnn7.6.5:lib=always:gpus=0,2'
__cudaswitch_settle
