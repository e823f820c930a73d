# What `cudaswitch init` adds to core.fish, beside command.fish: the look that the prompt takes when
# the environment or directory has changed.
# $_cudaswitch_program is the command itself, which need not be on an environment's PATH.

# Run the command. If it has been moved, or reinstalled elsewhere, run the one on PATH, which
# rewrites the ready files.
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

# $__csw = the want of the frameworks in the environment $argv[1]; fails if they have none.
function __cudaswitch_framework
    __cudaswitch_automatic $argv[1]
    set -l code $status
    if test $code -ne 0
        # Python's kept answer is older than the packages: ask again, unless Python cannot rewrite
        # it. Even the same toolkit may need another part applied, as packages bring their own CUDA.
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

# $__csw = the content of the file $argv[1], for comparison.
function __cudaswitch_content
    set -g __csw
    # A pipe, for example, would block.
    test -f $argv[1] -a -r $argv[1]; or return 0
    begin
        # It may be of any length, also in a repository that somebody cloned.
        read --null --nchars 4096 --global __csw
        # This one also ends at a zero byte.
        read --null --nchars 1 --local more; and set __csw $__csw:more
    end <$argv[1]
    return 0
end

# Has the version file that decides changed, or is there a nearer one? Not asked if something
# stronger decides.
function __cudaswitch_edited
    test -z "$_CUDASWITCH_U$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V"; or return 1
    if test -f .cuda-version -a "$_cudaswitch_file" != $PWD/.cuda-version -a $PWD != /
        return 0
    end
    test -n "$_cudaswitch_file"; or return 1
    __cudaswitch_content $_cudaswitch_file
    set -l now "$__csw"
    set -e __csw
    test "=$now" != "=$_cudaswitch_text" -o ! -f $_cudaswitch_file
end

# $__csw = Python's answer to the rest of the arguments. Python is asked, and complains, once as
# long as $argv[1] and what is installed are the same, not at every step within a tree.
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
        # Only now: a question that Ctrl-C or another signal ended is asked again.
        test $code -gt 128; and set about unseen
        test $code = 130; and set about interrupted
        set -g _cudaswitch_asked $about
    end
    set -g __csw $_cudaswitch_answer
    return 0
end

# Drop what belongs to an environment that was left, and run the hook of an active one if it has not
# run, because its activate script was rewritten or bypassed.
function __cudaswitch_environments
    # If the toolkit is gone, the hook runs again to say so, and to undo it.
    if test -n "$_CUDASWITCH_ON"; and not test -d (string split --fields 1 : -- $_CUDASWITCH_ON)/.
        set -e _CUDASWITCH_C _CUDASWITCH_V
    end
    __cudaswitch_virtualenv
    set -l venv $_cudaswitch_layer[2]
    if test -n "$_CUDASWITCH_V"
        set -l env
        string match --quiet --regex ':env=(?<env>(?s).*)' -- $_CUDASWITCH_V
        # It may have been unpinned in another terminal.
        test "$env" = "$venv" -a -f "$env/etc/cudaswitch/on.fish"; or set -e _CUDASWITCH_V
    end
    if test -n "$_CUDASWITCH_C"
        set -l env (string replace --regex '.*:env=' '' -- $_CUDASWITCH_C)
        test -f "$env/etc/conda/activate.d/~~cudaswitch.fish"; or set -e _CUDASWITCH_C
        # Below a stacked environment, this one is still active.
        if test "$env" != "$CONDA_PREFIX"
            set -l stack
            __cudaswitch_stack
            test -n "$CONDA_PREFIX"; and contains -- "$env" $stack; or set -e _CUDASWITCH_C
        end
    end
    # A relative path would be looked for in any directory; a layer has the hook of the one below.
    set -l hook $venv/etc/cudaswitch/on.fish
    if test -z "$_CUDASWITCH_V" -a -f "$hook"; and string match --quiet '/*' -- "$venv"
        source $hook
    end
    set hook $CONDA_PREFIX/etc/conda/activate.d/~~cudaswitch.fish
    if test -z "$_CUDASWITCH_C" -a -f "$hook"; and string match --quiet '/*' -- "$CONDA_PREFIX"
        source $hook
    end
    # The environments below a stacked one are still active.
    if test -z "$_CUDASWITCH_C"; and not contains -- "$CONDA_SHLVL:$CONDA_STACKED_2" : 0: 1: 2:
        __cudaswitch_below
    end
end

# conda also sets CONDA_SHLVL when it reactivates an environment, as after an installation. Nothing
# else tells the prompt to look at what the environment's scripts did then.
function __cudaswitch_hashed --on-variable CONDA_SHLVL
    set -q _cudaswitch_seen[4]; and set _cudaswitch_seen[5] finished
end

# Has somebody removed what is applied? With $argv, a CUDA_HOME that the user has set since does not
# count as removed.
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

# Before the first prompt: has CUDA_HOME changed since our line, is the toolkit's `bin` off PATH, or
# an nvcc before it? The first look, which comes earlier, may have set CUDA_HOME.
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

# After the first prompt: VS Code prepends once more what an activation in a shell of its own has
# put on PATH. Remove one of two copies: the look that follows removes and adds its own.
function __cudaswitch_surplus
    set -l bin (string replace --regex '^[0-9]+' '' -- $_CUDASWITCH_BIN)
    set -l env "$VIRTUAL_ENV"
    test -n "$env"; or set env "$CONDA_PREFIX"
    if test "$PATH[1]:$PATH[2]" = "$bin:$env/bin"; and contains -- $bin $PATH[2..]
        set -e PATH[1]
        set -g _cudaswitch_seen
    end
end

# This shell has inherited what is applied. If it is as a short way leaves it, what follows it is
# what was there before, and the short way back is known. Not so for a list within an environment: a
# script that appended to it may have saved the rest.
function __cudaswitch_inherited
    set -l home (string split --fields 1 : -- $_CUDASWITCH_ON)
    string match --quiet --regex '^[^:]*(:env=.*)?:nvcc$' -- $_CUDASWITCH_ON
    and test -z "$_cudaswitch_plain$_cudaswitch_besides$_CUDASWITCH_XLA$_CUDASWITCH_CC\
$_CUDASWITCH_KEPT$_CUDASWITCH_UNEXPORTED"
    or return
    # A universal one shows again once ours is gone, unless it is gone itself by then.
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
    # This shell itself may have had a list without elements.
    test -z "$ld" -a "$_cudaswitch_ld_was_set" = bare; or set -g _cudaswitch_ld_was_set set
    test -z "$ld" -a -n "$_CUDASWITCH_LD"; and set -g _cudaswitch_ld_was_set
    set -g _cudaswitch_besides $home:$home:$home:$home/bin/nvcc
end

# Find out what besides the directory may have changed since the last look: $__csw_moved is set if
# what is applied does not stay, whatever is asked for. Called only by __cudaswitch_look, with its
# $before.
function __cudaswitch_surroundings --no-scope-shadowing
    test -z "$_cudaswitch_seen" -a -n "$before"; and __cudaswitch_inherited
    # Whatever started this shell may have chosen its GPUs, as Slurm does.
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
        # `auto`, or an alias for it, depends on the environment. A refusal is reported once.
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
        # mise sets the variables of a tree again at each step within it.
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
    test "$CUDASWITCH_HOME" = "$_cudaswitch_root" -o -z "$CUDASWITCH_HOME" -a "$_cudaswitch_store" = "$_cudaswitch_root"
    or __cudaswitch_store
    set -l before $_CUDASWITCH_ON
    set -g __csw_moved
    # Usually only the directory has changed.
    if not set -q _cudaswitch_gpus _cudaswitch_seen[4]
            or test "$CONDA_PREFIX$VIRTUAL_ENV$CUDASWITCH_VERSION$_CUDASWITCH_C$_CUDASWITCH_V$_cudaswitch_undone|\
$DIRENV_DIFF$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF|$_cudaswitch_keepers|\
$_cudaswitch_seen[1]$_cudaswitch_seen[2]$_cudaswitch_seen[4..]" != '||||'
        __cudaswitch_surroundings
    end
    set -g __csw
    if test -z "$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V$_CUDASWITCH_U"
        # _CUDASWITCH_D: what the directory asks for, else the frameworks of the active environment,
        # else the user. $_cudaswitch_file is the version file of the directory.
        set -g _cudaswitch_file
        set -g _cudaswitch_text
        set -e _CUDASWITCH_D
        if __cudaswitch_file
            set _cudaswitch_file $__csw
            __cudaswitch_content $_cudaswitch_file
            set _cudaswitch_text $__csw
            # Nearly all of them hold one version, and a zero byte may still be the last.
            set -l line
            if string match --quiet --regex '^(?<line>[A-Za-z0-9._+<>=!,-]+)\n?$' -- "$_cudaswitch_text"
                and not string match --quiet --regex '\x00' <$_cudaswitch_file
                # Whether another owner's file counts, Python decides.
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
        # A refusal in a tree is reported again on the next visit.
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
    # Nothing is touched without a reason: users put their own folders before ours.
    test -n "$_CUDASWITCH_GONE"; and __cudaswitch_unreturned; and set -e _CUDASWITCH_GONE
    if test -n "$__csw_moved$_CUDASWITCH_GONE"; or test "$__csw" != "$before" -a "$__csw:nvcc" != "$before"
        test -z "$__csw"; and __cudaswitch_restore; or __cudaswitch_settle "$__csw"
    end
    set -e __csw __csw_moved
    # Reporting is left to the prompt: this and the hooks run in scripts and key bindings as well.
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

# Print one line on what is active now, if it differs from $argv[1], a line or the toolkit of one.
# The caller sends it to stderr, as the stderr of a command may be redirected by the user.
function __cudaswitch_tell
    string match --quiet '/*' -- "$argv[1]"
    and set argv[1] "CUDA "(string replace --regex '.*/(?:cuda-)?(?=[^/]*[0-9][^/]*$)' '' -- $argv[1])
    set -g _cudaswitch_told "$_CUDASWITCH_ON|$_CUDASWITCH_LIB"
    set -e _cudaswitch_news
    set -l line 'no toolkit'
    if test -n "$_CUDASWITCH_ON"
        # A name such as `cuda`, of /opt/cuda, does not tell which one it is.
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
