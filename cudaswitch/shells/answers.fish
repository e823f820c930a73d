# Answers that need no Python, for `cudaswitch init`.
# $_cudaswitch_root is the store; requests/NAME in it holds the ready answer to a request.

# Use the store that CUDASWITCH_HOME names, or the one that the integration was written for. If only
# Python can resolve its path, no answer is ready.
function __cudaswitch_store
    set -l root "$CUDASWITCH_HOME"
    switch $root
        case ''
            set root $_cudaswitch_store
        case '~/*'
            set root $HOME(string sub --start 2 -- $root)
        case '/*'
        case '*'
            set root /dev/null
    end
    test $root = $_cudaswitch_root; and return
    set -g _cudaswitch_root $root
    set -g _cudaswitch_asked
    # The directory is the same; CUDASWITCH_VERSION may mean another toolkit now.
    set -g _cudaswitch_seen $_cudaswitch_seen[1..3]
end

# $__csw = the ready answer to the request $argv[1]; fails if Python must be asked.
function __cudaswitch_ready
    switch "$argv[1]"
        case '' '.*' '-*' '*/*'
            return 1
    end
    if not test -f $_cudaswitch_root/requests/$argv[1]
        __cudaswitch_lent $argv[1]
        return
    end
    read --global __csw < $_cudaswitch_root/requests/$argv[1]; or return 1
    test -d $__csw/. -a ! -L $__csw/.base; and return 0
    set -l home
    string match --quiet --regex '^(?<home>[^:]*)' -- $__csw; and __cudaswitch_there $home
end

# The same for the kept answer of a shared store: valid as long as the shared stores and what they
# offer are the same.
function __cudaswitch_lent
    set -l file $_cudaswitch_root/lent/$argv[1]
    test -f $file; or return 1
    set -l said $CUDASWITCH_STORES
    if test -z "$said" -a -f $_cudaswitch_root/requests/.stores
        read said <$_cudaswitch_root/requests/.stores
    end
    set -l kept
    set -l folders
    set -l offered
    set -l offers
    begin
        read kept; and read folders; and read offered; and read --global __csw
    end <$file
    and test "$kept" = "$said"; or return 1
    for fingerprint in (string split : -- $folders)/requests/.fingerprint
        set said ''
        test -f $fingerprint -a -r $fingerprint; and read said <$fingerprint
        set offers "$offers:$said"
    end
    test "$offers" = "$offered"; or return 1
    string match --quiet --regex '^(?<kept>[^:]*)' -- $__csw; and __cudaswitch_there $kept
end

# $__csw = the ready answer to the version file $argv[1]; fails if Python must be asked.
function __cudaswitch_read
    test -O $argv[1] -a -r $argv[1]; or return 1
    # In somebody else's folder, a link is theirs, even if the file that it leads to is ours.
    test -L $argv[1]; and not test -O (string replace --regex '[^/]*$' . -- $argv[1]); and return 1
    # Python refuses longer files, which would be slow to read here.
    __cudaswitch_content $argv[1]
    string match --quiet '*:more' -- "$__csw"; and return 1
    # fish reads a line only up to a zero byte.
    string match --quiet --regex '\x00' <$argv[1]; and return 1
    set -l cuda
    set -l cudnn
    set -l libraries
    set -l gpus
    while read --local line
        if string match --quiet --regex '^[A-Za-z0-9._+-]+$|^[<>=!][A-Za-z0-9._+<>=!,-]+$' -- $line; and not set -q cuda[1]
            set cuda $line
            continue
        end
        set line (string replace --regex '#.*' '' -- $line | string trim)
        test -n "$line"; or continue
        set -l part (string replace --filter --regex \
            '^(?:(cuda|cudnn|libraries|gpus)(?:[ \t]*=[ \t]*|[ \t]+))?(\S+(?:, \S+)*)$' '$1:$2' -- $line \
            | string split --max 1 :); or return 1
        test -n "$part[1]"; or set part[1] cuda
        # Ranges may have blanks after their commas.
        test $part[1] = cuda; and set part[2] (string replace --all ', ' , -- $part[2])
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
    if set -q gpus[1]
        # Only indices, each given once; anything else that is allowed is left to Python.
        string match --quiet --regex '^(-1|(0|[1-9]\d{0,3})(,(0|[1-9]\d{0,3}))*)$' -- $gpus; or return 1
        string match --quiet --regex '\b(\d+),(.*,)?\1\b' -- $gpus; and return 1
        set gpus gpus=$gpus
    end
    __cudaswitch_ready "$cuda"
    or __cudaswitch_auto "$cuda$libraries$gpus"; or return 1
    # The settings may have said so already.
    set -q libraries[1]; and string match --quiet '*:lib=*' -- $__csw; and return 1
    set -l --path want $__csw $libraries $gpus
    set -g __csw "$want"
    return 0
end

# $__csw = the ready answer to the request $argv[1] if that is `auto`; fails if Python must be
# asked, also about an environment that needs nothing: Python may have refused it.
function __cudaswitch_auto
    test "$argv[1]" = auto; and __cudaswitch_active; and __cudaswitch_automatic $__csw
    and test -n "$__csw"
end

# The same for `use auto`, which Python answers if there is more to say than which toolkit.
function __cudaswitch_sure
    set -g __csw_caution
    __cudaswitch_auto $argv; and test -z "$__csw_caution"
    set -l code $status
    set -e __csw_caution
    return $code
end

# $__csw = the active environment; fails if there is none. Of two, it is the one whose programs come
# first on PATH.
function __cudaswitch_active
    set -l envs $CONDA_PREFIX
    if test -n "$VIRTUAL_ENV"
        __cudaswitch_virtualenv
        set envs $_cudaswitch_layer[2] $CONDA_PREFIX
        if set -q envs[2]; and __cudaswitch_before $envs[2] $envs[1]
            set envs $envs[2..1]
        end
    end
    for env in $envs
        string match --quiet '/*' -- "$env"; or continue
        set -g __csw $env
        if test -d $env/conda-meta -o -f $env/pyvenv.cfg -o -f $env/bin/activate_this.py
            return 0
        end
    end
    return 1
end

# $__csw = the ready answer to what the frameworks of the environment $argv[1] need, empty if they
# need nothing; fails if Python must be asked, because packages have changed. If $__csw_caution is
# set, it becomes the reason why the answer may not do.
function __cudaswitch_automatic
    set -l file $_cudaswitch_root/auto/(string replace --all / % -- $argv[1])
    test -f $file; or return 1
    __cudaswitch_newer $argv[1] $file; and return 2
    set -l env
    begin
        read env; and read --global __csw
        and begin
            not set -q __csw_caution; or read --global __csw_caution; or true
        end
    end < $file; or return 1
    test "$env" = $argv[1]; or return 1
    test -z "$__csw"; and return 0
    string match --quiet --regex '^(?<env>[^:]*)' -- $__csw
    __cudaswitch_there $env
end
