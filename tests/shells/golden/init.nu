$env._cudaswitch_root = ["/home/o'neill/a $store"]
$env._cudaswitch_store = ["/home/o'neill/a $store"]
$env._cudaswitch_program = ["/opt/a \"program\"/cudaswitch"]
$env._cudaswitch_seen = [""]
<core.nu>
<init.nu>
