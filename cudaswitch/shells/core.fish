# The change and its exact undo for fish. The state is that of core.sh, word for word, so
# that shells of both kinds can be nested.

# How many elements of $__csw are the directory $argv[1].
function __cudaswitch_count
    count (string match --regex -- '^'(string escape --style=regex -- $argv[1])'$' $__csw)
end

# Take the directories of the record $argv[1] out of $__csw: each once, at its first place,
# and only where more copies stand than before us.
function __cudaswitch_without
    for item in (string split --no-empty : -- $argv[1])
        set -l part (string split --max 1 / -- $item)
        if test (__cudaswitch_count /$part[2]) -gt $part[1]
            set -e __csw[(contains --index -- /$part[2] $__csw)]
        end
    end
end

# Is the conda environment $argv[1] before the virtualenv $argv[2] on PATH, and so the
# active one?
function __cudaswitch_before
    for dir in $PATH
        test $dir = $argv[2]/bin; and return 1
        test $dir = $argv[1]/bin; and return 0
    end
    return 1
end

# Does the active environment bring its own CUDA? $__csw_left is one that is just being left.
function __cudaswitch_bundled
    set -l env $CONDA_PREFIX
    set -l venv $VIRTUAL_ENV
    test "$env" = "$__csw_left"; and set env
    test "$venv" = "$__csw_left"; and set venv
    if test -n "$venv"
        if test -z "$env"; or not __cudaswitch_before $env $venv
            set env $venv
        end
    end
    test -n "$env"; or return 1
    set -l found $env/lib/python*/site-packages/nvidia/*/lib \
        $env/lib/python*/site-packages/torch/lib/libtorch_cuda.so
    set -q found[1]; and return 0
    set found $env/conda-meta/cudatoolkit-*.json $env/conda-meta/cuda-cudart-*.json \
        $env/conda-meta/libcublas-*.json
    string match --quiet --regex '/(cudatoolkit|cuda-cudart|libcublas)-[0-9][^/]*$' -- $found
end

# $argv[1] = set or give: the variables that the applied want $argv[2] has.
function __cudaswitch_scalars
    set -l home (string split --fields 1 : -- $argv[2])
    set -l names CUDA_HOME CUDA_PATH CUDAToolkit_ROOT
    set -l values $home $home $home
    if string match --quiet '*:nvcc:*' -- $argv[2]:
        set -a names CUDACXX
        set -a values $home/bin/nvcc
    end
    if set -l gpus (string replace --filter --regex '.*:gpus=([^:]*).*' '$1' -- $argv[2])
        set -a names CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
        set -a values $gpus PCI_BUS_ID
    end
    for name in $names
        set -l ours $values[1]
        set -e values[1]
        set -l was _CUDASWITCH_WAS_$name
        if test $argv[1] = set
            if set -q $name
                set -gx $was "$$name"
            end
            set -gx $name $ours
        else
            if test "$$name" = $ours
                if set -q $was
                    set -gx $name "$$was"
                else
                    set -e $name
                end
            end
            set -e $was
        end
    end
end

# Print what the strongest asks for.
function __cudaswitch_strongest
    set -l owners U X C V D
    if test -n "$_CUDASWITCH_C" -a -n "$_CUDASWITCH_V"
        __cudaswitch_before (string replace --regex '.*:env=' '' -- $_CUDASWITCH_C) \
            (string replace --regex '.*:env=' '' -- $_CUDASWITCH_V)
        or set owners U X V C
    end
    for owner in _CUDASWITCH_$owners
        if test -n "$$owner"
            echo $$owner
            return 0
        end
    end
end

# Undo what is applied and apply what the strongest asks for.
function __cudaswitch_settle
    set -l path $PATH
    set -l old $_OLD_VIRTUAL_PATH
    set -l ld $LD_LIBRARY_PATH
    set -l ld_set
    set -q LD_LIBRARY_PATH; and set ld_set set
    # fish keeps a variable that is set but empty as a list of one empty string.
    test "$ld" = ''; and set ld
    set -l path_was $path
    set -l old_was $old
    set -l ld_was $ld
    set -g __csw

    set -l bin $_CUDASWITCH_BIN
    if test -n "$bin$_CUDASWITCH_GONE"
        # A virtualenv that was left has brought back the PATH that it kept.
        if not set -q old[1]; and test -z "$VIRTUAL_ENV" -a -n "$_CUDASWITCH_OLD"
            set bin $_CUDASWITCH_OLD
        end
        set __csw $path
        __cudaswitch_without "$bin"
        __cudaswitch_without "$_CUDASWITCH_GONE"
        set path $__csw
        if set -q old[1]
            # An activation that came after us took its snapshot with our entries in it.
            set __csw $old
            if test -n "$_CUDASWITCH_OLD"
                __cudaswitch_without "$_CUDASWITCH_OLD"
            else
                __cudaswitch_without "$bin"
            end
            set old $__csw
        end
    end
    if test -n "$_CUDASWITCH_LIB"
        set __csw $ld
        __cudaswitch_without $_CUDASWITCH_LIB
        if test (count $__csw) -ne (count $ld)
            set ld $__csw
            if not set -q ld[1]; and test "$_CUDASWITCH_LD" = unset
                set ld_set
            end
        end
    end
    if test -n "$_CUDASWITCH_ON"
        __cudaswitch_scalars give $_CUDASWITCH_ON
    end
    for name in ON BIN OLD GONE LIB LD
        set -e _CUDASWITCH_$name
    end

    set -l want (__cudaswitch_strongest)
    set -l home (string split --fields 1 : -- "$want")
    if string match --quiet '/*' -- $home; and test -d $home/.
        set __csw $path
        set -gx _CUDASWITCH_BIN (__cudaswitch_count $home/bin)$home/bin
        set -p path $home/bin
        if set -q old[1]
            set __csw $old
            set -gx _CUDASWITCH_OLD (__cudaswitch_count $home/bin)$home/bin
            set -p old $home/bin
        end
        set -l libs 1
        switch $want:
            case '*:lib=never:*'
                set libs
            case '*:lib=always:*'
            case '*'
                __cudaswitch_bundled; and set libs
        end
        set -l lib
        if set -q libs[1]
            for dir in extras/CUPTI/lib64 lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib
                if test -d $home/$dir
                    set __csw $ld
                    set -p lib (__cudaswitch_count $home/$dir)$home/$dir
                    set -p ld $home/$dir
                    test $dir = extras/CUPTI/lib64; or break
                end
            end
        end
        if set -q lib[1]
            set -gx _CUDASWITCH_LIB (string join : -- $lib)
            if not set -q ld_set[1]
                set -gx _CUDASWITCH_LD unset
                set ld_set set
            end
        end
        test -x $home/bin/nvcc; and set want $want:nvcc
        __cudaswitch_scalars set $want
        set -gx _CUDASWITCH_ON $want
    end
    set -e __csw

    test "$path" = "$path_was"; or set -gx PATH $path
    test "$old" = "$old_was"; or set -gx _OLD_VIRTUAL_PATH $old
    if test "$ld" != "$ld_was"
        if set -q ld_set[1]
            set -q ld[1]; or set ld ''
            set -gx LD_LIBRARY_PATH $ld
        else
            set -e LD_LIBRARY_PATH
        end
    end
end

# The hook of an environment that is entered: owner C or V, its folder, toolkit, options.
function __cudaswitch_enter
    set -l home $argv[3]
    if test $home != system; and not test -d $home/.
        set home gone
        if isatty stderr
            printf 'cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n' \
                $argv[3] $argv[2] >&2
        end
    end
    set -gx _CUDASWITCH_$argv[1] (string join --no-empty : -- $home $argv[4] env=$argv[2])
    __cudaswitch_settle
end

# The hook of an environment that is left: owner C or V, its folder.
function __cudaswitch_leave
    set -l owner _CUDASWITCH_$argv[1]
    test -n "$$owner"; or return 0
    set -l before $_CUDASWITCH_BIN
    set -e $owner
    set -g __csw_left $argv[2]
    __cudaswitch_settle
    set -e __csw_left
    test $argv[1] = C; or return 0
    # On a switch between environments and on reactivation conda goes on to export a PATH
    # that it computed before this hook ran: remember what that brings back, and what is
    # applied now, which it takes away.
    set before "$before:$_CUDASWITCH_BIN"
    set -g __csw $PATH
    set -l gone
    for item in (string split --no-empty : -- "$before")
        set -l dir /(string split --max 1 --fields 2 / -- $item)
        set -a gone (__cudaswitch_count $dir)$dir
    end
    set -e __csw
    if set -q gone[1]
        set -gx _CUDASWITCH_GONE (string join : -- $gone)
    end
    # PATH comes first of what conda exports then, the level after the environment's name.
    function __cudaswitch_repair --on-variable PATH --on-variable CONDA_SHLVL
        if test "$argv[3]" = CONDA_SHLVL
            functions --erase __cudaswitch_repair
            __cudaswitch_settle
        else if test -n "$_CUDASWITCH_GONE"
            __cudaswitch_settle
        end
    end
    return 0
end
