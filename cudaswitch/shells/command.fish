# `cudaswitch` in fish: what changes this shell, and what is the command's own to do.

# This shell's own choice is the want $argv[1] from now on, none when it is empty.
function __cudaswitch_choose
    # Where there was none, `off` gives nothing up that `use -` could mean.
    test -n "$_CUDASWITCH_U$argv[1]"; and set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
    set -gx _CUDASWITCH_U $argv[1]
    test -n "$argv[1]"; or set -e _CUDASWITCH_U
    if test -n "$CONDA_PREFIX"; and __cudaswitch_leaving
        __cudaswitch_meanwhile $argv[1]
        __cudaswitch_tell "$_cudaswitch_line"
        return 0
    end
    test -n "$_cudaswitch_undone"; and __cudaswitch_finished
    if test -n "$argv[1]"
        __cudaswitch_settle
        __cudaswitch_tell
    else
        __cudaswitch_look
        set -q _cudaswitch_news; and __cudaswitch_tell "$_cudaswitch_line"
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

# `use` of the toolkit $argv[1] without options in place of another. There is nothing to work out
# as long as nobody has touched what was applied; fails, with nothing done, where it is not so.
function __cudaswitch_swap
    test "$PATH|$LD_LIBRARY_PATH|$CUDA_HOME:$CUDA_PATH:$CUDAToolkit_ROOT:$CUDACXX|$_OLD_VIRTUAL_PATH$_CUDASWITCH_GONE" \
        = "$_cudaswitch_path|$_cudaswitch_ld|$_cudaswitch_plain|"; or return 1
    test -n "$CONDA_PREFIX"; and __cudaswitch_leaving; and return 1
    __cudaswitch_simple $argv[1] ":$_cudaswitch_path_was:$_cudaswitch_ld_was"; or return 1
    __cudaswitch_place $argv[1] $argv[1]
    set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
    set -gx _CUDASWITCH_U $argv[1]
    set -g _cudaswitch_line $argv[1]
    # So the next look has news, and what is told then is decided by the line.
    set -g _cudaswitch_told
    if test -z "$CUDASWITCH_QUIET" -a -c /dev/stderr -a -w /dev/stderr
        # At a terminal: for a builtin's `>&2` fish starts a thread, for a file's name none.
        string replace --regex '.*/(?:cuda-)?' 'cudaswitch: CUDA ' -- $argv[1] >>/dev/stderr
    else if test -z "$CUDASWITCH_QUIET"
        string replace --regex '.*/(?:cuda-)?' 'cudaswitch: CUDA ' -- $argv[1] >&2
    end
    return 0
end

function cudaswitch
    switch "$argv[1]"
        case use
            if not set -q argv[3]; and __cudaswitch_ready "$argv[2]"
                __cudaswitch_swap $__csw; or __cudaswitch_choose $__csw
                return
            end
    end
    if contains -- --help $argv; or contains -- -h $argv
        __cudaswitch_run $argv
        return
    end
    switch "$argv[1]"
        case use
            set -l want
            set -l home
            if test "$argv[2..]" = -
                if not set -q _CUDASWITCH_PREVIOUS
                    echo 'cudaswitch: there is no earlier choice in this shell' >&2
                    echo 'hint: cudaswitch use VERSION' >&2
                    return 1
                end
                set want $_CUDASWITCH_PREVIOUS
                if string match --quiet --regex '^(?<home>/[^:]*)' -- "$want"; and not test -d $home/.
                    echo "cudaswitch: `$home` is gone" >&2
                    echo 'hint: cudaswitch use VERSION' >&2
                    return 1
                end
            else if test "$argv[2..]" = system
                set want system
            else
                # Within parentheses it would not follow where stderr is sent to.
                __cudaswitch_run want --for-use $argv[2..] | read --line want
                set -l code $pipestatus[1]
                test $code = 0; or return $code
            end
            __cudaswitch_choose $want
        case off
            if test (count $argv) -gt 1
                __cudaswitch_run $argv
                return
            end
            __cudaswitch_choose
        case pin unpin install adopt remove alias
            __cudaswitch_run $argv; or return
            # What the hook of an active environment asks for may be another thing now.
            string match --quiet "*:env=$CONDA_PREFIX" -- $_CUDASWITCH_C; and set -e _CUDASWITCH_C
            string match --quiet "*:env=$VIRTUAL_ENV" -- $_CUDASWITCH_V; and set -e _CUDASWITCH_V
            set -g _cudaswitch_seen
            set -g _cudaswitch_asked
            __cudaswitch_look
        case '*'
            __cudaswitch_run $argv
    end
end
