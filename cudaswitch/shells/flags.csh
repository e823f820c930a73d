# Words among flags, and copies that conda keeps, are left to a `sh`: with _csw_way give, it removes
# those of the want that was applied, with set, it adds those of the new one.
set _csw_has = $_csw_whole
if ($_csw_way == give) then
    if ($?_CUDASWITCH_CC || $?_CUDASWITCH_XLA) set _csw_has = 1
else
    if ($_csw_xla == xla) set _csw_has = 1
    foreach _csw_word ($_csw_asked:q)
        if ("$_csw_word:q" =~ cc=*) set _csw_has = 1
    end
endif
if (! $_csw_has) exit
set _csw_left = none
if ($_csw_do == leave) set _csw_left = "${_csw_env:q}"
set _csw_names = (CUDAHOSTCXX NVCC_PREPEND_FLAGS NVCC_PREPEND_FLAGS_BACKUP XLA_FLAGS _CUDASWITCH_CC _CUDASWITCH_XLA)
if ($_csw_whole) set _csw_names = ($_csw_names $_csw_scalars)
foreach _csw_name (CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS $_csw_scalars)
    set _csw_names = ($_csw_names _CUDASWITCH_WAS_$_csw_name)
end
set _csw_names = ($_csw_names $_csw_copies)
set _csw_text = 'for f in copies exported flags lists core; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; way=$2 _csw_home=$3 _csw_xla=${4#none} _csw_left=${5#none} want=${6#=} _csw_kept=$7; _csw_theirs=${_CUDASWITCH_KEPT-}; shift 7; if [ "$_csw_kept" = 0 ]; then __cudaswitch_flags_$way "$want"; else if [ -n "${_CUDASWITCH_LIB-}" ]; then __cudaswitch_copies LD_LIBRARY_PATH "$_CUDASWITCH_LIB" ""; fi; __cudaswitch_scalars give "$_CUDASWITCH_ON"; fi'
set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_texts:q $_csw_way $_csw_value:q $_csw_xla $_csw_left:q "=${_csw_want:q}" $_csw_whole $_csw_names'
source "${_csw_texts:q}/take.csh"
