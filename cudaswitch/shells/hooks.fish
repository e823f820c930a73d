# The two halves of an environment's hook, and what conda calls when it has finished.

# The hook of an environment that is entered: owner (C or V), folder, toolkit, options, `auto` if
# that was requested, two paths in it that stay older than the pin until something is added that
# might bring CUDA, and what it brought when it was pinned.
function __cudaswitch_enter
    # The last prompt's environment may be back at the next prompt, and this one left unnoticed.
    test $argv[1] = V; and set -g _cudaswitch_seen
    # Anything that is put before ours until that prompt stays there.
    set -q _cudaswitch_seen; and set -g _cudaswitch_entered "$CONDA_PREFIX $VIRTUAL_ENV"
    set -l plain
    set -l was_unset
    set -l found
    set -l asked $argv[5]
    if set -q argv[7]
        set -l watched $argv[6..]
        set -l pin $argv[2]/etc/cudaswitch/want
        set -l user $PYTHONUSERBASE
        test -n "$user"; or set user "$HOME/.local"
        if $_cudaswitch_test $pin -nt $argv[2]/$watched[1] -a $pin -nt $argv[2]/$watched[2] \
                -a ! -e $user/$watched[1]
            set asked
            if not set -q watched[3]
                set plain $argv[2]
            else if test "$CONDA_PREFIX$VIRTUAL_ENV" = $argv[2]
                set found no
                string match --quiet 'y*' $watched[3]; and set found yes
                string match --quiet '*x' $watched[3]; and set -a found xla
            end
        end
    end
    test -z "$argv[4]"; or string match --quiet --regex '^cc=[^:]*$' -- $argv[4]; or set asked options
    set asked "$asked$_CUDASWITCH_U$_CUDASWITCH_X$_CUDASWITCH_C$_CUDASWITCH_V$_CUDASWITCH_D"
    set asked "$asked$_CUDASWITCH_ON$_CUDASWITCH_BIN$_CUDASWITCH_GONE$CUDASWITCH_VERSION"
    # Words of ours must be removed from what conda keeps.
    test -n "$_cudaswitch_undone_cc$_cudaswitch_undone_xla"; and __cudaswitch_flags_kept
    and set asked flags
    if test -z "$asked" -a "$argv[3]" != system
        set -l home $argv[3]
        set -l want $home:env=$argv[2]
        test -n "$argv[4]"; and set want $home:$argv[4]:env=$argv[2]
        set -l --path path
        set -l --path ld
        set -l ld_set
        __cudaswitch_lists
        set -g __csw_found $found
        if test -z "$_OLD_VIRTUAL_PATH"; and __cudaswitch_free; and __cudaswitch_plainly
            or __cudaswitch_besides
            set -gx _CUDASWITCH_$argv[1] $want
            set -e __csw_found __csw_xla
            return 0
        end
        set -e __csw_found
    end
    __cudaswitch_entered $argv
end

# Is the toolkit $argv[1] there? One that is based on another is of no use without it.
function __cudaswitch_there
    test -d $argv[1]/.; or return 1
    not test -L $argv[1]/.base; or test -d $argv[1]/.base/.
end

# The same, whatever is applied or set already.
function __cudaswitch_entered
    test $argv[1] = V -a -n "$_cudaswitch_undone"; and __cudaswitch_finished
    set -l baked $argv[3]
    test -n "$argv[4]"; and set baked $baked:$argv[4]
    set -l want $baked
    if test -n "$argv[5]"; and __cudaswitch_newer $argv[2] $argv[2]/etc/cudaswitch/want
        if test -x "$_cudaswitch_program"
            set want ($_cudaswitch_program want --environment $argv[2])
            or set want $baked
        else if isatty stderr
            printf 'cudaswitch: the packages of `%s` may have changed since it was pinned\n' $argv[2] >&2
            printf 'hint: cudaswitch pin auto\n' >&2
        end
    end
    set -l home
    string match --quiet --regex '^(?<home>[^:]*)' -- "$want"
    if test "$home" != system; and not __cudaswitch_there "$home"
        # Somebody else may have pinned it, and this user's store may have another for that pin.
        if not test -x "$_cudaswitch_program"
                or not set want ($_cudaswitch_program want --file $argv[2]/etc/cudaswitch/pin 2>/dev/null)
                or not string match --quiet --regex '^(/|system$)' -- "$want"
            if isatty stderr
                printf 'cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n' \
                    $home $argv[2] >&2
            end
            set want gone
        end
    end
    # The conda environment that was left had a toolkit, and this one has variables of its own.
    if test $argv[1] = C -a -n "$_cudaswitch_undone"
        set -l flags "$_cudaswitch_undone_cc$_cudaswitch_undone_xla"
        string match --quiet '*:gpus=*' -- $_cudaswitch_undone; and set flags gpus
        if test "$LD_LIBRARY_PATH|$CUDA_HOME$CUDA_PATH$CUDACXX$flags" != "$_cudaswitch_ld_was|"
            __cudaswitch_forget
        end
    end
    set -gx _CUDASWITCH_$argv[1] $want:env=$argv[2]
    # The prompt would look at CUDASWITCH_VERSION, but in a script none comes.
    functions --query __cudaswitch_ready; and __cudaswitch_said
    __cudaswitch_settle
end

# Take up what CUDASWITCH_VERSION asks for, if there is a ready answer.
function __cudaswitch_said
    if test -z "$CUDASWITCH_VERSION"
        set -e _CUDASWITCH_X
    else if __cudaswitch_ready $CUDASWITCH_VERSION
        # It may be set for this command alone, as in `CUDASWITCH_VERSION=12.4 conda activate tf`.
        set -q _cudaswitch_seen[4]; and set _cudaswitch_seen[4] $CUDASWITCH_VERSION
        set -gx _CUDASWITCH_X $__csw
        set -e __csw
    end
end

# Remove from what conda keeps what was applied in the environment that was left.
function __cudaswitch_forget
    set -l home
    set -g __csw_theirs $_cudaswitch_undone_kept
    # Scripts of this environment may have saved what conda restored before them. If the same
    # toolkit is applied again, they have saved that, and the undo corrects it.
    set -g __csw_names
    string match --quiet --regex '^(?<home>[^:]*)' -- "$_cudaswitch_undone"
    string match --quiet -- "$home:*" "$_CUDASWITCH_ON:"; or set __csw_names (__cudaswitch_snapshots)
    __cudaswitch_copies LD_LIBRARY_PATH "$_cudaswitch_undone_lib"
    __cudaswitch_scalars forget $_cudaswitch_undone
    set -e __csw_theirs __csw_names
    set -g _cudaswitch_undone
end

# conda has finished: what it keeps dates from before the hook of the environment that was left.
function __cudaswitch_finished
    if __cudaswitch_flags_kept; or __cudaswitch_kept
        __cudaswitch_forget
    else
        set -g _cudaswitch_undone
    end
end

# The hook of an environment that is left: owner (C or V), folder. A is not an owner: it stands for
# changes by one of the environment's scripts.
function __cudaswitch_leave
    set -l owner _CUDASWITCH_$argv[1]
    set -l before $_CUDASWITCH_BIN
    if test $argv[1] != V
        set -g _cudaswitch_undone $_CUDASWITCH_ON
        set -g _cudaswitch_undone_lib $_CUDASWITCH_LIB
        set -g _cudaswitch_undone_cc $_CUDASWITCH_CC
        set -g _cudaswitch_undone_xla $_CUDASWITCH_XLA
        set -g _cudaswitch_undone_kept $_CUDASWITCH_KEPT
        set -e _cudaswitch_gave
    else if test -n "$_cudaswitch_undone"
        __cudaswitch_finished
    end
    # If the environment below was active at the last prompt, nothing else tells the next one.
    set -g _cudaswitch_seen
    set -e $owner
    # In a script, no prompt has noticed that CUDASWITCH_VERSION is gone.
    set -q _CUDASWITCH_X; and test -z "$CUDASWITCH_VERSION"
    and functions --query __cudaswitch_ready; and set -e _CUDASWITCH_X
    set -g __csw_left $argv[2]
    __cudaswitch_restore; or __cudaswitch_settle
    set -e __csw_left
    # Tools that count no levels do not compute PATH ahead.
    test $argv[1] != V -a -n "$CONDA_SHLVL" -a "=$CONDA_SHLVL" != =0; or return 0
    contains -- "$CONDA_SHLVL:$CONDA_STACKED_2" 1: 2:; or __cudaswitch_below
    # On a switch between environments and on reactivation, conda goes on to export a PATH that it
    # computed before this hook ran: remember what that brings back, and what is applied now, which
    # it removes.
    set -l dir
    if test -z "$_CUDASWITCH_BIN"
        and string match --quiet --regex '^[0-9]+(?<dir>/[^:]*)$' -- "$before"
        and not contains -- $dir $PATH
        set -gx _CUDASWITCH_GONE 0$dir
    else if test -n "$before$_CUDASWITCH_BIN"
        set -g __csw $PATH
        __cudaswitch_record '' (string match --all --regex '/[^:]*' -- "$before:$_CUDASWITCH_BIN")
        set -gx _CUDASWITCH_GONE $__csw
        set -e __csw
    end
    # CUDASWITCH_VERSION may be a variable of the environment, and go with it, or get an earlier
    # value back. Once a prompt has come, that is the prompt's to notice.
    if set -q _CUDASWITCH_X; and functions --query __cudaswitch_ready
        function __cudaswitch_unsaid --on-variable CUDASWITCH_VERSION
            functions --erase __cudaswitch_unsaid
            set -q _cudaswitch_seen[1]; and return
            __cudaswitch_said
            __cudaswitch_settle
        end
    end
    # Of what conda then exports, PATH comes first, and CONDA_SHLVL after the environment's name.
    function __cudaswitch_repair --on-variable PATH --on-variable CONDA_SHLVL
        if test "$argv[3]" = CONDA_SHLVL
            functions --erase __cudaswitch_repair
            # mamba has made its copies by now, and deletes them when it restores them. conda, if
            # both are loaded, has yet to make its own.
            set -l undone $_cudaswitch_undone
            if set -q MAMBA_SHLVL; and test -n "$undone"
                __cudaswitch_finished
                set -g _cudaswitch_undone $undone
            end
            # One from below may have been on PATH only because conda had not removed it yet.
            set -l env
            string match --quiet --regex ':env=(?<env>.*)' -- "$_CUDASWITCH_C"
            and not contains -- $env/bin $PATH; and set -e _CUDASWITCH_C
            if test -z "$_CUDASWITCH_ON$_CUDASWITCH_C$_CUDASWITCH_V"; and __cudaswitch_unreturned
                set -e _CUDASWITCH_GONE
            else
                # conda restores the variables later: which of its copies are the user's stays
                # known.
                set -l kept $_CUDASWITCH_KEPT
                __cudaswitch_settle
                test -n "$kept" -a -n "$_CUDASWITCH_ON"; and set -gx _CUDASWITCH_KEPT $kept
            end
        else if test -n "$_CUDASWITCH_GONE"
            # A script of the environment may have set PATH, and conda is still to come.
            set -l gone $_CUDASWITCH_GONE
            if test -z "$_CUDASWITCH_ON$_OLD_VIRTUAL_PATH" -a "0$PATH[1]" = $gone
                and set -q PATH[2]; and not __cudaswitch_path_kept
                set -e _CUDASWITCH_GONE
                set -gx PATH $PATH[2..]
            else
                __cudaswitch_settle
            end
            set -gx _CUDASWITCH_GONE $gone
        end
    end
    return 0
end

# Has a PATH that conda computed before brought back nothing that must go? That is the usual case.
function __cudaswitch_unreturned
    set -l dir
    string match --quiet --regex '^0(?<dir>/[^:]*)$' -- "$_CUDASWITCH_GONE"; and not contains -- $dir $PATH
end

# Take up the next pinned environment below the active one, as if it were entered: when an
# environment is left, conda itself runs only the hook of the next one, which may have none.
function __cudaswitch_below
    set -l prefix $CONDA_PREFIX
    set -l stack
    __cudaswitch_stack
    for env in $stack
        test -f $env/etc/conda/activate.d/~~cudaswitch.fish; or continue
        # The record of the environment that was left is for when conda has finished.
        set -l undone $_cudaswitch_undone
        set -g _cudaswitch_undone
        set CONDA_PREFIX $env
        source $env/etc/conda/activate.d/~~cudaswitch.fish
        set CONDA_PREFIX $prefix
        set -g _cudaswitch_undone $undone
        return
    end
end
