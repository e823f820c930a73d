# Defines `conda` for tcsh; see conda_transitions.py for what it emulates. As with the real conda,
# the alias sources the very file that defines it. Source it with CONDA_EXE (conda_emulator.py)
# and CONDA_PYTHON_EXE set and exported.

if ("`alias conda`" == "") then
    if (! $?CONDA_SHLVL) setenv CONDA_SHLVL 0
    alias conda 'source "${CONDA_EXE:r:q}.csh" \!*'
else
    switch ("$argv[1]")
    case activate:
    case deactivate:
    case reactivate:
        # conda keeps what it evaluates in this variable as well.
        set ask_conda = '$CONDA_PYTHON_EXE:q -I -S $CONDA_EXE:q shell.csh $argv:q'
        set ask_conda = "`$ask_conda`"
        set conda_tmp_status = $status
        if ($conda_tmp_status != 0) exit $conda_tmp_status
        eval "$ask_conda"
        rehash
        breaksw
    default:
        $CONDA_PYTHON_EXE:q -I -S $CONDA_EXE:q $argv:q
        breaksw
    endsw
endif
