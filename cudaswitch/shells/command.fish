# `cudaswitch` in fish: does what changes this shell, and leaves the rest to the command.

# Make the want $argv[1] this shell's own choice from now on; empty: no choice.
function __cudaswitch_choose
    # This replaces the GPUs chosen by whatever started this shell.
    set -g _cudaswitch_gpus
    # Without a choice, `off` gives up nothing that `use -` could return to.
    test -n "$_CUDASWITCH_U$argv[1]"; and set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
    set -gx _CUDASWITCH_U $argv[1]
    test -n "$argv[1]"; or set -e _CUDASWITCH_U
    if test -n "$CONDA_PREFIX"; and __cudaswitch_leaving
        __cudaswitch_meanwhile $argv[1]
        __cudaswitch_tell "$_cudaswitch_line" >&2
        return 0
    end
    test -n "$_cudaswitch_undone"; and __cudaswitch_finished
    if test -n "$argv[1]"
        __cudaswitch_settle
        __cudaswitch_tell >&2
    else
        __cudaswitch_look
        test "$_cudaswitch_news" = 1; and __cudaswitch_tell "$_cudaswitch_line" >&2
    end
    return 0
end

# Is the caller a deactivate script of the environment being left?
function __cudaswitch_leaving
    string match --quiet '*/deactivate.d/*' -- (status stack-trace)
end

# Settle for the choice $argv[1] in such a script: conda will still export an earlier PATH.
function __cudaswitch_meanwhile
    set -l gone $_CUDASWITCH_GONE
    if test -n "$_CUDASWITCH_ON$argv[1]"
        __cudaswitch_leave A $CONDA_PREFIX
    else
        __cudaswitch_settle
    end
    test -n "$gone"; and set -gx _CUDASWITCH_GONE (string join : -- $_CUDASWITCH_GONE $gone)
end

# The first case is `use` of a toolkit without options in place of another: nothing needs working
# out as long as nobody has touched what was applied, or keeps a PATH with it. It is all in one
# function, as a call takes longer than most commands.
function cudaswitch
    test "$CUDASWITCH_HOME" = "$_cudaswitch_root" -o -z "$CUDASWITCH_HOME" -a "$_cudaswitch_store" = "$_cudaswitch_root"
    or __cudaswitch_store
    if test "$argv[1]" = use; and not set -q argv[3]; and __cudaswitch_ready "$argv[2]"
        if test "$_OLD_VIRTUAL_PATH$_CUDASWITCH_GONE$_CUDASWITCH_OLD$_CUDASWITCH_KEPT\
$CUDA_HOME:$CUDA_PATH:$CUDAToolkit_ROOT:$CUDACXX|$LD_LIBRARY_PATH|0$PATH[1]" \
                = "$_cudaswitch_plain|$_cudaswitch_ld|$_CUDASWITCH_BIN"
            and begin
                test -z "$CONDA_PREFIX$VIRTUAL_ENV"
                or not begin
                    __cudaswitch_path_kept; or __cudaswitch_leaving
                end
            end
            and __cudaswitch_place $__csw $__csw ":$PATH[2..]:$_cudaswitch_ld_was" '' $_cudaswitch_ld_was
            set PATH[1] $__csw/bin
            set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
            set -gx _CUDASWITCH_U $__csw
            set -g _cudaswitch_line $__csw
            # The next look has news then, and the line decides whether it is reported.
            set -g _cudaswitch_told
            test -n "$CUDASWITCH_QUIET"
            or string replace --regex '^(?:.*/(?:cuda-)?(?=[^/]*[0-9][^/]*$))?' 'cudaswitch: CUDA ' -- $__csw >&2
        else
            __cudaswitch_choose $__csw
        end
        return 0
    end
    if contains -- --help $argv; or contains -- -h $argv; or not __cudaswitch_changes $argv
        # These commands report what the look finds, and packages may have changed since the last
        # one. They report errors themselves.
        contains -- "$argv[1]" current which doctor; and not __cudaswitch_leaving
        and __cudaswitch_look 2>/dev/null
        __cudaswitch_run $argv
        return
    end
    switch $argv[1]
        case use
            set -l want
            set -l home
            if test "$argv[2..]" = -
                if not set -q _CUDASWITCH_PREVIOUS
                    echo 'cudaswitch: there is no previous choice in this shell' >&2
                    echo 'hint: cudaswitch use VERSION' >&2
                    return 1
                end
                set want $_CUDASWITCH_PREVIOUS
                if string match --quiet --regex '^(?<home>/[^:]*)' -- "$want"; and not __cudaswitch_there $home
                    echo "cudaswitch: `$home` is gone" >&2
                    echo 'hint: cudaswitch use VERSION' >&2
                    return 1
                end
            else if test "$argv[2..]" = system
                set want system
            else if __cudaswitch_sure "$argv[2..]"
                set want $__csw
            else
                set -e __csw
                # In a command substitution, this would not follow a redirection of stderr.
                __cudaswitch_run want --for-use $argv[2..] | read --line want
                set -l code $pipestatus[1]
                test $code = 0; or return $code
            end
            __cudaswitch_choose $want
        case off
            if set -q argv[2]; and test "$argv[2..]" != --
                __cudaswitch_run $argv
                return
            end
            __cudaswitch_choose
        case '*'
            # A command that failed may have done part of its work; a refusal was reported already.
            __cudaswitch_run $argv
            set -l code $status
            # In a deactivate script, conda has yet to finish, and a look will follow.
            if test -n "$CONDA_PREFIX"; and __cudaswitch_leaving
                set -g _cudaswitch_seen
                return $code
            end
            if test $code = 0
                set -g _cudaswitch_asked
                __cudaswitch_uncovered
            end
            __cudaswitch_reread _CUDASWITCH_C
            __cudaswitch_reread _CUDASWITCH_V
            # The directory is the same; CUDASWITCH_VERSION may mean another toolkit now.
            set -g _cudaswitch_seen $_cudaswitch_seen[1..3]
            __cudaswitch_look
            return $code
    end
end

# Is it a command after which this shell may have to switch?
function __cudaswitch_changes
    set -l changing use off pin unpin install adopt remove alias sync gc
    set -a changing config+set config+unset doctor+--fix verify+--repair
    contains -- "$argv[1]" $changing; and return 0
    contains -- "$argv[1]" config doctor verify; or return 1
    for word in $argv[1]+$argv
        contains -- $word $changing; and return 0
    end
    return 1
end

# Forget the want of an active environment, in the variable $argv[1], if its pin has changed, so
# that the hook runs again.
function __cudaswitch_reread
    set -q $argv[1]; or return 0
    set -l env
    string match --quiet --regex ':env=(?<env>(?s).*)' -- $$argv[1]
    set -l text
    test -f $env/etc/cudaswitch/want; and read --null text <$env/etc/cudaswitch/want
    # In that file, each slash is a line break, and a last line break ends it.
    set -l now (string join / -- (string split \n -- $text)[1..-2])
    test "$now:env=$env" = $$argv[1]; or set -e $argv[1]
    return 0
end

# An environment stacked on the one whose pin decides may have a pin of its own now.
function __cudaswitch_uncovered
    set -l was $_CUDASWITCH_C
    test -n "$was"; or return 0
    test (string replace --regex '.*:env=' '' -- $was) = "$CONDA_PREFIX"; and return 0
    set -e _CUDASWITCH_C
    __cudaswitch_environments
    set -q _CUDASWITCH_C; or set -gx _CUDASWITCH_C $was
    return 0
end
