# What conda has fish do to activate and deactivate an environment, without the Python that
# decides it: the benchmark measures what a hook adds to that.

function plain_activate
    set -gx PATH $argv[1]/bin $PATH
    set -gx CONDA_PREFIX $argv[1]
    set -gx CONDA_SHLVL 1
    set -gx CONDA_DEFAULT_ENV $argv[1]
    if test -f $argv[1]/etc/conda/activate.d/~~cudaswitch.fish
        source $argv[1]/etc/conda/activate.d/~~cudaswitch.fish
    end
end

function plain_deactivate
    set -l at (contains --index -- $CONDA_PREFIX/bin $PATH)
    set -e PATH[$at]
    if test -f $CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.fish
        source $CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.fish
    end
    set -e CONDA_PREFIX
    set -e CONDA_DEFAULT_ENV
    set -gx CONDA_SHLVL 0
end

# From one environment to another; each switch adds a level, and there were some before.
function plain_switch
    set -l path $PATH
    set path[(contains --index -- $CONDA_PREFIX/bin $path)] $argv[1]/bin
    if test -f $CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.fish
        source $CONDA_PREFIX/etc/conda/deactivate.d/~~cudaswitch.fish
    end
    set -gx PATH $path
    set -gx CONDA_PREFIX $argv[1]
    set -gx CONDA_SHLVL 4
    set -gx CONDA_DEFAULT_ENV $argv[1]
    if test -f $argv[1]/etc/conda/activate.d/~~cudaswitch.fish
        source $argv[1]/etc/conda/activate.d/~~cudaswitch.fish
    end
end
