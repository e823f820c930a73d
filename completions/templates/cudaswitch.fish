# fish completion for cudaswitch, made by completions/generate.py. It starts no process.

# The folders of all stores, the user's own first.
function __cudaswitch_complete_stores
    set -l own ~/.local/share/cudaswitch
    if test -n "$CUDASWITCH_HOME"
        set own $CUDASWITCH_HOME
    else if test -n "$_cudaswitch_root"
        set own $_cudaswitch_root
    else if test -n "$XDG_DATA_HOME"
        set own $XDG_DATA_HOME/cudaswitch
    end
    # No shell has expanded a ~ in quotes.
    string match --quiet '~/*' -- $own; and set own (string replace '~' ~ -- $own)
    echo $own
    set -l shared $CUDASWITCH_STORES
    # What config.toml says is noted there.
    test -z "$shared" -a -r $own/requests/.stores; and read shared <$own/requests/.stores
    string split --no-empty : -- $shared
end

# The toolkits, each said in words.
function __cudaswitch_complete_toolkits
    for store in (__cudaswitch_complete_stores)
        # All at once: a call for each takes longer than all else.
        set -l files $store/toolkits/*/cudaswitch.json
        set -q files[1]
        and string replace --regex '.*/([^/]*)/[^/]*$' '$1\tCUDA $1' -- $files \
            | string replace --regex '(\t.*)\+cudnn' '$1 with cuDNN ' \
            | string replace --regex '(\t.*)@' '$1 for '
    end
end

function __cudaswitch_complete_aliases
    for store in (__cudaswitch_complete_stores)
        for file in $store/aliases/*
            # A pipe would block.
            test -f $file -a -r $file; or continue
            read --local meant < $file
            printf '%s\t%s\n' (string split --right --max 1 --fields 2 / -- $file) "$meant"
        end
    end
end

function __cudaswitch_complete_requests
    # A name with @ is for another platform, and cannot be used here.
    __cudaswitch_complete_toolkits | string match --invert --regex '^[^\t]*@'
    __cudaswitch_complete_aliases
    printf '%s\t%s\n' latest 'the newest installed' \
        auto 'what the active environment needs' system none
end

function __cudaswitch_complete_usable
    __cudaswitch_complete_requests
    printf '%s\t%s\n' - 'the one before'
end

# What an alias may stand for; one that is to go stands by itself.
function __cudaswitch_complete_meanings
    contains -- --delete (commandline -opc)
    or __cudaswitch_complete_requests
end

function __cudaswitch_complete_cudnns
    __cudaswitch_complete_toolkits | string match --regex --groups-only '^[^\t]*\+cudnn([^@\t]*)'
    printf '%s\t%s\n' none 'a toolkit without cuDNN'
end

function __cudaswitch_complete_searchable
    printf '%s\n' cuda cudnn
    __cudaswitch_complete_offered
end

# The version behind `search cuda`; which ones of cuDNN there are is not known here.
function __cudaswitch_complete_sought
    contains -- cuda (commandline -opc)
    and __cudaswitch_complete_offered
end

function __cudaswitch_complete_values
    set -l words (commandline -opc)
    contains -- libraries $words
    and printf '%s\n' auto always never
    contains -- offline $words
    and printf '%s\n' true false
end

# What names a toolkit that the sources have.
function __cudaswitch_complete_offered
    printf '%s\t%s\n' latest 'the newest available'
    __cudaswitch_complete_releases
    __cudaswitch_complete_aliases
end

function __cudaswitch_complete_releases
    @available@
end

function __cudaswitch_complete_installable
    printf '%s\t%s\n' auto 'what the active environment needs'
    __cudaswitch_complete_offered
    __cudaswitch_complete_files
end

function __cudaswitch_complete_consumers
    printf '%s\n' cupy jax onnxruntime paddle tensorflow torch
    __cudaswitch_complete_files
end

function __cudaswitch_complete_tools
    if string match --quiet '*/*' -- (commandline -ct)
        __cudaswitch_complete_files
        return
    end
    set -l home $CUDA_HOME
    if test -z "$home"
        set -l latest (__cudaswitch_complete_stores)[1]/requests/latest
        test -f $latest; and read --delimiter : home options < $latest
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
    if test -z "$MAMBA_ROOT_PREFIX"
        set -l data ~/.local/share
        test -n "$XDG_DATA_HOME"; and set data $XDG_DATA_HOME
        for prefix in ~/micromamba $data/mamba
            test -d $prefix/envs; and set -a roots $prefix; and break
        end
    end
    set -l folders ~/.conda/envs (string split --no-empty : -- $CONDA_ENVS_DIRS $CONDA_ENVS_PATH) \
        $WORKON_HOME $roots/envs
    set -l found $roots
    if test -f ~/.conda/environments.txt
        while read --local line
            set -a found $line
        end < ~/.conda/environments.txt
    end
    set -a found $folders/*/
    set -l shown
    for prefix in (string trim --right --chars / -- $found)
        test -d $prefix/conda-meta -o -f $prefix/pyvenv.cfg; or continue
        if test -d $prefix/condabin -o -d $prefix/envs
            set -a shown base\t$prefix
        else
            set -a shown $prefix
        end
    end
    set -q shown[1]
    and string replace --regex '^(?!base\t)(?:.*/)?([^/]*)$' '$1\t$0' -- $shown \
        | string replace --regex '\t'(string escape --style=regex ~)/ '\t~/'
end

# What fish completes where it knows nothing of a command: files and folders.
function __cudaswitch_complete_files
    complete -C "cudaswitch-files "(string replace --regex '^--[^=]*=' '' -- (commandline -ct))
end

function __cudaswitch_complete_folders
    __cudaswitch_complete_files | string match '*/'
end

# The value of the option $argv[1] of the command $argv[2].
function __cudaswitch_complete_value
    switch $argv[2]:$argv[1]
        @values@
    end
end

# The options of the command $argv[1].
function __cudaswitch_complete_options
    switch $argv[1]
        case ''
            printf '%s\t%s\n' -h 'Show help' --help 'Show help' --version 'Show the version'
        @options@
    end
end

# The argument $argv[2] of the command $argv[1], counted from 1.
function __cudaswitch_complete_argument
    switch $argv[1]:$argv[2]
        case :1
            printf '%s\t%s\n' \
                @commands@
        @arguments@
    end
end

function __cudaswitch_complete
    set -l rest (commandline -opc)[2..]
    set -l token (commandline -ct)
    set -l command ''
    set -l count 1
    set -l option
    while set -q rest[1]
        set -l word $rest[1]
        set -e rest[1]
        if set -q option[1]
            set option
            continue
        end
        switch $word
            case --
                if test "$command" = exec
                    complete --do-complete=(string join ' ' -- (string escape -- $rest) $token)
                    return
                end
            @valued@
                set option $word
            case '-*'
            case '*'
                switch $command
                    case ''
                        set command $word
                    @groups@
                        set command "$command $word"
                    case '*'
                        set count (math $count + 1)
                end
        end
    end
    if set -q option[1]
        __cudaswitch_complete_value $option $command
    else if string match --quiet -- '--*=*' $token
        set option (string split --max 1 = -- $token)[1]
        set -l values (__cudaswitch_complete_value $option $command)
        string join \n -- $option=$values
    else if string match --quiet -- '-*' $token
        __cudaswitch_complete_options $command
    else
        __cudaswitch_complete_argument $command $count
    end
end

# One for all of them: fish would ask for the condition of each.
complete -c cudaswitch -f -a '(__cudaswitch_complete)'
