# Defines `conda` for tcsh; see conda_emulator.py for what it emulates. conda's alias, too, is
# the very file that defines it. Source it with CONDA_EXE (conda_emulator.py) and
# CONDA_PYTHON_EXE set and exported.

if ("`alias conda`" == "") then
    if (! $?CONDA_SHLVL) setenv CONDA_SHLVL 0
    alias conda 'source "${CONDA_EXE:r:q}.csh" \!*'
else
    switch ("$argv[1]")
    case activate:
    case deactivate:
    case reactivate:
        set emulated = '$CONDA_PYTHON_EXE:q -I -S $CONDA_EXE:q shell.csh $argv:q'
        set emulated = "`$emulated`"
        set emulated_status = $status
        if ($emulated_status != 0) exit $emulated_status
        eval "$emulated"
        rehash
        breaksw
    default:
        $CONDA_PYTHON_EXE:q -I -S $CONDA_EXE:q $argv:q
        breaksw
    endsw
endif
