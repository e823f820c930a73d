# What `cudaswitch init` adds to core.fish, beside command.fish: the look-round that the prompt asks
# for when environment or directory changed.
# $_cudaswitch_program is the command itself, which need not be on an environment's PATH.

# Run the command. After a move, or where it was installed anew elsewhere, that is the one on PATH,
# which writes the ready files anew.
function __cudaswitch_run
    set -l program $_cudaswitch_program
    if not test -x $program
        set program (command --search cudaswitch)
        or begin
            printf 'cudaswitch: `%s` is gone, and no other is on PATH\n' $_cudaswitch_program >&2
            printf 'hint: reinstall cudaswitch and run cudaswitch init --install, or remove its marked lines from the startup file\n' >&2
            return 127
        end
    end
    $program $argv
end

# $__csw = the want of the frameworks in the environment $argv[1]; fails where they have none.
function __cudaswitch_framework
    __cudaswitch_automatic $argv[1]
    set -l code $status
    if test $code -ne 0
        # What Python has written down is older than the packages: not where it cannot write it anew.
        # The same toolkit may have another part then: packages bring their own CUDA.
        test $code = 2 -a "$_cudaswitch_unkept" != $argv[1]; and set -g _cudaswitch_asked
        and set -g __csw_moved moved
        __cudaswitch_ask_once $argv[1] --environment $argv[1]
        set -l answer $__csw
        set -g _cudaswitch_unkept
        __cudaswitch_automatic $argv[1]; or set -g _cudaswitch_unkept $argv[1]
        set -g __csw $answer
    end
    test -n "$__csw"
end

# $__csw = the content of the file $argv[1], to see it change.
function __cudaswitch_content
    set -g __csw
    # A pipe, say, would be waited for.
    if test -f $argv[1] -a -r $argv[1] -a -O $argv[1]
        read --null --global __csw <$argv[1]
    else if test -f $argv[1] -a -r $argv[1]
        # Somebody else's may be of any length.
        read --null --nchars 4096 --global __csw <$argv[1]
    end
    return 0
end

# Has the version file that decides changed, or is there a nearer one? Not asked where what
# is stronger decides.
function __cudaswitch_edited
    test -z "$_CUDASWITCH_U$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V"; or return 1
    if test -f .cuda-version -a "$_cudaswitch_file" != $PWD/.cuda-version -a $PWD != /
        return 0
    end
    test -n "$_cudaswitch_file"; or return 1
    __cudaswitch_content $_cudaswitch_file
    test "=$__csw" != "=$_cudaswitch_text" -o ! -f $_cudaswitch_file
end

# $__csw = what Python answers to the rest of the arguments, which it is asked, and complains
# of, once as long as $argv[1] and what is installed are the same: not at every step within a tree.
function __cudaswitch_ask_once
    __cudaswitch_content $_cudaswitch_root/requests/.fingerprint
    set -l about "$argv[1]:$__csw"
    set -l home
    string match --quiet --regex '^(?<home>/[^:]*)' -- "$_cudaswitch_answer"
    if test "$about" != "$_cudaswitch_asked"; or begin
            test -n "$home"; and not __cudaswitch_there $home
        end
        set -g _cudaswitch_news asking
        set -g _cudaswitch_answer (__cudaswitch_run want $argv[2..])
        set -l code $status
        # Only now: a question that Ctrl-C, or another signal, ended is asked again.
        test $code -gt 128; and set about unseen
        test $code = 130; and set about interrupted
        set -g _cudaswitch_asked $about
    end
    set -g __csw $_cudaswitch_answer
    return 0
end

# Drop what belongs to an environment that was left, and run the hook of one that is active
# where it did not run: its activate script was rewritten, or bypassed.
function __cudaswitch_environments
    # A hook tells of a toolkit that is gone, and takes it off.
    if test -n "$_CUDASWITCH_ON"; and not test -d (string split --fields 1 : -- $_CUDASWITCH_ON)/.
        set -e _CUDASWITCH_C _CUDASWITCH_V
    end
    __cudaswitch_virtualenv
    set -l venv $_cudaswitch_layer[2]
    if test -n "$_CUDASWITCH_V"
        set -l env (string replace --regex '.*:env=' '' -- $_CUDASWITCH_V)
        # It may have been unpinned in another terminal.
        test "$env" = "$venv" -a -f "$env/etc/cudaswitch/on.fish"; or set -e _CUDASWITCH_V
    end
    if test -n "$_CUDASWITCH_C"
        set -l env (string replace --regex '.*:env=' '' -- $_CUDASWITCH_C)
        test -f "$env/etc/conda/activate.d/~~cudaswitch.fish"; or set -e _CUDASWITCH_C
        # Below a stacked environment this one is still active.
        if test "$env" != "$CONDA_PREFIX"
            set -l stack
            __cudaswitch_stack
            test -n "$CONDA_PREFIX"; and contains -- "$env" $stack; or set -e _CUDASWITCH_C
        end
    end
    # A relative one would be looked for in any directory; of a layer it is the hook of what is below.
    set -l hook $venv/etc/cudaswitch/on.fish
    if test -z "$_CUDASWITCH_V" -a -f "$hook"; and string match --quiet '/*' -- "$venv"
        source $hook
    end
    set hook $CONDA_PREFIX/etc/conda/activate.d/~~cudaswitch.fish
    if test -z "$_CUDASWITCH_C" -a -f "$hook"; and string match --quiet '/*' -- "$CONDA_PREFIX"
        source $hook
    end
    # What it was stacked on is still active.
    if test -z "$_CUDASWITCH_C"; and not contains -- "$CONDA_SHLVL:$CONDA_STACKED_2" : 0: 1: 2:
        __cudaswitch_below
    end
end

# conda sets this also where it activates an environment again, as after an installation. What its
# scripts did then the prompt looks at, and nothing else would tell it.
function __cudaswitch_hashed --on-variable CONDA_SHLVL
    set -q _cudaswitch_seen[4]; and set _cudaswitch_seen[5] finished
end

# Did somebody take away what is applied? With $argv a CUDA_HOME of the person's is none that somebody
# has brought back.
function __cudaswitch_lost
    test -n "$_CUDASWITCH_ON"; or return 1
    set -l home (string split --fields 1 : -- $_CUDASWITCH_ON)
    set -l lib
    string match --quiet --regex '^[0-9]+(?<lib>/[^:]*)' -- "$_CUDASWITCH_LIB"
    if test "$CUDA_HOME" != $home
        test -z "$argv" -o -z "$CUDA_HOME" -o "=$CUDA_HOME" = "=$_CUDASWITCH_WAS_CUDA_HOME"; and return 0
    end
    contains -- $home/bin $PATH; or return 0
    test -n "$lib"; and not contains -- $lib $LD_LIBRARY_PATH
end

# Before the first prompt: is another CUDA_HOME set than at our line, the toolkit's `bin` off PATH, or an
# nvcc before it? The first look, which is before this, may have set it.
function __cudaswitch_overlaid
    contains -- "$CUDA_HOME" "$_cudaswitch_fresh[1]" (string split --fields 1 : -- $_CUDASWITCH_ON); or return 0
    set -l at (contains --index -- (string replace --regex '^[0-9]+' '' -- $_CUDASWITCH_BIN) $PATH)
    or return 0
    set -l before $PATH[1..$at]
    for folder in $before[1..-2]
        test -x $folder/nvcc; and return 0
    end
    return 1
end

# Behind the first prompt: VS Code puts before it all, once more, what an activation in a shell of its own
# has put there. Take one off where there are two: the look that follows takes off and puts what is its own.
function __cudaswitch_surplus
    set -l bin (string replace --regex '^[0-9]+' '' -- $_CUDASWITCH_BIN)
    set -l env "$VIRTUAL_ENV"
    test -n "$env"; or set env "$CONDA_PREFIX"
    if test "$PATH[1]:$PATH[2]" = "$bin:$env/bin"; and contains -- $bin $PATH[2..]
        set -e PATH[1]
        set -g _cudaswitch_seen
    end
end

# What is applied this shell has inherited. Where it stands as a short way leaves it, what stands behind it
# is what was there before, and the short way back is known. Not so of a list in an environment: a script
# that put its own behind may have kept the rest.
function __cudaswitch_inherited
    set -l home (string split --fields 1 : -- $_CUDASWITCH_ON)
    string match --quiet --regex '^[^:]*(:env=.*)?:nvcc$' -- $_CUDASWITCH_ON
    and test -z "$_cudaswitch_plain$_cudaswitch_besides$_CUDASWITCH_XLA$_CUDASWITCH_CC\
$_CUDASWITCH_KEPT$_CUDASWITCH_UNEXPORTED"
    or return
    # One that is universal shows again when ours goes, or is gone itself by then.
    set -qU CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX LD_LIBRARY_PATH
    test $status -eq 5; or return
    set -q _cudaswitch_under_CUDA_HOME _cudaswitch_under_CUDA_PATH _cudaswitch_under_CUDAToolkit_ROOT \
        _cudaswitch_under_CUDACXX
    test $status -eq 4; or return
    set -l --path ld $LD_LIBRARY_PATH
    set -l lib
    switch "$_CUDASWITCH_LIB"
        case 0$home/lib64
            set lib $home/lib64
        case 0$home/lib64:0$home/extras/CUPTI/lib64
            set lib $home/lib64 $home/extras/CUPTI/lib64
        case ''
        case '*'
            return
    end
    for each in $lib
        test "$ld[1]" = $each; or return
        set -e ld[1]
    end
    test -n "$lib" -a -n "$ld" -a -n "$CONDA_PREFIX$VIRTUAL_ENV"; and return
    set -g --path _cudaswitch_ld_was $ld
    set -g _cudaswitch_ld "$LD_LIBRARY_PATH"
    set -g _cudaswitch_ld_was_set set
    test -z "$ld" -a -n "$_CUDASWITCH_LD"; and set -g _cudaswitch_ld_was_set
    set -g _cudaswitch_besides $home:$home:$home:$home/bin/nvcc
end

# See what is another than at the last look beside the folder, or may be: $__csw_moved is set where what
# is applied does not stay, whatever is asked for. Is called by __cudaswitch_look alone, with its $before.
function __cudaswitch_surroundings --no-scope-shadowing
    test -z "$_cudaswitch_seen" -a -n "$before"; and __cudaswitch_inherited
    # Who has started this shell may have chosen its GPUs, as Slurm does.
    if not set -q _cudaswitch_gpus
        set -g _cudaswitch_gpus
        string match --quiet '*:gpus=*' -- $before:
        and not string match --quiet "*:gpus=$CUDA_VISIBLE_DEVICES:*" -- $before:
        and set -g _cudaswitch_gpus "$CUDA_VISIBLE_DEVICES"
    end
    set -l said $_cudaswitch_seen[4]
    if test "$CONDA_PREFIX $VIRTUAL_ENV" != "$_cudaswitch_seen[1..2]"
        # A hook may have settled for these.
        test "$CONDA_PREFIX $VIRTUAL_ENV" = "$_cudaswitch_entered"; or set __csw_moved moved
        # `auto`, or a name for it, goes by the environment. What was refused is told once.
        string match --quiet --regex '^(auto:|(?!system:|latest:)[A-Za-z][\w.+-]*:.)' -- "$CUDASWITCH_VERSION:$_CUDASWITCH_X"
        and set -e said
        string match --quiet --regex '/\.cuda-version:[0-9<>=~!]' -- "$_cudaswitch_asked"
        or set -g _cudaswitch_asked
        test -n "$_cudaswitch_undone"; and __cudaswitch_finished
    else if set -q _cudaswitch_seen[5]; and test -n "$CONDA_PREFIX"; and __cudaswitch_lost
        set __csw_moved moved
    end
    if test "$DIRENV_DIFF|$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF" != "$_cudaswitch_keepers"
        __cudaswitch_keepers
    else if test -n "$__MISE_DIFF"; and __cudaswitch_lost kept
        # mise sets anew what it has of a tree at each step in it.
        set __csw_moved moved
    end
    test -n "$_CUDASWITCH_V$_CUDASWITCH_C$VIRTUAL_ENV$CONDA_PREFIX"; and __cudaswitch_environments
    if not set -q said[1]; or test "$CUDASWITCH_VERSION" != $said
        set -g _cudaswitch_news asking
        if test -z "$CUDASWITCH_VERSION"
            set -e _CUDASWITCH_X
        else if __cudaswitch_ready $CUDASWITCH_VERSION
                or __cudaswitch_auto $CUDASWITCH_VERSION
                or set -g __csw (__cudaswitch_run want -- $CUDASWITCH_VERSION)
            set -gx _CUDASWITCH_X $__csw
        else
            set -e _CUDASWITCH_X
        end
    end
end

# Take up what the environment, the directory or the user asks for, and settle.
function __cudaswitch_look
    set -l before $_CUDASWITCH_ON
    set -g __csw_moved
    # Usually a folder is all that is another.
    if not set -q _cudaswitch_gpus _cudaswitch_seen[4]
            or test "$CONDA_PREFIX$VIRTUAL_ENV$CUDASWITCH_VERSION$_CUDASWITCH_C$_CUDASWITCH_V$_cudaswitch_undone|\
$DIRENV_DIFF$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF|$_cudaswitch_keepers|\
$_cudaswitch_seen[1]$_cudaswitch_seen[2]$_cudaswitch_seen[4..]" != '||||'
        __cudaswitch_surroundings
    end
    set -g __csw
    if test -z "$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V$_CUDASWITCH_U"
        # What the directory asks for, else the frameworks of the active environment, else the
        # user: _CUDASWITCH_D. $_cudaswitch_file is the version file of the directory.
        set -g _cudaswitch_file
        set -g _cudaswitch_text
        set -e _CUDASWITCH_D
        if __cudaswitch_file
            set _cudaswitch_file $__csw
            __cudaswitch_content $_cudaswitch_file
            set _cudaswitch_text $__csw
            # What nearly all of them hold is one version. What fish reads ends at a zero byte.
            set -l line
            if string match --quiet --regex '^(?<line>[A-Za-z0-9._+<>=!,-]+)\n?$' -- "$_cudaswitch_text"
                and not string match --quiet --regex '\x00' <$_cudaswitch_file
                # Whose else it may be Python knows.
                and test -O $_cudaswitch_file -a ! -L $_cudaswitch_file
                and __cudaswitch_ready $line
            else
                __cudaswitch_read $_cudaswitch_file
                or __cudaswitch_ask_once "$_cudaswitch_file:$_cudaswitch_text" --file $_cudaswitch_file
            end
        else if test -n "$VIRTUAL_ENV$CONDA_PREFIX"; and __cudaswitch_active
                and __cudaswitch_framework $__csw
        else if test -f $_cudaswitch_root/global
            if not __cudaswitch_read $_cudaswitch_root/global
                __cudaswitch_content $_cudaswitch_root/global
                __cudaswitch_ask_once "global:$__csw" --file $_cudaswitch_root/global
            end
        else
            set __csw
        end
        test -n "$__csw"; and set -gx _CUDASWITCH_D $__csw
        # What was refused in a tree is told again on the next visit.
        if test -n "$_cudaswitch_asked" -a -z "$_cudaswitch_answer"
                and string match --quiet '*/.cuda-version:*' -- $_cudaswitch_asked
            string match --quiet -- "$_cudaswitch_file:*" "$_cudaswitch_asked"; or set -g _cudaswitch_asked
        end
    else
        if test -n "$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V"
            set -e _CUDASWITCH_D
            set -g _cudaswitch_file
        end
        __cudaswitch_strongest
    end
    # Without a reason nothing is touched: people put their own folders before ours.
    test -n "$_CUDASWITCH_GONE"; and __cudaswitch_unreturned; and set -e _CUDASWITCH_GONE
    if test -n "$__csw_moved$_CUDASWITCH_GONE"; or test "$__csw" != "$before" -a "$__csw:nvcc" != "$before"
        test -z "$__csw"; and __cudaswitch_restore; or __cudaswitch_settle "$__csw"
    end
    set -e __csw __csw_moved
    # That is for the prompt to tell: this and the hooks run in scripts and key bindings as well.
    set -e _cudaswitch_news _cudaswitch_entered
    test "$_CUDASWITCH_ON|$_CUDASWITCH_LIB" = "$_cudaswitch_told"; or set -g _cudaswitch_news 1
    if contains -- "$_cudaswitch_asked" interrupted unseen
        test $_cudaswitch_asked = interrupted; and set -g _cudaswitch_news asking
        set -g _cudaswitch_asked
    else
        set -g _cudaswitch_seen "$CONDA_PREFIX" "$VIRTUAL_ENV" "$PWD" "$CUDASWITCH_VERSION"
    end
    return 0
end

# Print one line on what is active now, where it is another than $argv[1], a line or the toolkit of one.
# Who calls this sends it to stderr: that of a command may be sent elsewhere by who types it.
function __cudaswitch_tell
    string match --quiet '/*' -- "$argv[1]"
    and set argv[1] "CUDA "(string replace --regex '.*/(?:cuda-)?(?=[^/]*[0-9][^/]*$)' '' -- $argv[1])
    set -g _cudaswitch_told "$_CUDASWITCH_ON|$_CUDASWITCH_LIB"
    set -e _cudaswitch_news
    set -l line 'no toolkit'
    if test -n "$_CUDASWITCH_ON"
        # `cuda`, of /opt/cuda, tells nobody which.
        string match --quiet --regex '^[^:]*/(?:cuda-)?(?<line>[^/:]*[0-9][^/:]*)(:|$)' -- $_CUDASWITCH_ON
        or string match --quiet --regex '^(?<line>[^:]*)' -- $_CUDASWITCH_ON
        set line "CUDA $line"
        if test -z "$_CUDASWITCH_LIB"
            set -l why ': this environment brings its own CUDA'
            string match --quiet '*:lib=never*' -- $_CUDASWITCH_ON; and set why ', as asked'
            set line "$line (LD_LIBRARY_PATH left alone$why)"
        end
        if test -z "$_CUDASWITCH_CC"; and string match --quiet '*:cc=*' -- $_CUDASWITCH_ON
            __cudaswitch_host $_CUDASWITCH_ON
            if test -n "$__csw"; and not test -x $__csw
                set line "$line (its nvcc refuses the gcc here: install "(string replace --regex '.*/' '' -- $__csw)")"
            end
        end
    end
    set -g _cudaswitch_line $line
    test -n "$CUDASWITCH_QUIET" -o "$line" = "$argv[1]"; or echo "cudaswitch: $line"
    return 0
end
