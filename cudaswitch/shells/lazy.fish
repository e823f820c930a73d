# Stand-ins for the integration until something asks for a toolkit: a shell in which nothing does
# parses nothing more. __cudaswitch_load replaces them with the integration.

# $__csw = the nearest version file from the working directory upward, not above the home folder;
# fails if there is none.
function __cudaswitch_file
    # With a slash at its end, so that the `$` below does not match before a final line break.
    set -l dir $PWD/
    test $PWD = /; and set dir /
    while not test -f $dir.cuda-version
        contains -- $dir / "$HOME/" "$HOME"; and return 1
        string match --quiet --regex '^(?<dir>(?s).*/)[^/]*/$' -- $dir; or return 1
    end
    set -g __csw $dir.cuda-version
end

# Nothing that a shell starts with is news.
set -g _cudaswitch_told "$_CUDASWITCH_ON|$_CUDASWITCH_LIB"
set -g _cudaswitch_line
set -q _cudaswitch_keepers; or set -g _cudaswitch_keepers '|'

function __cudaswitch_look
    set -l asked "$CONDA_PREFIX$VIRTUAL_ENV$CUDASWITCH_VERSION$_CUDASWITCH_ON$_CUDASWITCH_BIN"
    set -a asked "$_CUDASWITCH_U$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V$_CUDASWITCH_D"
    if test "$asked$_CUDASWITCH_GONE" = ' '; and not test -f $_cudaswitch_root/global
        and contains -- "$CUDASWITCH_HOME" '' $_cudaswitch_root
        and not __cudaswitch_file
        set -g _cudaswitch_seen '' '' "$PWD" ''
        set -g _cudaswitch_keepers "$DIRENV_DIFF|$__MISE_DIFF$NODE_VIRTUAL_ENV$_FLOX_HOOK_DIFF"
        return 0
    end
    __cudaswitch_load; and __cudaswitch_look
end

# Called if there is a version file where none was at the last look.
function __cudaswitch_edited
end

function cudaswitch
    __cudaswitch_load; and cudaswitch $argv
end

# Hooks call these.
function __cudaswitch_enter
    __cudaswitch_load; and __cudaswitch_enter $argv
end

function __cudaswitch_leave
    __cudaswitch_load; and __cudaswitch_leave $argv
end
