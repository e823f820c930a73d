# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
# No kind of ksh has \local: nothing is better there than half.
if [ -n "${@env@-}" ] && [ -z "${KSH_VERSION-}" ] && [ -f "$@env@/etc/cudaswitch/core.sh" ]; then
    \command -v __cudaswitch_settle > /dev/null || \. "$@env@/etc/cudaswitch/core.sh"
    __cudaswitch_enter @owner@ "$@env@" @home@ @options@ @auto@
fi
