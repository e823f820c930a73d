# What the active environment brings, and whether that has changed.

# Does the active environment bring its own CUDA? $__csw_left is one that is just being left. A
# caller that asks more than once has $__csw_found for the answer, empty at first.
function __cudaswitch_bundled
    if set -q __csw_found[1]
        set -q __csw_found[2]; and set -g __csw_xla yes
        test $__csw_found[1] = yes
        return
    end
    set -l env $CONDA_PREFIX
    set -l venv $VIRTUAL_ENV
    test "$env" = "$__csw_left"; and set env
    test "$venv" = "$__csw_left"; and set venv
    if test -n "$venv"
        if test -z "$env"; or not __cudaswitch_before $env $venv
            __cudaswitch_virtualenv
            set env $_cudaswitch_layer[2]
        end
    end
    set -l found no
    test -n "$env"; and __cudaswitch_brought $env; and set found yes
    set -q __csw_found; and set __csw_found $found $__csw_xla
    test $found = yes
end

# $_cudaswitch_layer = VIRTUAL_ENV, and the environment that it counts as: for a layer of `uv run
# --with`, the one below it, as in `sites.extended`. A layer has no pin; a relative path would be
# looked for in any directory.
function __cudaswitch_virtualenv
    test "$VIRTUAL_ENV" = "$_cudaswitch_layer[1]"; and return
    set -g _cudaswitch_layer "$VIRTUAL_ENV" "$VIRTUAL_ENV"
    string match --quiet '/*' -- "$VIRTUAL_ENV"; and not test -f $VIRTUAL_ENV/etc/cudaswitch/pin; or return
    set -l env $VIRTUAL_ENV
    # Layers in a circle would never end.
    for layer in 1 2 3 4 5 6 7 8 9
        set -l below
        test -r $env/pyvenv.cfg
        and string match --quiet --regex '^\s*extends-environment\s*=\s*(?<below>/.*?)\s*$' <$env/pyvenv.cfg
        and test -e $below/pyvenv.cfg -o -e $below/conda-meta; or break
        set env $below
    end
    set _cudaswitch_layer[2] $env
end

# $stack = the environments that the active one was stacked on and that are on PATH, downwards, like
# the list of `environments.stacked_on`.
function __cudaswitch_stack --no-scope-shadowing
    set stack
    set -l level $CONDA_SHLVL
    # Most stack none, and `math` takes longer than the rest.
    test -z "$CONDA_STACKED_2$CONDA_STACKED_3$CONDA_STACKED_4$CONDA_STACKED_5$CONDA_STACKED_6\
$CONDA_STACKED_7$CONDA_STACKED_8$CONDA_STACKED_9"
    and contains -- "$level" 1 2 3 4 5 6 7 8 9; and return 0
    string match --quiet --regex '^[1-9][0-9]?$' -- "$level"; or return 0
    while test $level -gt 1
        set -l stacked CONDA_STACKED_$level
        set level (builtin math $level - 1)
        set -l below CONDA_PREFIX_$level
        test -n "$$stacked"; and string match --quiet '/*' -- "$$below"; and contains -- "$$below/bin" $PATH
        and set -a stack $$below
    end
    return 0
end

# Does the environment $argv, or one below it on PATH whose packages are in use, bring its own
# CUDA? Goes down as `bundled.reached` does: change both.
function __cudaswitch_brought
    set -l env $argv
    set -l stack
    test "$argv" = "$CONDA_PREFIX"; and __cudaswitch_stack
    while not __cudaswitch_brings $env
        test -f $env/etc/cudaswitch/pin; and return 1
        test -z "$_CUDASWITCH_C" -a -e $env/bin/python; and return 1
        set env $stack[1]
        set -q stack[1]; and set -e stack[1]
        if test -n "$VIRTUAL_ENV" -a "=$VIRTUAL_ENV" != "=$__csw_left"
            __cudaswitch_virtualenv
            if test "$argv" != "$_cudaswitch_layer[2]"
                if test -z "$env"; or not __cudaswitch_before $env $VIRTUAL_ENV
                    __cudaswitch_brings $_cudaswitch_layer[2]
                    return
                end
            end
        end
        set -q env[1]; or return 1
    end
end

# Does the environment $argv bring its own CUDA? Looks where `bundled` does: change both. $__csw_xla
# is set if it has a framework that looks for libdevice elsewhere.
function __cudaswitch_brings
    set -l base
    set -l python
    if test -r $argv/pyvenv.cfg
        set -l shared
        # A match that fails empties the variables of its groups.
        set -l found
        while read --local line
            string match --quiet --regex '^\s*home\s*=\s*(?=\S)(?<found>.*?)(/bin)?/*\s*$' -- $line
            and set base $found
            string match --quiet --regex '^\s*version(_info)?\s*=\s*(?<found>[0-9]+\.[0-9]+)' -- $line
            and set python $found
            string match --quiet --regex --ignore-case \
                '^\s*include-system-site-packages\s*=\s*true\s*$' -- $line
            and set shared yes
        end <$argv/pyvenv.cfg
        # A Python in /bin has the root for its prefix.
        set -q base[1]; and test -z "$base"; and set base /
        set -q shared[1]; or set base
    end
    set -l sites $argv/lib/py*/site-packages
    # In a virtualenv, lib64 is a link to lib, except on Fedora.
    test -L $argv/lib64; or set -a sites $argv/lib64/python*/site-packages
    for site in $sites
        if test -e $site/tensorflow; or test -e $site/jaxlib
            set -l found $site/nvidia/cu*/nvvm/libdevice
            # TensorFlow has looked in the environment itself since 2.19.
            set -l old $site/tensorflow{,_gpu}-*
            test -e $site/jaxlib/cuda/nvvm/libdevice
            or string match --quiet --regex '/(cuda_nvcc|cu[0-9][^/]*)/nvvm/libdevice$' -- $found
            or begin
                test -e $argv/nvvm/libdevice
                and not string match --quiet --regex '/tensorflow(_gpu)?-(1|2\.(\d|1[0-8]))\.[^/]*$' -- $old
            end
            or set -g __csw_xla yes
        end
    end
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    if test -z "$PYTHONNOUSERSITE"; and test -n "$base" -o -d $argv/conda-meta
        set -l user $PYTHONUSERBASE
        test -n "$user"; or set user $HOME/.local
        set -l tail
        for site in $user/lib/py*/site-packages
            string match --quiet --regex '(?<tail>/py[^/]*/site-packages)$' -- $site
            contains -- $argv/lib$tail $sites; or contains -- $argv/lib64$tail $sites
            and set -a sites $site
        end
    end
    if test -n "$base"
        # 3.13t is the free-threaded Python.
        set -a sites $base/{,local/}lib{,64}/python$python{,t}/site-packages \
            $base/lib/pypy$python/site-packages $base/lib/python3/dist-packages \
            $base/local/lib/python$python/dist-packages
    end
    # What `--with` adds to a layer of uv's, as in `sites.overlaid`.
    if test "$VIRTUAL_ENV|$argv" = "$_cudaswitch_layer[1]|$_cudaswitch_layer[2]" -a "=$VIRTUAL_ENV" != "=$argv"
        set -l own $VIRTUAL_ENV/lib/py*/site-packages
        set -a sites $own
        for file in $own/_uv_ephemeral_overlay.pth
            test -r $file; and set -a sites (string split '"' <$file | string match '/*')
        end
    end
    for site in $sites
        set -l found $site/nvidia/cu*/lib
        set -q found[1]; and return 0
        test -e $site/torch/lib/libtorch_cuda.so; and return 0
    end
    for prefix in $argv $base
        set -l found $prefix/conda-meta/cudatoolkit-*.json $prefix/conda-meta/cuda-cudart-*.json \
            $prefix/conda-meta/libcublas-*.json
        string match --quiet --regex '/(cudatoolkit|cuda-cudart|libcublas)-[0-9][^/]*$' -- $found
        and return 0
    end
    return 1
end

# Have the packages of the environment $argv[1] changed since the file $argv[2] was written? A conda
# environment's `lib` is long, so it is read once: conda-meta changes with a new Python.
function __cudaswitch_newer
    set -l known $_cudaswitch_sites
    set -g _cudaswitch_sites
    $_cudaswitch_test $argv[1]/conda-meta -nt $argv[2]; and return 0
    if test "$known[1]" != "$argv[1]" -o ! -d $argv[1]/conda-meta
        set known $argv[1] $argv[1]/lib/python*/site-packages
    end
    set _cudaswitch_sites $known
    set -e known[1]
    for dir in $known
        $_cudaswitch_test $dir -nt $argv[2]; and return 0
    end
    return 1
end
