# The short ways of core.fish for the usual case, a toolkit where nobody else has set anything.

# Has nobody set what a toolkit sets?
function __cudaswitch_free
    set -q CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
    test $status -eq 4
end

# Apply $want of the toolkit $home in front of $path and $ld, $ld_set being empty if that is unset,
# provided nobody has set what a toolkit sets, and nothing needs working out. Otherwise this fails
# with nothing done, and the slower __cudaswitch_apply takes over.
function __cudaswitch_plainly --no-scope-shadowing
    string match --quiet --regex '^[^:]*(?::env=|$)' -- $want; or return 1
    set -q ld_set[1]; and not set -qx LD_LIBRARY_PATH; and return 1
    __cudaswitch_place $home $want ":$path:$ld" "$plain" $ld; or return 1
    set -g --path _cudaswitch_ld_was $ld
    set -g _cudaswitch_ld_was_set $ld_set
    set -gx PATH $home/bin $path
    set -q ld_set[1]; and test "$was_unset" != unset; or set -gx _CUDASWITCH_LD unset
    return 0
end

# $path, $ld and $ld_set = the lists as they are, and whether LD_LIBRARY_PATH is set. fish keeps a
# variable that is set but empty as a list of one empty string, and also has lists without any: `bare`.
function __cudaswitch_lists --no-scope-shadowing
    set path $PATH
    set ld $LD_LIBRARY_PATH
    set ld_set
    # A universal one shows again once ours is gone.
    set -q LD_LIBRARY_PATH; and set ld_set set
    and not set -qg LD_LIBRARY_PATH; and set ld_set under
    test -n "$ld"; and return
    set -q ld_set[1]; and not set -q ld[1]; and set ld_set bare
    set ld
end

# Set what the want $argv[2] of the toolkit $argv[1] has besides PATH, in front of $argv[5..-1], if
# nothing needs working out, neither in the lists $argv[3] nor in the active environment, which is
# known to bring no CUDA if it is $argv[4]. Otherwise this fails with nothing done.
function __cudaswitch_place
    test -d $argv[1]/lib64 -a -x $argv[1]/bin/nvcc; or return 1
    string match --quiet -- "*:$argv[1]/*" $argv[3]; and return 1
    test -z "$CONDA_SHLVL$CONDA_PREFIX$VIRTUAL_ENV"; or __cudaswitch_unhindered "$argv[4]"; or return 1
    if test -d $argv[1]/extras/CUPTI/lib64
        set -gx _CUDASWITCH_LIB 0$argv[1]/lib64:0$argv[1]/extras/CUPTI/lib64
        set -gx --path LD_LIBRARY_PATH $argv[1]/lib64 $argv[1]/extras/CUPTI/lib64 $argv[5..-1]
    else
        set -gx _CUDASWITCH_LIB 0$argv[1]/lib64
        set -gx --path LD_LIBRARY_PATH $argv[1]/lib64 $argv[5..-1]
    end
    set -gx _CUDASWITCH_ON $argv[2]:nvcc
    set -gx _CUDASWITCH_BIN 0$argv[1]/bin
    set -gx CUDA_HOME $argv[1]
    set -gx CUDA_PATH $argv[1]
    set -gx CUDAToolkit_ROOT $argv[1]
    set -gx CUDACXX $argv[1]/bin/nvcc
    set -g _cudaswitch_ld "$LD_LIBRARY_PATH"
    set -g _cudaswitch_plain $argv[1]:$argv[1]:$argv[1]:$CUDACXX
    return 0
end

# Is that ruled out neither by what conda keeps nor by what an environment other than $argv brings?
function __cudaswitch_unhindered
    test -n "$CONDA_SHLVL"; and __cudaswitch_kept; and return 1
    test "$CONDA_PREFIX$VIRTUAL_ENV" = "$argv"; and return 0
    set -e __csw_xla
    __cudaswitch_bundled; and return 1
    not set -q __csw_xla
end

# Undo what __cudaswitch_plainly did, if nobody has touched it and nobody asks for anything.
# Otherwise this fails with nothing done, and the slower __cudaswitch_settle takes over.
function __cudaswitch_restore
    test "$_CUDASWITCH_U$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V$_CUDASWITCH_D$_CUDASWITCH_OLD\
$_CUDASWITCH_GONE$_OLD_VIRTUAL_PATH$_CUDASWITCH_UNEXPORTED:$LD_LIBRARY_PATH|$CUDA_HOME:$CUDA_PATH:$CUDAToolkit_ROOT:\
$CUDACXX|0$PATH[1]" = ":$_cudaswitch_ld|$_cudaswitch_plain|$_CUDASWITCH_BIN"; and test -n "$_cudaswitch_plain"
    or begin
        test -z "$_CUDASWITCH_U$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V$_CUDASWITCH_D"
        and __cudaswitch_retrace
        return
    end
    set -q _CUDASWITCH_KEPT; and return 1
    set -q PATH[2]; or return 1
    __cudaswitch_kept; and return 1
    set -gx PATH $PATH[2..]
    if contains -- "$_cudaswitch_ld_was_set" set bare
        set -l --path ld $_cudaswitch_ld_was
        __cudaswitch_back LD_LIBRARY_PATH "$ld"
        test $_cudaswitch_ld_was_set = set; or set LD_LIBRARY_PATH
    else
        set -e LD_LIBRARY_PATH
    end
    set -g _cudaswitch_plain
    set -eg CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX \
        _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_LIB _CUDASWITCH_LD
    return 0
end
