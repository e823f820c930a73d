set -g _cudaswitch_root '/home/o\'neill/a $store'
set -g _cudaswitch_program '/opt/a "program"/cudaswitch'
set -g _cudaswitch_scripts '/opt/a `share`'
set -g _cudaswitch_ready '/home/o\'neill/a $store/init/fish'
set -g _cudaswitch_seen ''
<again.fish>
<release.fish>
<lazy.fish>
<tab.fish>
<prompt.fish>
<release.fish, #:>
<bundled.fish, #:>
<copies.fish, #:>
<exported.fish, #:>
<flags.fish, #:>
<lists.fish, #:>
<core.fish, #:>
<plain.fish, #:>
<besides.fish, #:>
<hooks.fish, #:>
<answers.fish, #:>
<keepers.fish, #:>
<init.fish, #:>
<command.fish, #:>
#:set -g _cudaswitch_rest
