# _csw_copies = the copies that conda keeps of the variables that a toolkit sets, and will restore.
# copies.sh removes our values from them, in one `sh`:
#
#   _csw_keep   find: only list the copies
#               forget: conda has finished. What it keeps dates from before the hook of the
#               environment that was left; _cudaswitch_undone has its want, LIB, CC, XLA and KEPT,
#               each after a `=`, and NAME=VALUE for each variable that was set before us
set _csw_copies = ()
foreach _csw_name (CUDA_HOME CUDA_PATH)
    eval 'set _csw_has = $?'$_csw_name'_CONDA_NVCC_BACKUP'
    if ($_csw_has) set _csw_copies = ($_csw_copies ${_csw_name}_CONDA_NVCC_BACKUP)
end
set _csw_levels = ()
if ($?CONDA_SHLVL) then
    # conda never deletes its copies, and restores them with the next environment.
    set _csw_levels = (0 1 2)
    if ("${CONDA_SHLVL:q}" =~ {[3-9],[1-9][0-9]}) then
        while ($#_csw_levels <= $CONDA_SHLVL)
            set _csw_levels = ($_csw_levels $#_csw_levels)
        end
    endif
endif
foreach _csw_level ($_csw_levels)
    foreach _csw_name (LD_LIBRARY_PATH $_csw_scalars CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS)
        eval 'set _csw_has = $?__CONDA_SHLVL_'$_csw_level'_'$_csw_name
        if ($_csw_has) set _csw_copies = ($_csw_copies __CONDA_SHLVL_${_csw_level}_$_csw_name)
    end
end
if ($_csw_keep == find) exit

if ($#_csw_copies) then
    set _csw_names = ($_csw_copies LD_LIBRARY_PATH $_csw_scalars CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS)
    set _csw_text = 'for f in copies exported flags lists core hooks; do if [ -f "$1/$f.sh" ]; then . "$1/$f.sh"; fi; done; _cudaswitch_gave=1 _cudaswitch_undone=${2#=} _cudaswitch_undone_lib=${3#=} _cudaswitch_undone_cc=${4#=} _cudaswitch_undone_xla=${5#=} _cudaswitch_undone_kept=${6#=} _cudaswitch_was_CUDAHOSTCXX=; shift 6; while [ "$1" != = ]; do eval "_cudaswitch_was_${1%%=*}="'\''${1#*=}'\''; shift; done; shift; __cudaswitch_forget'
    set _csw_words = '/bin/sh -c $_csw_text:q sh $_csw_texts:q $_cudaswitch_undone:q = $_csw_names'
    source "${_csw_texts:q}/take.csh"
endif
unset _cudaswitch_undone
