# The short ways of core.fish for less usual cases: variables that were set before, the PATH that a
# virtualenv keeps, an environment that brings its own CUDA or whose framework needs XLA_FLAGS, a
# host compiler for nvcc. $_cudaswitch_besides records what the variables hold then.

# Do what __cudaswitch_plainly does, with the same variables of the caller, in these cases. If even
# this is not simple enough, fail with nothing done: the slower __cudaswitch_apply takes over.
function __cudaswitch_besides --no-scope-shadowing
    string match --quiet --regex '^[^:]*(?::cc=[^:]*)?(?::env=|$)' -- $want; or return 1
    test -d $home/lib64 -a -x $home/bin/nvcc; or return 1
    string match --quiet -- "*:$home/*" ":$path:$ld:$_OLD_VIRTUAL_PATH"; and return 1
    test -n "$CONDA_SHLVL"; and __cudaswitch_kept; and return 1
    set -l before
    for name in CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
        set -q $name; or continue
        # Only global exported variables are simple to restore.
        set -qgx $name; or return 1
        set -a before $name
    end
    set -l cc
    if string match --quiet '*:cc=*' -- $want
        __cudaswitch_host $want
        test -n "$__csw"; and test -x $__csw; and set cc $__csw
        set -e __csw
        set -q cc[1]; and set -q CUDAHOSTCXX NVCC_PREPEND_FLAGS
        # The status of `set -q` is the number of variables that are not set.
        test $status -eq 2 -o -z "$cc"; or return 1
    end
    set -e __csw_xla
    set -l alone
    test "$CONDA_PREFIX$VIRTUAL_ENV" = "$plain"; or not __cudaswitch_bundled; or set alone yes
    if test -z "$alone"; and set -q ld_set[1]; and not set -qx LD_LIBRARY_PATH
        return 1
    end
    if set -q __csw_xla; and test -e $home/nvvm/libdevice
        set -q XLA_FLAGS; and return 1
        string match --quiet --regex '[ \t]' -- $home; and return 1
        set -gx _CUDASWITCH_XLA --xla_gpu_cuda_data_dir=$home
        set -gx XLA_FLAGS $_CUDASWITCH_XLA
    end
    if set -q cc[1]
        set -gx _CUDASWITCH_CC -ccbin=$cc
        set -gx CUDAHOSTCXX $cc
        set -gx NVCC_PREPEND_FLAGS -ccbin=$cc
    end
    set -g --path _cudaswitch_ld_was $ld
    set -g _cudaswitch_ld_was_set $ld_set
    if test "$was_unset" = unset; or test -z "$alone" -a -z "$ld_set"
        set -gx _CUDASWITCH_LD unset
    end
    if test -z "$alone"
        set -l lib $home/lib64
        test -d $home/extras/CUPTI/lib64; and set -a lib $home/extras/CUPTI/lib64
        set -gx --path LD_LIBRARY_PATH $lib $ld
        set -l --path lib 0$lib
        set -gx _CUDASWITCH_LIB "$lib"
    end
    set -g _cudaswitch_ld "$LD_LIBRARY_PATH"
    if set -q _OLD_VIRTUAL_PATH[1]
        set -gx _CUDASWITCH_OLD 0$home/bin
        set -p _OLD_VIRTUAL_PATH $home/bin
    end
    for name in $before
        set -gx _CUDASWITCH_WAS_$name $$name
    end
    set -g _cudaswitch_plain
    set -g _cudaswitch_besides $home:$home:$home:$home/bin/nvcc
    set -gx _CUDASWITCH_ON $want:nvcc
    set -gx _CUDASWITCH_BIN 0$home/bin
    set -gx PATH $home/bin $path
    set -gx CUDA_HOME $home
    set -gx CUDA_PATH $home
    set -gx CUDAToolkit_ROOT $home
    set -gx CUDACXX $home/bin/nvcc
    return 0
end

# Get to $want of the toolkit $home by the short ways alone, from what one of them has applied or
# from nothing. Fails if more is needed; what it has done by then is complete.
function __cudaswitch_shortly --no-scope-shadowing
    set -l was_unset
    if test -n "$_CUDASWITCH_ON$_CUDASWITCH_BIN"
        test -n "$CONDA_PREFIX$VIRTUAL_ENV"; and __cudaswitch_path_kept; and return 1
        test -n "$ld_set" -a -z "$ld"; or set was_unset $_CUDASWITCH_LD
        __cudaswitch_retrace; or return 1
        __cudaswitch_lists
    end
    test -z "$home"; or __cudaswitch_besides; and return 0
    test "$was_unset" = unset -a -d "$home/."; and set -gx _CUDASWITCH_LD unset
    return 1
end

# Undo what either short way did, if nobody has touched it. Otherwise this fails with nothing done.
function __cudaswitch_retrace
    set -l was $_cudaswitch_plain $_cudaswitch_besides
    set -q was[1]; and not set -q _CUDASWITCH_KEPT; or return 1
    set -l ld
    set -l ld_was
    if test -n "$_CUDASWITCH_LIB"
        set ld "$LD_LIBRARY_PATH"
        set ld_was $_cudaswitch_ld
    end
    test "$_CUDASWITCH_GONE$_CUDASWITCH_UNEXPORTED:$ld|$CUDA_HOME:$CUDA_PATH:\
$CUDAToolkit_ROOT:$CUDACXX|0$PATH[1]|" = ":$ld_was|$was[1]|$_CUDASWITCH_BIN|"; or return 1
    if test -n "$_CUDASWITCH_XLA$_CUDASWITCH_CC"
        test -z "$NVCC_PREPEND_FLAGS_BACKUP"; and __cudaswitch_flags_same; or return 1
        __cudaswitch_flags_kept; and return 1
    end
    set -q PATH[2]; or return 1
    if test -n "$_CUDASWITCH_OLD$_OLD_VIRTUAL_PATH"
        set -q _OLD_VIRTUAL_PATH[2]; and test "0$_OLD_VIRTUAL_PATH[1]" = "$_CUDASWITCH_OLD"
        or return 1
    end
    __cudaswitch_kept; and return 1
    set -gx PATH $PATH[2..]
    test -n "$_CUDASWITCH_OLD"; and set -e _OLD_VIRTUAL_PATH[1]
    if test -z "$_CUDASWITCH_LIB"
    else if contains -- "$_cudaswitch_ld_was_set" set bare
        set -l --path ld $_cudaswitch_ld_was
        __cudaswitch_back LD_LIBRARY_PATH "$ld"
        test $_cudaswitch_ld_was_set = set; or set LD_LIBRARY_PATH
    else
        set -e LD_LIBRARY_PATH
    end
    test -n "$_CUDASWITCH_XLA"; and set -eg XLA_FLAGS
    if test -n "$_CUDASWITCH_CC"
        set -eg CUDAHOSTCXX NVCC_PREPEND_FLAGS
        set -g _cudaswitch_was_CUDAHOSTCXX
    end
    set -q _CUDASWITCH_WAS_CUDA_HOME _CUDASWITCH_WAS_CUDA_PATH _CUDASWITCH_WAS_CUDAToolkit_ROOT \
        _CUDASWITCH_WAS_CUDACXX
    if test $status -eq 4
        set -eg CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
    else
        # Note the earlier values for __cudaswitch_forget, which may need them.
        set -g _cudaswitch_gave 1
        for name in CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
            set -l was _CUDASWITCH_WAS_$name
            set -g _cudaswitch_was_$name "$$was"
            if set -q $was
                set -gx $name $$was
                set -e $was
            else
                set -eg $name
            end
        end
    end
    set -g _cudaswitch_plain
    set -g _cudaswitch_besides
    set -eg _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_LIB _CUDASWITCH_LD _CUDASWITCH_OLD \
        _CUDASWITCH_XLA _CUDASWITCH_CC
    return 0
end

# May conda keep flags with words of ours, now applied or applied in the environment that was left?
function __cudaswitch_flags_kept
    set -l names
    test -n "$_CUDASWITCH_XLA$_cudaswitch_undone_xla"; and set -a names XLA_FLAGS
    test -n "$_CUDASWITCH_CC$_cudaswitch_undone_cc"; and set -a names CUDAHOSTCXX NVCC_PREPEND_FLAGS
    set -q names[1]; or return 1
    string match --quiet --regex '^[0-9]?$' -- "$CONDA_SHLVL"; or return 0
    set -l copies __CONDA_SHLVL_{0,1,2,3,4,5,6,7,8,9}_$names
    string length --quiet -- $$copies
end
