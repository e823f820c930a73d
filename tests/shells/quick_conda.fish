# Defines `conda` for fish: the transitions of conda_transitions.py, in its order, but done by the
# shell itself, so that thousands of them take seconds. Elements of PATH must be normalised
# already, and prefixes absolute.

set -q CONDA_SHLVL; or set -gx CONDA_SHLVL 0

# Print PATH with $argv[2] in place of $argv[1], or in front if $argv[1] is not there.
function quick_path_with
    set -l path $PATH
    set -l new
    test -n "$argv[2]"; and set new $argv[2]/bin
    if set -l at (test -n "$argv[1]"; and contains --index -- $argv[1]/bin $path)
        set path[$at] "$new"
        set -q new[1]; or set -e path[$at]
    else
        set -p path $new
    end
    printf '%s\n' $path
end

# Run the scripts of the environment $argv[1] for $argv[2], from place $argv[3] to $argv[4].
function quick_scripts
    set -l scripts $argv[1]/etc/conda/$argv[2].d/*.fish
    set -q scripts[1]; or return 0
    for script in $scripts[$argv[3]..$argv[4]]
        source $script
    end
end

function quick_named
    set -l name $argv[1]
    if string match --quiet --regex '/envs/[^/]*$' -- $name
        set name (string replace --regex '.*/' '' -- $name)
    end
    set -gx CONDA_DEFAULT_ENV $name
    set -gx CONDA_PROMPT_MODIFIER "($name) "
end

function quick_enter
    set -l old $CONDA_PREFIX
    set -l level (math $CONDA_SHLVL + 1)
    set -l path (quick_path_with "" $argv[1])
    if test $level -gt 1 -a -z "$argv[2]"
        set path (quick_path_with $old $argv[1])
        quick_scripts $old deactivate -1 1
    end
    set -gx PATH $path
    set -gx CONDA_PREFIX $argv[1]
    set -gx CONDA_SHLVL $level
    quick_named $argv[1]
    if test $level -gt 1
        set -gx CONDA_PREFIX_(math $level - 1) $old
        test -n "$argv[2]"; and set -gx CONDA_STACKED_$level true
    end
    quick_scripts $argv[1] activate 1 -1
end

function quick_again
    test $CONDA_SHLVL -gt 0; or return 0
    set -l path (quick_path_with $CONDA_PREFIX $CONDA_PREFIX)
    quick_scripts $CONDA_PREFIX deactivate -1 1
    set -gx PATH $path
    set -gx CONDA_SHLVL $CONDA_SHLVL
    quick_scripts $CONDA_PREFIX activate 1 -1
end

function quick_leave
    set -l level $CONDA_SHLVL
    set -l old $CONDA_PREFIX
    test $level -gt 0; or return 0
    if test $level -eq 1
        set -gx PATH (quick_path_with $old "")
        quick_scripts $old deactivate -1 1
        set -e CONDA_PREFIX
        set -e CONDA_DEFAULT_ENV
        set -e CONDA_PROMPT_MODIFIER
        set -gx CONDA_SHLVL 0
        return 0
    end
    set -l name CONDA_PREFIX_(math $level - 1)
    set -l below $$name
    set -l stacked CONDA_STACKED_$level
    if set -q $stacked
        set -gx PATH (quick_path_with $old "")
    else
        set -gx PATH (quick_path_with $old $below)
    end
    quick_scripts $old deactivate -1 1
    set -e $name
    set -e $stacked
    set -gx CONDA_PREFIX $below
    set -gx CONDA_SHLVL (math $level - 1)
    quick_named $below
    quick_scripts $below activate 1 -1
end

function conda
    switch "$argv[1]"
        case activate
            if test $CONDA_SHLVL -gt 0 -a "$argv[-1]" = "$CONDA_PREFIX"
                quick_again
            else if test "$argv[2]" = --stack
                quick_enter $argv[3] stack
            else
                quick_enter $argv[2]
            end
        case reactivate
            quick_again
        case deactivate
            quick_leave
        case '*'
            $CONDA_PYTHON_EXE -I -S $CONDA_EXE $argv
    end
end
