<core.nu>
$env._CUDASWITCH_U = "system"
__cudaswitch_settle
