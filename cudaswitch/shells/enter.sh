# Written by `cudaswitch pin`, taken away by `cudaswitch unpin`.
# No kind of ksh has \local: nothing is better there than half.
if [ -n "${@env@-}" ] && [ -z "${KSH_VERSION-}" ] \
    && { [ -n "${_cudaswitch_here-}" ] || \command -v __cudaswitch_settle > /dev/null \
        || { [ -f "$@env@/etc/cudaswitch/core.sh" ] && \. "$@env@/etc/cudaswitch/core.sh"; }; }; then
    __cudaswitch_enter @owner@ "$@env@" @home@ @options@ @auto@ @watched@
fi
