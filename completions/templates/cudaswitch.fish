# fish completion for cudaswitch, made by completions/generate.py. It starts no process.

# The command and its arguments before the cursor, without options and their values.
function __cudaswitch_complete_words
    set -l skip
    for word in (commandline -opc)[2..]
        if set -q skip[1]
            set skip
            continue
        end
        switch $word
            case --
                echo --
            @valued@
                set skip 1
            case '-*'
            case '*'
                echo $word
        end
    end
end

# Is the argument $argv[1] (or `any`) of the command $argv[2..] to be completed? Asked for every
# command at each TAB, so what holds for a command line is worked out once.
function __cudaswitch_complete_at
    set -l line (commandline -pc)
    if test "$line" != "$__cudaswitch_complete_line"
        set -g __cudaswitch_complete_line "$line"
        set -g __cudaswitch_complete_places
        set -l words (__cudaswitch_complete_words)
        contains -- -- $words; and return 1
        set -l command
        set -l after (math (count $words) + 1)
        for word in '' $words
            test -n "$word"; and set -a command $word; and set after (math $after - 1)
            for place in $after any
                set -a __cudaswitch_complete_places (string join ' ' -- $place $command)
            end
        end
    end
    contains -- "$argv" $__cudaswitch_complete_places
end

# Is a command line of its own being typed, behind `exec --`?
function __cudaswitch_complete_is_command
    set -l words (__cudaswitch_complete_words)
    test "$words[1]" = exec; and contains -- -- $words
end

function __cudaswitch_complete_command
    set -l words (commandline -opc)
    complete -C (string join ' ' -- (string escape -- $words[(math (contains --index -- -- $words) + 1)..]) \
        (commandline -ct))
end

# The folders of all stores, the person's own first.
function __cudaswitch_complete_stores
    if test -n "$CUDASWITCH_HOME"
        echo $CUDASWITCH_HOME
    else if test -n "$_cudaswitch_root"
        echo $_cudaswitch_root
    else if test -n "$XDG_DATA_HOME"
        echo $XDG_DATA_HOME/cudaswitch
    else
        echo ~/.local/share/cudaswitch
    end
    string split --no-empty : -- $CUDASWITCH_STORES
end

# The toolkits, each said in words.
function __cudaswitch_complete_toolkits
    for store in (__cudaswitch_complete_stores)
        for file in $store/toolkits/*/cudaswitch.json
            set -l name (string split --right --max 2 --fields 2 / -- $file)
            printf '%s\tCUDA %s\n' $name \
                (string replace +cudnn ' with cuDNN ' -- $name | string replace @ ' for ')
        end
    end
end

function __cudaswitch_complete_aliases
    for store in (__cudaswitch_complete_stores)
        for file in $store/aliases/*
            read --local meant < $file
            printf '%s\t%s\n' (string split --right --max 1 --fields 2 / -- $file) "$meant"
        end
    end
end

function __cudaswitch_complete_requests
    # A name with @ is for another platform, and cannot be used here.
    __cudaswitch_complete_toolkits | string match --invert --regex '^[^\t]*@'
    __cudaswitch_complete_aliases
    printf '%s\t%s\n' latest 'the newest that is installed' \
        auto 'what the active environment needs' system none
end

function __cudaswitch_complete_cudnns
    __cudaswitch_complete_toolkits | string match --regex --groups-only '^[^\t]*\+cudnn([^@\t]*)'
    printf '%s\t%s\n' none 'a toolkit without cuDNN'
end

function __cudaswitch_complete_installable
    printf '%s\t%s\n' latest 'the newest there is' auto 'what the active environment needs'
    @available@
    __cudaswitch_complete_aliases
end

function __cudaswitch_complete_tools
    set -l home $CUDA_HOME
    if test -z "$home"
        set -l latest (__cudaswitch_complete_stores)[1]/requests/latest
        test -f $latest; and read home < $latest
    end
    test -n "$home"; or return
    for file in $home/bin/*
        test -f $file -a -x $file; and string split --right --max 1 --fields 2 / -- $file
    end
end

function __cudaswitch_complete_environments
    set -l roots $MAMBA_ROOT_PREFIX
    string match --quiet '*/*/*' -- "$CONDA_EXE"
    and set -a roots (string replace --regex '/[^/]*/[^/]*$' '' -- $CONDA_EXE)
    set -l folders ~/.conda/envs (string split --no-empty : -- $CONDA_ENVS_DIRS $CONDA_ENVS_PATH) \
        $WORKON_HOME $roots/envs
    set -l found $roots
    if test -f ~/.conda/environments.txt
        while read --local line
            set -a found $line
        end < ~/.conda/environments.txt
    end
    set -a found $folders/*/
    for prefix in (string trim --right --chars / -- $found)
        test -d $prefix/conda-meta -o -f $prefix/pyvenv.cfg; or continue
        set -l name (string split --right --max 1 --fields 2 / -- $prefix)
        test -d $prefix/condabin -o -d $prefix/envs; and set name base
        printf '%s\t%s\n' $name (string replace --regex "^$(string escape --style=regex ~)/" '~/' -- $prefix)
    end
end

complete -c cudaswitch -f
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -l version -d 'Show the version'
complete -c cudaswitch -n __cudaswitch_complete_is_command -a '(__cudaswitch_complete_command)'
@commands@
@lines@
