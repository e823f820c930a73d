# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
if [ -n "${@env@-}" ] && [ -f "$@env@/etc/cudaswitch/core.sh" ]; then
    \command -v __cudaswitch_settle > /dev/null || \. "$@env@/etc/cudaswitch/core.sh"
    __cudaswitch_enter @owner@ "$@env@" @home@ @options@ @auto@
fi
