# What `cudaswitch init` adds to core.fish: the function that changes this shell, and the
# look-round that the prompt asks for when environment or directory changed.
# $_cudaswitch_root is the store; requests/NAME in it holds the ready answer to a request.
# $_cudaswitch_program is the command itself, which need not be on an environment's PATH.

# Print the ready answer to the request $argv[1]; fails where Python must be asked.
function __cudaswitch_ready
    string match --quiet --regex '^[A-Za-z0-9_+][A-Za-z0-9._+-]*$' -- $argv[1]; or return 1
    test -f $_cudaswitch_root/requests/$argv[1]; or return 1
    read --local want < $_cudaswitch_root/requests/$argv[1]; and test -d $want/.
    and echo $want
end

# Print the ready answer to the version file $argv[1]; fails where Python must be asked.
function __cudaswitch_read
    test -O $argv[1]; or return 1
    set -l cuda
    set -l cudnn
    set -l libraries
    while read --local line
        set line (string replace --regex '#.*' '' -- $line | string trim)
        test -n "$line"; or continue
        set -l part (string replace --filter --regex \
            '^(?:(cuda|cudnn|libraries)(?:\s*=\s*|\s+))?([^\s=,]+)$' '$1=$2' -- $line \
            | string split =); or return 1
        test -n "$part[1]"; or set part[1] cuda
        set -q $part[1][1]; and return 1
        set $part[1] $part[2]
    end < $argv[1]
    if set -q cudnn[1]
        set cuda $cuda+cudnn$cudnn
    end
    if set -q libraries[1]
        contains -- $libraries auto always never; or return 1
        set libraries lib=$libraries
    end
    set -l want (__cudaswitch_ready "$cuda"); or return 1
    echo (string join : -- $want $libraries)
end

# What the directory asks for, else the user: _CUDASWITCH_D.
function __cudaswitch_directory
    set -l dir $PWD
    set -l file $_cudaswitch_root/global
    while true
        if test -f $dir/.cuda-version
            set file $dir/.cuda-version
            break
        end
        if test -z "$dir" -o "$dir" = "$HOME"
            break
        end
        set dir (string replace --regex '/[^/]*$' '' -- $dir)
    end
    set -e _CUDASWITCH_D
    if test -f $file
        set -l want (__cudaswitch_read $file; or __cudaswitch_ask_once $file)
        and set -gx _CUDASWITCH_D $want
    end
end

# Print what Python answers to the version file $argv[1], which it is asked, and complains
# of, once on the way into a tree and not at every step within.
function __cudaswitch_ask_once
    set -l text
    test -O $argv[1] -a -r $argv[1]; and read --null text <$argv[1]
    if test "$argv[1]:$text" != "$_cudaswitch_asked"
        set -g _cudaswitch_asked "$argv[1]:$text"
        set -g _cudaswitch_answer ($_cudaswitch_program want --file $argv[1])
    end
    test -n "$_cudaswitch_answer"; and echo $_cudaswitch_answer
end

# Drop what belongs to an environment that was left, take up what the environment, the
# directory or the user asks for, and settle.
function __cudaswitch_look
    set -l before $_CUDASWITCH_ON
    set -l moved
    test "$CONDA_PREFIX $VIRTUAL_ENV" = "$_cudaswitch_seen[1..2]"; or set moved moved
    if test -n "$_CUDASWITCH_V"
        set -l env (string replace --regex '.*:env=' '' -- $_CUDASWITCH_V)
        test "$env" = "$VIRTUAL_ENV"; or set -e _CUDASWITCH_V
    end
    if test -n "$_CUDASWITCH_C"
        set -l env (string replace --regex '.*:env=' '' -- $_CUDASWITCH_C)
        # Below a stacked environment this one is still active: its folder is on PATH.
        test "$env" = "$CONDA_PREFIX"; or contains -- $env/bin $PATH; or set -e _CUDASWITCH_C
    end
    # A hook that did not run: its activate script was rewritten, or bypassed.
    set -l hook $VIRTUAL_ENV/etc/cudaswitch/on.fish
    if test -z "$_CUDASWITCH_V" -a -n "$VIRTUAL_ENV" -a -f "$hook"
        source $hook
    end
    set hook $CONDA_PREFIX/etc/conda/activate.d/~~cudaswitch.fish
    if test -z "$_CUDASWITCH_C" -a -n "$CONDA_PREFIX" -a -f "$hook"
        source $hook
    end
    if not set -q _cudaswitch_seen[4]; or test "$CUDASWITCH_VERSION" != $_cudaswitch_seen[4]
        if test -z "$CUDASWITCH_VERSION"
            set -e _CUDASWITCH_X
        else if set -l want (__cudaswitch_ready $CUDASWITCH_VERSION
                or $_cudaswitch_program want -- $CUDASWITCH_VERSION)
            set -gx _CUDASWITCH_X $want
        end
    end
    if test -n "$_CUDASWITCH_C$_CUDASWITCH_V"
        set -e _CUDASWITCH_D
    else if test -z "$_CUDASWITCH_U"
        __cudaswitch_directory
    end
    # Without a reason nothing is touched: people put their own folders before ours.
    set -l want (__cudaswitch_strongest)
    set -l had (string replace --regex ':nvcc$' '' -- "$before")
    if test -n "$moved$_CUDASWITCH_GONE" -o "$want" != "$had"
        __cudaswitch_settle
    end
    set -g _cudaswitch_seen "$CONDA_PREFIX" "$VIRTUAL_ENV" "$PWD" "$CUDASWITCH_VERSION"
    test "$before" = "$_CUDASWITCH_ON"; or __cudaswitch_say
    return 0
end

# One line on what is active now.
function __cudaswitch_say
    test -n "$CUDASWITCH_QUIET"; and return 0
    if test -z "$_CUDASWITCH_ON"
        echo 'cudaswitch: no toolkit' >&2
        return 0
    end
    set -l name (string replace --regex '.*/' '' -- \
        (string split --fields 1 : -- $_CUDASWITCH_ON))
    set -l line "cudaswitch: CUDA $name"
    if test -z "$_CUDASWITCH_LIB"
        if string match --quiet '*:lib=never*' -- $_CUDASWITCH_ON
            set line "$line (LD_LIBRARY_PATH left alone, as asked)"
        else
            set line "$line (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)"
        end
    end
    echo $line >&2
end

function cudaswitch
    if contains -- --help $argv; or contains -- -h $argv
        $_cudaswitch_program $argv
        return
    end
    switch "$argv[1]"
        case use
            set -l want
            if test "$argv[2..]" = -
                if not set -q _CUDASWITCH_PREVIOUS
                    echo 'cudaswitch: there is no earlier choice in this shell' >&2
                    echo 'hint: cudaswitch use VERSION' >&2
                    return 1
                end
                set want $_CUDASWITCH_PREVIOUS
            else if test "$argv[2..]" = system
                set want system
            else if test (count $argv) -eq 2; and set want (__cudaswitch_ready $argv[2])
            else
                set want ($_cudaswitch_program want --for-use $argv[2..]); or return
            end
            set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
            set -gx _CUDASWITCH_U $want
            if test -n "$want"
                __cudaswitch_settle
                __cudaswitch_say
            else
                set -e _CUDASWITCH_U
                __cudaswitch_look
            end
        case off
            if test (count $argv) -gt 1
                $_cudaswitch_program $argv
                return
            end
            set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
            set -e _CUDASWITCH_U
            __cudaswitch_look
        case pin unpin install adopt remove alias
            $_cudaswitch_program $argv; or return
            # What the hook of an active environment asks for may be another thing now.
            string match --quiet "*:env=$CONDA_PREFIX" -- $_CUDASWITCH_C; and set -e _CUDASWITCH_C
            string match --quiet "*:env=$VIRTUAL_ENV" -- $_CUDASWITCH_V; and set -e _CUDASWITCH_V
            set -g _cudaswitch_seen
            set -g _cudaswitch_asked
            __cudaswitch_look
        case '*'
            $_cudaswitch_program $argv
    end
end

function __cudaswitch_prompt --on-event fish_prompt --on-variable PWD
    set -l code $status
    if test "$CONDA_PREFIX $VIRTUAL_ENV $PWD $CUDASWITCH_VERSION" != "$_cudaswitch_seen"
        or test -n "$_CUDASWITCH_GONE"
        __cudaswitch_look
    end
    return $code
end
__cudaswitch_look
