# `cudaswitch` in fish: what changes this shell, and what is the command's own to do.

# This shell's own choice is the want $argv[1] from now on, none when it is empty.
function __cudaswitch_choose
    # What has started this shell chose before.
    set -g _cudaswitch_gpus
    # Where there was none, `off` gives nothing up that `use -` could mean.
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

# Is it a script of an environment that is left which asks?
function __cudaswitch_leaving
    string match --quiet '*/deactivate.d/*' -- (status stack-trace)
end

# Settle for the choice $argv[1] in such a script: conda is to export a PATH that it computed before.
function __cudaswitch_meanwhile
    set -l gone $_CUDASWITCH_GONE
    if test -n "$_CUDASWITCH_ON$argv[1]"
        __cudaswitch_leave A $CONDA_PREFIX
    else
        __cudaswitch_settle
    end
    test -n "$gone"; and set -gx _CUDASWITCH_GONE (string join : -- $_CUDASWITCH_GONE $gone)
end

# `use` of a toolkit without options in place of another comes first: there is nothing to work out
# as long as nobody has touched what was applied, nor keeps a PATH with it. All in one function,
# for a call takes longer than most commands.
function cudaswitch
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
            # The next look has news then, and whether it is told is decided by the line.
            set -g _cudaswitch_told
            test -n "$CUDASWITCH_QUIET"
            or string replace --regex '^(?:.*/(?:cuda-)?(?=[^/]*[0-9][^/]*$))?' 'cudaswitch: CUDA ' -- $__csw >&2
        else
            __cudaswitch_choose $__csw
        end
        return 0
    end
    if contains -- --help $argv; or contains -- -h $argv; or not __cudaswitch_changes $argv
        # That is what they tell of, and packages may be other ones than at the last look. What is
        # wrong they say themselves.
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
                # Within parentheses it would not follow where stderr is sent to.
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
            # What failed has perhaps come halfway, and what was refused has been told.
            __cudaswitch_run $argv
            set -l code $status
            # In a script of an environment that is left conda has yet to finish, and a look to come.
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
            # Nobody has moved; CUDASWITCH_VERSION may mean another one now.
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

# Forget what the hook of an active environment asks for, which the variable $argv[1] has, where its
# pin is another now: that hook runs again then.
function __cudaswitch_reread
    set -q $argv[1]; or return 0
    set -l env (string replace --regex '.*:env=' '' -- $$argv[1])
    set -l text
    test -f $env/etc/cudaswitch/want; and read --null text <$env/etc/cudaswitch/want
    # Each slash is a line break there, and one ends it.
    set -l now (string join / -- (string split \n -- $text)[1..-2])
    test "$now:env=$env" = $$argv[1]; or set -e $argv[1]
    return 0
end

# What was stacked on the environment whose pin decides may have a pin now.
function __cudaswitch_uncovered
    set -l was $_CUDASWITCH_C
    test -n "$was"; or return 0
    test (string replace --regex '.*:env=' '' -- $was) = "$CONDA_PREFIX"; and return 0
    set -e _CUDASWITCH_C
    __cudaswitch_environments
    set -q _CUDASWITCH_C; or set -gx _CUDASWITCH_C $was
    return 0
end
