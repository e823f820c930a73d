# Copies of our values that conda keeps and restores.

# Remove our value $argv[2] of the variable $argv[1], or the folders of the record $argv[2], or the
# word $argv[2] of its flags, from the copies that conda keeps: as in copies.sh. $argv[3] = the
# value before us. Copies that are the user's own according to $__csw_theirs, which is like
# _CUDASWITCH_KEPT, stay.
function __cudaswitch_copies
    set -l least
    string match --quiet --regex "^(?<least>[0-9]+):(?:.*:)?$argv[1](?::|\$)" -- "$__csw_theirs"
    # conda never deletes its copies, and restores them with the next environment.
    set -l level 3
    string match --quiet --regex '^(?:[3-9]|[1-9][0-9])$' -- "$CONDA_SHLVL"
    and set level (builtin math $CONDA_SHLVL + 1)
    while test $level -gt "0$least"
        set level (builtin math $level - 1)
        set -l copy __CONDA_SHLVL_{$level}_$argv[1]
        test -n "$$copy"; or continue
        set -l kept $$copy
        set -g __csw $argv[3]
        switch $argv[1]
            case LD_LIBRARY_PATH
                set __csw $kept
                __cudaswitch_without "$argv[2]"
            case '*_FLAGS'
                set __csw $kept
                __cudaswitch_wordless __csw $argv[2]
            case '*'
                test "$kept" = "$argv[2]"; or continue
        end
        set -l names $copy
        # conda has already restored the copy of this level.
        set -l now $$argv[1]
        test $level = "$CONDA_SHLVL" -a "=$now" = "=$kept"; and set -a names $argv[1]
        for name in $names
            if test -n "$__csw"
                set -gx $name $__csw
            else
                set -e $name
            end
        end
    end
    test -n "$least"; and return
    # The name has to say that it is a copy if it is one of flags, of which users may have several
    # kinds, or if the variable is still ours: then nobody has saved it in order to set another value,
    # but some scripts save it in any case.
    set -l word
    string match --quiet --regex '_FLAGS$|^CUDAHOSTCXX$' $argv[1]; or test "$$argv[1]" = "$argv[2]"
    and set word '(?=.*(?:OLD|BACKUP|BAK|ORIG|SAVE|PREV))'
    for name in (string match --ignore-case --regex "^$word(?:.*_|.*_OLD|OLD)?$argv[1](?:_.*|[0-9])?\$" -- $__csw_names)
        set -g __csw $argv[3]
        if string match --quiet '*PATH' $argv[1]; and test $argv[1] != CUDA_PATH
            set -l --path folders $$name
            set __csw $folders
            __cudaswitch_without "$argv[2]"
            test (builtin count $__csw) -eq (builtin count $folders); and continue
            # A variable that is no list to fish was one string.
            if not string match --quiet '*PATH' $name; and not set -q $name'[2]'
                set folders $__csw
                set __csw "$folders"
            end
        else if string match --quiet '*_FLAGS' $argv[1]
            set __csw "$$name"
            __cudaswitch_wordless __csw $argv[2]
        else if test "$$name" != "$argv[2]"
            continue
        end
        if test -z "$__csw" -a -n "$$name"
            # A script that saves only what is set takes an existing copy for a sign that it was.
            if set -q _CUDASWITCH_WAS_$argv[1]
                    or test $argv[1] = LD_LIBRARY_PATH -a "$_CUDASWITCH_LD" != unset
                set $name ''
            else
                set -e $name
            end
        else if test "$__csw" != "$$name"
            set $name $__csw
        end
    end
end

# Print the variables named after one of ours: scripts of environments save in them what they
# replace, and restore it (`OLD_LD_LIBRARY_PATH`). Names with a version, or of what a container
# gets, are the user's own, and `module` counts folders in lists of its own. Scripts may number
# copies of a list (`LD_LIBRARY_PATH0`); behind CUDA_HOME, a digit is a version.
function __cudaswitch_snapshots
    set -l ours '(?:LD_LIBRARY_PATH|CUDA_HOME|CUDA_PATH|CUDAToolkit_ROOT|CUDACXX|CUDA_VISIBLE_DEVICES|CUDAHOSTCXX|NVCC_PREPEND_FLAGS|XLA_FLAGS)'
    set -l paths '(?:.*_)?OLDPATH|(?:.*OLD|.*BACKUP|.*BAK|.*PREV.*|_*ORIG.*|_*SAVE.*)_PATH|(?:.*_)?PATH_(?:OLD|(?:CONDA_)?BACKUP|BAK|PREV|ORIG|SAVE).*'
    set --names | string match --invert --regex '^_CUDASWITCH_|^_cudaswitch_|^__CONDA_SHLVL_|(?:^|_)CUDA_(?:HOME|PATH)_[vV]?[0-9]|^(?:SINGULARITY|APPTAINER)ENV_|^NVCC_PREPEND_FLAGS_BACKUP$|_modshare$|^__(?:MODULES|LMOD)_' \
        | string match --ignore-case --regex "^(?:.*_$ours|(?:.*_)?$ours"'_.*|(?:.*_)?LD_LIBRARY_PATH[0-9]|'"$paths)\$"
end

# Does conda keep copies of variables that a toolkit, or the want $argv, sets? With GPUs, it may.
function __cudaswitch_kept
    test -n "$CONDA_SHLVL"; or return 1
    string match --quiet '*:gpus=*' -- "$_CUDASWITCH_ON$_cudaswitch_undone$argv"; and return 0
    set -l names CUDA_HOME CUDA_PATH CUDACXX CUDAToolkit_ROOT LD_LIBRARY_PATH
    set -l copies __CONDA_SHLVL_{0,1,2}_$names
    # Each switch without a deactivation adds a level.
    if not contains -- "$CONDA_SHLVL" 0 1 2
        set copies __CONDA_SHLVL_{0,1,2,3,4,5,6,7,8,9}_$names
        if not contains -- "$CONDA_SHLVL" 3 4 5 6 7 8 9
            string match --quiet --regex '^[0-9]{1,2}$' -- "$CONDA_SHLVL"; or return 0
            set copies (set --names --export | string match --regex '^__CONDA_SHLVL_[0-9]+_(?:LD_LIBRARY_PATH|CUDA_HOME|CUDA_PATH|CUDACXX|CUDAToolkit_ROOT)$')
        end
    end
    string length --quiet -- $$copies
end

# Set _CUDASWITCH_KEPT, if conda keeps the toolkit $argv[1] or the GPUs of the want $argv[2] for the
# active environments.
function __cudaswitch_theirs
    string match --quiet --regex '^[1-9][0-9]?$' -- "$CONDA_SHLVL"; or return
    set -l gpus
    string match --quiet --regex ':gpus=(?<gpus>[^:]*)' -- $argv[2]
    set -l ours CUDA_DEVICE_ORDER:PCI_BUS_ID: (string escape --style=regex -- CUDA_VISIBLE_DEVICES:$gpus:)
    set -l home (string escape --style=regex -- $argv[1])
    set -a ours "(?s:.*):$home"'[:/]' "XLA_FLAGS:(?s:.*)$home"
    set ours '^(?:'(string join '|' -- $ours)')'
    set -l level
    set -l name
    set -l names
    for copy in (set --names --export | string match --regex '^__CONDA_SHLVL_[0-9]+_(?:LD_LIBRARY_PATH|XLA_FLAGS|CUDA.*)$')
        string match --quiet --regex '^__CONDA_SHLVL_(?<level>[0-9]+)_(?<name>.*)' -- $copy
        test $level -lt $CONDA_SHLVL; or continue
        string match --quiet --regex -- $ours "$name:$$copy:"; or continue
        contains -- $name $names; or set -a names $name
    end
    set -q names[1]; and set -gx _CUDASWITCH_KEPT (string join : -- "$CONDA_SHLVL" $names)
end

# Has conda restored the value of the variable $argv[1], which it kept before we set the same? It
# leaves its copies behind. If several environments have been left at once, the copy may be that of
# a higher level.
function __cudaswitch_regained
    set -l level
    string match --quiet --regex "^(?<level>[0-9]+):(?:.*:)?$argv[1](?::|\$)" -- "$__csw_theirs"
    and string match --quiet --regex '^[0-9]*$' -- "$CONDA_SHLVL"
    and test "0$CONDA_SHLVL" -lt $level; or return
    set -l kept
    while test $level -gt "0$CONDA_SHLVL"
        set level (builtin math $level - 1)
        set kept __CONDA_SHLVL_{$level}_$argv[1]
        test "$$kept" = "$$argv[1]"; and break
    end
    test -n "$$kept" -a -n "$$argv[1]"; or return
    test "$$kept" = "$$argv[1]"; and return
    # Then scripts of the environment that is active again may add to the list. If our folder is
    # there beside what conda keeps, or the list is as we left it, nothing has been restored.
    test $argv[1] = LD_LIBRARY_PATH -a "=$LD_LIBRARY_PATH" != "=$_cudaswitch_ld"; or return
    set -l rest (string replace -- ":$$kept:" : ":$LD_LIBRARY_PATH:"); or return
    not contains -- (string replace --regex '^[0-9]+([^:]*).*' '$1' -- "$_CUDASWITCH_LIB") (string split : -- $rest)
end

# Does a script of the environment keep a PATH? The names met in practice, as in copies.sh.
function __cudaswitch_path_kept
    test -n "$OLD_PATH$_OLD_PATH$PATH_OLD$BACKUP_PATH$PATH_BACKUP$ORIG_PATH$_ORIG_PATH$PATH_ORIG\
$ORIGINAL_PATH$PATH_ORIGINAL$SAVED_PATH$_SAVED_PATH$PATH_SAVED$SAVE_PATH$PATH_SAVE$old_path\
$_old_path$path_old$backup_path$path_backup$orig_path$_orig_path$path_orig$original_path\
$path_original$saved_path$_saved_path$path_saved$save_path$path_save$OLDPATH$PATH_BAK$BAK_PATH\
$PREV_PATH$PATH_PREV$oldpath$path_bak$bak_path$prev_path$path_prev\
$CONDA_BACKUP_PATH$CONDA_PATH_BACKUP$PATH_CONDA_BACKUP$_CONDA_OLD_PATH$_PATH_BACKUP$_PATH_OLD$__OLD_PATH"
end
