# Defines `conda` for fish; see conda_transitions.py for what it emulates.
# Source it with CONDA_EXE (that file) and CONDA_PYTHON_EXE set and exported.

set -q CONDA_SHLVL; or set -gx CONDA_SHLVL 0

function conda
    switch "$argv[1]"
        case activate deactivate reactivate
            set -l emitted ($CONDA_PYTHON_EXE -I -S $CONDA_EXE shell.fish $argv | string collect)
            or return $pipestatus[1]
            eval $emitted
        case '*'
            $CONDA_PYTHON_EXE -I -S $CONDA_EXE $argv
    end
end
