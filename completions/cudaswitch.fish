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
    printf '%s\tCUDA to install\n' 13.4.2 13.4.1 13.3.1 13.3.0 13.2.2 13.2.1 13.2.0 13.1.2 13.1.1 13.1.0 13.0.3 13.0.2 13.0.1 13.0.0 12.9.2 12.9.1 12.9.0 12.8.2 12.8.1 12.8.0 12.6.3 12.6.2 12.6.1 12.6.0 12.5.1 12.5.0 12.4.1 12.4.0 12.3.2 12.3.1 12.3.0 12.2.2 12.2.1 12.2.0 12.1.1 12.1.0 12.0.1 12.0.0 11.8.0 11.7.1 11.7.0 11.6.2 11.6.1 11.6.0 11.5.2 11.5.1 11.5.0 11.4.4 11.4.3 11.4.2 11.4.1 11.4.0 11.3.1 11.3.0 11.2.2 11.2.1 11.2.0 11.1.1 11.1.0 11.0.3 11.0.2 10.2.89 10.1.243 10.0.130 9.2.88 9.1.85 9.0.176 8.0.61 8.0.44
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
        case '*:--cudnn'
            __cudaswitch_complete_cudnns
        case 'install:--from' 'search:--from' 'lock:--from' 'download:--from' 'mirror:--from'
            printf '%s\n' pypi nvidia conda runfile
        case 'which:--from'
            __cudaswitch_complete_consumers
        case '*:--mirror' '*:--sha256' '*:--as' '*:--gpus' '*:--driver' '*:--cc' '*:--gcc'
        case '*:--channel'
            printf '%s\n' conda-forge nvidia defaults
        case '*:--components'
            printf '%s\n' minimal build full
        case '*:--platform'
            printf '%s\n' linux-64 linux-aarch64 win-64
        case '*:-o' '*:--output' '*:--lock'
            __cudaswitch_complete_files
        case '*:--from-dir' '*:-d' '*:--directory' '*:-p' '*:--prefix' '*:--dir'
            __cudaswitch_complete_folders
        case '*:--libraries'
            printf '%s\n' auto always never
        case '*:-n' '*:--name'
            __cudaswitch_complete_environments
        case '*:--shell'
            printf '%s\n' sh bash zsh xonsh pwsh fish tcsh nu cmd elvish
        case '*:--format'
            printf '%s\n' json dotenv github modulefile
    end
end

# The options of the command $argv[1].
function __cudaswitch_complete_options
    switch $argv[1]
        case ''
            printf '%s\t%s\n' -h 'Show help' --help 'Show help' --version 'Show the version'
        case 'install'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to install with it, such as 7.6, or none' \
                --from 'Source to use' \
                --mirror 'With --from: URL of a mirror of that source' \
                --channel 'Conda channel: a name, URL or path' \
                --components 'Parts of the toolkit to get: minimal, build, full or a list such as nvcc,cudart' \
                --platform 'Platform to use instead of this machine\'s' \
                --sha256 'Expected hash; requires exactly one file or URL' \
                --offline 'Use only what is on this machine; download nothing' \
                --force 'Replace what is already installed under that name' \
                -h 'Show help' \
                --help 'Show help'
        case 'adopt'
            printf '%s\t%s\n' \
                --as 'Version to record, instead of the one detected' \
                --scan 'Find the toolkits on this machine' \
                --yes 'With --scan: adopt every toolkit found' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'search'
            printf '%s\t%s\n' \
                --from 'Search only this source' \
                --channel 'Conda channel: a name, URL or path' \
                --mirror 'With --from: URL of a mirror of that source' \
                --platform 'Platform to use instead of this machine\'s' \
                --offline 'Use only what is on this machine; download nothing' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'list'
            printf '%s\t%s\n' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'remove'
            printf '%s\t%s\n' \
                --force 'Remove it even if it is pinned or in use' \
                -h 'Show help' \
                --help 'Show help'
        case 'gc'
            printf '%s\t%s\n' \
                --dry-run 'Only show what would be removed' \
                --downloads 'Also remove downloaded files' \
                -h 'Show help' \
                --help 'Show help'
        case 'verify'
            printf '%s\t%s\n' \
                --repair 'Restore damaged files from their source' \
                --offline 'Use only what is on this machine; download nothing' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'lock'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --from 'Source to use' \
                --mirror 'With --from: URL of a mirror of that source' \
                --channel 'Conda channel: a name, URL or path' \
                --components 'Parts of the toolkit to get: minimal, build, full or a list such as nvcc,cudart' \
                --platform 'Platform to use instead of this machine\'s; can be repeated' \
                --offline 'Use only what is on this machine; download nothing' \
                -o 'File to write, - for stdout' \
                --output 'File to write, - for stdout' \
                -h 'Show help' \
                --help 'Show help'
        case 'sync'
            printf '%s\t%s\n' \
                --lock 'Lock file to read' \
                --from-dir 'Look for packages in DIR first, such as one filled by download' \
                --offline 'Use only what is on this machine; download nothing' \
                --force 'Replace toolkits that have the same name' \
                -h 'Show help' \
                --help 'Show help'
        case 'download'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --from 'Source to use' \
                --mirror 'With --from: URL of a mirror of that source' \
                --channel 'Conda channel: a name, URL or path' \
                --components 'Parts of the toolkit to get: minimal, build, full or a list such as nvcc,cudart' \
                --platform 'Platform to use instead of this machine\'s; can be repeated' \
                --offline 'Use only what is on this machine; download nothing' \
                --lock 'Lock file to read' \
                -d 'The folder to fill' \
                --directory 'The folder to fill' \
                -h 'Show help' \
                --help 'Show help'
        case 'mirror'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --from 'Source to use' \
                --mirror 'With --from: URL of a mirror of that source' \
                --channel 'Conda channel: a name, URL or path' \
                --components 'Parts of the toolkit to get: minimal, build, full or a list such as nvcc,cudart' \
                --platform 'Platform to use instead of this machine\'s; can be repeated' \
                --offline 'Use only what is on this machine; download nothing' \
                --lock 'Lock file to read' \
                -h 'Show help' \
                --help 'Show help'
        case 'alias'
            printf '%s\t%s\n' \
                --delete 'Delete the alias' \
                -h 'Show help' \
                --help 'Show help'
        case 'use'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --libraries 'Whether to set LD_LIBRARY_PATH' \
                --gpus 'GPUs to make visible, such as 0,2, or none' \
                -h 'Show help' \
                --help 'Show help'
        case 'off'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'pin'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --libraries 'Whether to set LD_LIBRARY_PATH' \
                --gpus 'GPUs to make visible, such as 0,2, or none' \
                -n 'Environment by name' \
                --name 'Environment by name' \
                -p 'Environment by path' \
                --prefix 'Environment by path' \
                --dir 'A directory tree (its .cuda-version)' \
                --global 'For your user account, everywhere' \
                -h 'Show help' \
                --help 'Show help'
        case 'unpin'
            printf '%s\t%s\n' \
                -n 'Environment by name' \
                --name 'Environment by name' \
                -p 'Environment by path' \
                --prefix 'Environment by path' \
                --dir 'A directory tree (its .cuda-version)' \
                --global 'For your user account, everywhere' \
                -h 'Show help' \
                --help 'Show help'
        case 'current'
            printf '%s\t%s\n' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'which'
            printf '%s\t%s\n' \
                --from 'What loads the library: a package, a library, a program or a path' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'doctor'
            printf '%s\t%s\n' \
                --json 'Print JSON with stable keys' \
                --fix 'Fix what is safe to fix, after showing the change' \
                --yes 'With --fix: do not ask for confirmation' \
                -h 'Show help' \
                --help 'Show help'
        case 'check'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'resolve'
            printf '%s\t%s\n' \
                -n 'Environment by name' \
                --name 'Environment by name' \
                -p 'Environment by path' \
                --prefix 'Environment by path' \
                --driver 'Assume this driver version' \
                --cc 'Assume a GPU of this compute capability' \
                --gcc 'Assume this gcc version' \
                --platform 'Platform to use instead of this machine\'s' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'compat'
            printf '%s\t%s\n' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'exec'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --libraries 'Whether to set LD_LIBRARY_PATH' \
                --gpus 'GPUs to make visible, such as 0,2, or none' \
                -h 'Show help' \
                --help 'Show help'
        case 'env'
            printf '%s\t%s\n' \
                --cudnn 'cuDNN version to go with it, such as 7.6, or none' \
                --libraries 'Whether to set LD_LIBRARY_PATH' \
                --gpus 'GPUs to make visible, such as 0,2, or none' \
                --shell 'Shell to print for' \
                --format 'Format to print instead' \
                -h 'Show help' \
                --help 'Show help'
        case 'init'
            printf '%s\t%s\n' \
                --install 'Add a line to the shell\'s startup file, after showing it' \
                --remove 'Remove that line again' \
                --yes 'With --install or --remove: do not ask for confirmation' \
                -h 'Show help' \
                --help 'Show help'
        case 'shims'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'shims install'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'shims path'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'shims refresh'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'completion'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'config'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'config get'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'config list'
            printf '%s\t%s\n' \
                --json 'Print JSON with stable keys' \
                -h 'Show help' \
                --help 'Show help'
        case 'config set'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
        case 'config unset'
            printf '%s\t%s\n' \
                -h 'Show help' \
                --help 'Show help'
    end
end

# The argument $argv[2] of the command $argv[1], counted from 1.
function __cudaswitch_complete_argument
    switch $argv[1]:$argv[2]
        case :1
            printf '%s\t%s\n' \
                    install 'Install toolkits and cuDNN by version, file or URL' \
                    adopt 'Register a toolkit that is already on this machine' \
                    search 'Show which toolkits and cuDNN versions are available' \
                    list 'List what is installed, active and pinned' \
                    remove 'Remove toolkits that nothing uses' \
                    gc 'Remove packages and leftovers that are no longer needed' \
                    verify 'Check every file against its recorded hash, and repair' \
                    lock 'Record a project\'s exact packages, with their hashes' \
                    sync 'Install exactly the packages in a lock file' \
                    download 'Download packages into a folder, for machines without a network' \
                    mirror 'Lay packages out as a tree that any web server can serve' \
                    alias 'Give a name to a version' \
                    use 'Switch this shell to a toolkit' \
                    off 'Undo use in this shell' \
                    pin 'Pin a version for an environment, a directory or yourself' \
                    unpin 'Remove a pin' \
                    current 'Show what is active and what requested it' \
                    which 'Show which file wins for a tool or library' \
                    doctor 'Show what is wrong here, and how to fix it' \
                    check 'Check that a toolkit loads, compiles and runs' \
                    resolve 'Show which CUDA an environment needs, and why' \
                    compat 'Show what works with what: CUDA, drivers, GPUs, frameworks' \
                    exec 'Run a command with a toolkit' \
                    env 'Print the environment changes for a shell or in another format' \
                    init 'Load cudaswitch into your shell' \
                    shims 'Manage shims, which find the right toolkit without a shell hook' \
                    completion 'Print a shell\'s completion script' \
                    config 'List, get, set and unset settings'
        case 'install:*'
            __cudaswitch_complete_installable
        case 'adopt:1'
            __cudaswitch_complete_folders
        case 'search:1'
            __cudaswitch_complete_searchable
        case 'search:2'
            __cudaswitch_complete_sought
        case 'remove:*'
            __cudaswitch_complete_toolkits
        case 'verify:*'
            __cudaswitch_complete_toolkits
        case 'lock:*'
            __cudaswitch_complete_installable
        case 'download:*'
            __cudaswitch_complete_installable
        case 'mirror:1'
            __cudaswitch_complete_folders
        case 'mirror:*'
            __cudaswitch_complete_installable
        case 'alias:1'
            __cudaswitch_complete_aliases
        case 'alias:2'
            __cudaswitch_complete_meanings
        case 'use:1'
            __cudaswitch_complete_usable
        case 'pin:1'
            __cudaswitch_complete_requests
        case 'which:1'
            __cudaswitch_complete_tools
        case 'check:1'
            __cudaswitch_complete_requests
        case 'compat:1'
            printf '%s\n' bitsandbytes cntk ctranslate2 cupy jax mxnet numba numba-cuda onnxruntime paddle tensorflow torch torchaudio torchvision transformer-engine vllm xformers
        case 'compat:2'
        case 'exec:1'
            __cudaswitch_complete_requests
        case 'env:1'
            __cudaswitch_complete_requests
        case 'init:1'
            printf '%s\n' bash zsh xonsh pwsh fish tcsh nu
        case shims:1
            printf '%s\t%s\n' \
                install 'Create the shims, and keep them up to date from now on' \
                path 'Print the folder of the shims' \
                refresh 'Recreate the shims, after cudaswitch was moved or updated'
        case 'completion:1'
            printf '%s\n' bash zsh fish
        case config:1
            printf '%s\t%s\n' \
                get 'Print the value of a setting; a list prints one item per line' \
                list 'Show every setting, its value and where it was set' \
                set 'Write a setting to config.toml, and leave the rest of the file as it is' \
                unset 'Remove a setting from config.toml'
        case 'config get:1'
            printf '%s\n' libraries stores cache offline jobs timeout wait channels mirrors.conda mirrors.nvidia mirrors.pypi
        case 'config set:1'
            printf '%s\n' libraries stores cache offline jobs timeout wait channels mirrors.conda mirrors.nvidia mirrors.pypi
        case 'config set:2'
            __cudaswitch_complete_values
        case 'config unset:1'
            printf '%s\n' libraries stores cache offline jobs timeout wait channels mirrors.conda mirrors.nvidia mirrors.pypi
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
            case --cudnn --from --mirror --channel --components --platform --sha256 --as -o --output --lock --from-dir -d --directory --libraries --gpus -n --name -p --prefix --dir --driver --cc --gcc --shell --format
                set option $word
            case '-*'
            case '*'
                switch $command
                    case ''
                        set command $word
                    case shims config
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
