# The change and its exact undo for fish. The state is that of core.sh, word for word, so that
# shells of both kinds can be nested. Functions answer in $__csw: a command substitution costs too
# much.

# $argv[1] = set or give: set the variables of the want $argv[2], or give them back. $argv[1] =
# forget: remove them from what conda keeps; their values before are in _cudaswitch_was_NAME.
# $argv[1] = note: remember the values before the want; with $argv[3], what is unset now was unset
# then. $argv[1] = back: restore these, where somebody has brought back what the want had set.
function __cudaswitch_scalars
    set -l home (string split --fields 1 : -- $argv[2])
    set -l names CUDA_HOME CUDA_PATH CUDAToolkit_ROOT
    set -l values $home $home $home
    if string match --quiet '*:nvcc:*' -- $argv[2]:
        set -a names CUDACXX
        set -a values $home/bin/nvcc
    end
    # A command substitution would split a want at line breaks in the path of its environment.
    set -l gpus
    if string match --quiet --regex ':gpus=(?<gpus>[^:]*)' -- $argv[2]; and not set -q __csw_spared
        set -a names CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
        set -a values $gpus PCI_BUS_ID
    end
    switch $argv[1]
        case set
            __cudaswitch_flags_set $argv[2] $home
        case give
            __cudaswitch_flags_give
        case forget
            __cudaswitch_flags_forget "$_cudaswitch_undone_cc" "$_cudaswitch_undone_xla"
    end
    for name in $names
        set -l ours $values[1]
        set -e values[1]
        set -l was _CUDASWITCH_WAS_$name
        if test $argv[1] = set
            __cudaswitch_keep $name
            set -q $name; and not set -qg $name; and set -g _cudaswitch_under_$name
            set -gx $name $ours
        else if test $argv[1] = note
            set -q _cudaswitch_then_$name; and continue
            set -g _cudaswitch_then_$name
            set -q argv[3]; and not set -q $name; and set was $name
            set -q $was; and set -g _cudaswitch_then_$name $$was
        else if test $argv[1] = back
            set was _cudaswitch_then_$name
            test "$$name" = $ours; or continue
            set -eg $name
            set -q $was'[1]'; or continue
            set -gx $name $$was
            # It may name the very toolkit that is applied.
            test -n "$_CUDASWITCH_ON"; or continue
            set -l on (string split --fields 1 : -- $_CUDASWITCH_ON)
            contains -- "$$was" $on $on/bin/nvcc; and set -gx _CUDASWITCH_WAS_$name $$was
        else if test $argv[1] = forget
            set -l was _cudaswitch_was_$name
            set -q _cudaswitch_gave; and set was "$$was"; or set was
            __cudaswitch_copies $name $ours $was
        else
            set -g _cudaswitch_gave 1
            set -g _cudaswitch_was_$name "$$was"
            if __cudaswitch_kept; or set -q __csw_names[1]
                __cudaswitch_copies $name $ours "$$was"
            end
            if test "$$name" = $ours; and not __cudaswitch_regained $name
                if set -q $was; and not set -q _cudaswitch_under_$name
                    __cudaswitch_unexport $name
                    __cudaswitch_back $name "$$was"
                else
                    # Not a universal one of the user's that has the same value.
                    set -eg $name
                end
            end
            set -e $was _cudaswitch_under_$name
        end
    end
end

# Give the variable $argv[1] the value $argv[2] again, exported or not as it is now. If a universal
# variable of the user's has that value, it shows by itself, and must not be hidden. Not called if
# ours is known to hide a universal one, which may have another value by now.
function __cudaswitch_back
    set -l way -gx
    set -qg $argv[1]; and not set -qgx $argv[1]; and set way -gu
    set -eg $argv[1]
    set -q $argv[1]; and test "$$argv[1]" = "$argv[2]"; or set $way $argv[1] $argv[2]
    return 0
end

# $__csw = what the strongest owner asks for.
function __cudaswitch_strongest
    set -l wants $_CUDASWITCH_U $_CUDASWITCH_X
    if test -n "$_CUDASWITCH_C" -a -n "$_CUDASWITCH_V"
        set -l conda
        set -l venv
        string match --quiet --regex ':env=(?<conda>(?s).*)' -- $_CUDASWITCH_C
        string match --quiet --regex ':env=(?<venv>(?s).*)' -- $_CUDASWITCH_V
        __cudaswitch_before $conda $venv; or set -a wants $_CUDASWITCH_V
    end
    for want in $wants $_CUDASWITCH_C $_CUDASWITCH_V $_CUDASWITCH_D
        set __csw $want
        test -n "$want"; and return
    end
    set __csw
end

# Undo what is applied and apply what the strongest owner asks for ($argv[1], if that is known). The
# usual case, a toolkit in front and variables that nobody else has set, takes the short ways.
function __cudaswitch_settle
    set -l want $argv[1]
    set -l home
    set -l plain
    set -g __csw
    set -g __csw_found
    if not set -q argv[1]
        __cudaswitch_strongest
        set want $__csw
    end
    set -l --path path
    set -l --path ld
    set -l ld_set
    set -l --path until_now "$_CUDASWITCH_BIN:$_CUDASWITCH_OLD:$_CUDASWITCH_LIB"
    __cudaswitch_lists
    string match --quiet --regex '^(?<home>/[^:]*)' -- "$want"
    if test -n "$home" -a -z "$_CUDASWITCH_ON$_CUDASWITCH_BIN$_CUDASWITCH_GONE$_OLD_VIRTUAL_PATH"
        and __cudaswitch_free; and __cudaswitch_plainly
    else if test -z "$_CUDASWITCH_GONE"; and __cudaswitch_shortly
    else
        __cudaswitch_settled
    end
    set -e __csw __csw_found __csw_xla
    return 0
end

# The same for $want and its $home, whatever is applied or set already.
function __cudaswitch_settled --no-scope-shadowing
    # An earlier attempt may have erased it, and the functions called must see it.
    set -g __csw
    set -l --path old $_OLD_VIRTUAL_PATH
    set -l old_was "$old"
    set -l was_unset $_CUDASWITCH_LD
    test -n "$ld_set" -a -z "$ld"; and set was_unset
    set -l applied "$_CUDASWITCH_ON$_CUDASWITCH_BIN$_CUDASWITCH_GONE"

    if test -n "$applied"
        set -g __csw_theirs $_CUDASWITCH_KEPT
        if test -n "$_cudaswitch_ld" -a "0$path[1]|$ld|$old$_CUDASWITCH_OLD$_CUDASWITCH_GONE" \
                = "$_CUDASWITCH_BIN|$_cudaswitch_ld|"
            set -e path[1]
            set ld $_cudaswitch_ld_was
            set ld_set $_cudaswitch_ld_was_set
        else
            __cudaswitch_undo
        end
        set -l kept
        set -g __csw_names
        set -l home_was
        string match --quiet --regex '^(?<home_was>[^:]*)' -- "$_CUDASWITCH_ON"
        set -l cxx $CUDACXX
        string match --quiet '*:nvcc:*' -- $_CUDASWITCH_ON:; and set cxx $home_was/bin/nvcc
        string match --quiet '*:gpus=*' -- $_CUDASWITCH_ON
        and not string match --quiet "*:gpus=$CUDA_VISIBLE_DEVICES:*" -- $_CUDASWITCH_ON:
        and begin
            set cxx /
            # The GPUs that this shell was started with stay, as long as the want is the same.
            test -n "$_cudaswitch_gpus" -a "=$_cudaswitch_gpus" = "=$CUDA_VISIBLE_DEVICES"
            and contains -- $_CUDASWITCH_ON $want $want:nvcc; and set -g __csw_spared
        end
        test -z "$_CUDASWITCH_CC$_CUDASWITCH_XLA"; or __cudaswitch_flags_same; or set cxx /
        # If nothing is applied any more, only a PATH can have been kept.
        test -n "$CONDA_PREFIX$VIRTUAL_ENV"
        and begin
            test -n "$_CUDASWITCH_ON" \
                -a "$CUDA_HOME|$CUDA_PATH|$CUDAToolkit_ROOT|$CUDACXX|$LD_LIBRARY_PATH|" \
                != "$home_was|$home_was|$home_was|$cxx|$_cudaswitch_ld|"
            or __cudaswitch_path_kept
        end
        and set -g __csw_names (__cudaswitch_snapshots)
        if __cudaswitch_kept; or set -q __csw_names[1]
            set kept kept
            test -n "$_CUDASWITCH_LIB"; and __cudaswitch_copies LD_LIBRARY_PATH $_CUDASWITCH_LIB
            set -q __csw_names[1]; and __cudaswitch_copies PATH "$_CUDASWITCH_BIN:$_CUDASWITCH_GONE"
        end
        if test "$CUDA_HOME:$CUDA_PATH:$CUDAToolkit_ROOT:$CUDACXX$kept" = "$_cudaswitch_plain"
            set -eg CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
        else if test -n "$_CUDASWITCH_ON"
            __cudaswitch_scalars give $_CUDASWITCH_ON
        end
        set -g _cudaswitch_plain
        set -g _cudaswitch_besides
        test -n "$_CUDASWITCH_UNEXPORTED"; and __cudaswitch_unexport LD_LIBRARY_PATH
        # Before this, the event for PATH would settle as well.
        set -e _CUDASWITCH_GONE
        # First: if Ctrl-C ends this once the records are gone, nobody knows what to remove.
        __cudaswitch_write
        set -e __csw_names __csw_theirs _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_OLD \
            _CUDASWITCH_LIB _CUDASWITCH_LD _CUDASWITCH_KEPT _CUDASWITCH_UNEXPORTED
    end

    if test -n "$home"
        if test -n "$applied" -a -z "$_OLD_VIRTUAL_PATH"; and __cudaswitch_free; and __cudaswitch_plainly
            set -e __csw
            return
        end
        test -d $home/.; and __cudaswitch_apply; and __cudaswitch_write
    end
    set -e __csw __csw_spared
end

# Set the lists to $path, $old, $ld and $ld_set.
function __cudaswitch_write --no-scope-shadowing
    test "$path" = "$PATH"; or set -gx PATH $path
    test "$old" = "$old_was"; or set -gx _OLD_VIRTUAL_PATH $old
    set old_was "$old"
    if contains -- "$ld_set" set bare
        if not set -q LD_LIBRARY_PATH; or test "$ld" != "$LD_LIBRARY_PATH"
            __cudaswitch_back LD_LIBRARY_PATH "$ld"
            test $ld_set = set; or set LD_LIBRARY_PATH
        end
    else if set -qg LD_LIBRARY_PATH
        set -e LD_LIBRARY_PATH
    end
    return 0
end

# Take what is applied out of $path, $old, $ld and $ld_set.
function __cudaswitch_undo --no-scope-shadowing
    set -l bin $_CUDASWITCH_BIN
    # A virtualenv that was left has restored the PATH that it kept.
    if test -z "$old$VIRTUAL_ENV" -a -n "$_CUDASWITCH_OLD"
        set bin $_CUDASWITCH_OLD
    end
    if test "$bin" = "0$path[1]"
        set -e path[1]
    else
        set __csw $path
        __cudaswitch_without "$bin"
        set path $__csw
    end
    if test -n "$_CUDASWITCH_GONE"
        set __csw $path
        __cudaswitch_without "$_CUDASWITCH_GONE"
        set path $__csw
    end
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
    test -n "$_CUDASWITCH_LIB"; or return
    __cudaswitch_regained LD_LIBRARY_PATH; and set until_now $bin; and return
    if test -n "$ld" -a "=$ld" = "=$_cudaswitch_ld"
        set ld $_cudaswitch_ld_was
        set ld_set $_cudaswitch_ld_was_set
        return
    end
    set __csw $ld
    __cudaswitch_without $_CUDASWITCH_LIB
    if test (builtin count $__csw) -ne (builtin count $ld)
        set ld $__csw
        if set -q ld[1]
        else if test "$_CUDASWITCH_LD" = unset
            set ld_set
        else if set -q ld_set[1]
            set ld_set bare
        end
    end
end

# Put the toolkit $home of $want into $path, $old and $ld, and set the variables that record this.
# As long as nobody touches them, the earlier values are known and need not be worked out.
function __cudaswitch_apply --no-scope-shadowing
    set -l bin $home/bin
    set -l lib
    set -e __csw_xla
    if not __cudaswitch_left_alone $want
        for dir in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib
            if test -d $home/$dir
                set lib $home/$dir
                break
            end
        end
        test -d $home/extras/CUPTI/lib64; and set -a lib $home/extras/CUPTI/lib64
    end
    set -g --path _cudaswitch_ld_was $ld
    set -g _cudaswitch_ld_was_set $ld_set
    if contains -- $bin $path
        set __csw $path
        __cudaswitch_record "$until_now" $bin
        set -gx _CUDASWITCH_BIN $__csw
    else
        set -gx _CUDASWITCH_BIN 0$bin
    end
    set -p path $bin
    if set -q old[1]
        set __csw $old
        __cudaswitch_record "$until_now" $bin
        set -gx _CUDASWITCH_OLD $__csw
        set -p old $bin
    end
    # Keep this record: folders that the user has added since may be removed again.
    test "$was_unset" = unset; and set -gx _CUDASWITCH_LD unset
    if set -q lib[1]
        if contains -- $lib[1] $ld; or contains -- $lib[-1] $ld
            set __csw $ld
            __cudaswitch_record "$until_now" $lib
        else
            set -l --path lib0 0$lib
            set __csw "$lib0"
        end
        set -gx _CUDASWITCH_LIB $__csw
        set -q ld_set[1]; or set -gx _CUDASWITCH_LD unset
        if __cudaswitch_note LD_LIBRARY_PATH
            set -gx LD_LIBRARY_PATH $LD_LIBRARY_PATH
        end
        set ld_set set
        set -p ld $lib
    end
    set -g _cudaswitch_ld "$ld"
    __cudaswitch_kept $want; and __cudaswitch_theirs $home $want
    test -x $bin/nvcc; and set want $want:nvcc
    set -gx _CUDASWITCH_ON $want
    set -l free no
    switch $want
        case '*:gpus=*' '*:cc=*'
        case '*:nvcc'
            __cudaswitch_free; and not set -q __csw_xla; and set free yes
    end
    if test $free = yes
        set -gx CUDA_HOME $home
        set -gx CUDA_PATH $home
        set -gx CUDAToolkit_ROOT $home
        set -gx CUDACXX $bin/nvcc
        # Not if LD_LIBRARY_PATH was left alone.
        set -q lib[1]; and set -g _cudaswitch_plain $home:$home:$home:$bin/nvcc
    else
        __cudaswitch_scalars set $want
    end
    set -e __csw_xla
    return 0
end

# Is LD_LIBRARY_PATH to stay as it is, because the want $argv says so, or because the active
# environment brings its own CUDA? Examines the environment in either case, to set $__csw_xla.
function __cudaswitch_left_alone
    switch $argv:
        case '*:lib=never:*'
            __cudaswitch_bundled
            return 0
        case '*:lib=always:*'
            __cudaswitch_bundled
            return 1
    end
    test -n "$CONDA_PREFIX$VIRTUAL_ENV"; and __cudaswitch_bundled
end
