# What conda keeps of ours, and brings back.

# Take what we put there, the value $argv[2] of the variable $argv[1], the record $argv[2] of its
# folders or the word $argv[2] of its flags, out of the copies that conda keeps: as in copies.sh.
# $argv[3] = the value before us.
function __cudaswitch_copies
    set -l level (math "0$CONDA_SHLVL" + 1)
    while test $level -gt 0
        set level (math $level - 1)
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
                __cudaswitch_wordless __csw $argv[2] keep
            case '*'
                test "$kept" = "$argv[2]"; or continue
        end
        set -l names $copy
        # That of this level has been brought back already.
        set -l now $$argv[1]
        test $level = "$CONDA_SHLVL" -a "$now" = "$kept"; and set -a names $argv[1]
        for name in $names
            if test -n "$__csw"
                set -gx $name $__csw
            else
                set -e $name
            end
        end
    end
end
