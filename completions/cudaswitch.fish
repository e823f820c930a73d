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
            case --cudnn --from --mirror --channel --components --platform --sha256 --as -o --output --lock --from-dir -d --directory --libraries --gpus -n --name -p --prefix --dir --driver --cc --gcc --shell --format
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
    printf '%s\tCUDA to install\n' 13.4.2 13.4.1 13.3.1 13.3.0 13.2.2 13.2.1 13.2.0 13.1.2 13.1.1 13.1.0 13.0.3 13.0.2 13.0.1 13.0.0 12.9.2 12.9.1 12.9.0 12.8.2 12.8.1 12.8.0 12.6.3 12.6.2 12.6.1 12.6.0 12.5.1 12.5.0 12.4.1 12.4.0 12.3.2 12.3.1 12.3.0 12.2.2 12.2.1 12.2.0 12.1.1 12.1.0 12.0.1 12.0.0 11.8.0 11.7.1 11.7.0 11.6.2 11.6.1 11.6.0 11.5.2 11.5.1 11.5.0 11.4.4 11.4.3 11.4.2 11.4.1 11.4.0 11.3.1 11.3.0 11.2.2 11.2.1 11.2.0 11.1.1 11.1.0 11.0.3 11.0.2 10.2.89 10.1.243 10.0.130 9.2.88 9.1.85 9.0.176 8.0.61 8.0.44
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
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a install -d 'Install toolkits and cuDNN by version, file or URL'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a adopt -d 'Register a toolkit that is already on this machine'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a search -d 'Tell which toolkits and cuDNN the sources have'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a list -d 'List what is installed, active and pinned'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a remove -d 'Remove toolkits that nothing uses'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a gc -d 'Remove packages, downloads and leftovers that nobody needs'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a verify -d 'Compare every file with its recorded hash, and repair'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a lock -d 'Write down the exact packages of a project, with hashes'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a sync -d 'Install exactly the packages of a lock file'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a download -d 'Bring packages into a folder, for machines without network'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a mirror -d 'Lay packages out as a tree that any web server serves'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a alias -d 'Give a name to a version'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a use -d 'Switch this shell, now'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a off -d 'Undo use in this shell'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a pin -d 'Tie a version to an environment, a directory or yourself'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a unpin -d 'Take a pin away'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a current -d 'Tell what is active and who asked for it'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a which -d 'Tell which file wins for a tool or library'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a doctor -d 'Tell what is wrong here, and what mends it'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a check -d 'Prove that a toolkit loads, compiles and runs'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a resolve -d 'Tell which CUDA an environment needs, and why'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a compat -d 'Tell what goes with what: CUDA, drivers, GPUs, frameworks'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a exec -d 'Run one command with a toolkit'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a env -d 'Print the change for a shell or in another format'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a init -d 'Load cudaswitch into your shell'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a shims -d 'Keep commands that find the right toolkit without a shell\'s help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a completion -d 'Print the completion script of a shell'
complete -c cudaswitch -n '__cudaswitch_complete_at 1' -a config -d 'Settings: list, get, set, unset'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -F -a '(__cudaswitch_complete_installable)'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to install with it, such as 7.6'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l from -x -a 'pypi nvidia conda runfile' -d 'Where from; else by version: pypi from 13 on, nvidia from 11.4.2 on, conda before'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l mirror -x -d 'With --from: a mirror of that source'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l channel -x -a 'conda-forge nvidia defaults' -d 'A conda channel: a name, URL or path'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l components -x -a 'minimal build full' -d 'What of a toolkit to get: minimal, build, full or a list such as nvcc,cudart'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l platform -x -a 'linux-64 linux-aarch64 win-64' -d 'Keep it for another platform'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l sha256 -x -d 'The hash that the one file must have'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l offline -d 'Use only what is on this machine'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -l force -d 'Replace what is installed under the same name'
complete -c cudaswitch -n '__cudaswitch_complete_at any install' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 adopt' -a '(__fish_complete_directories)'
complete -c cudaswitch -n '__cudaswitch_complete_at any adopt' -l as -x -d 'Its version, where it cannot be detected'
complete -c cudaswitch -n '__cudaswitch_complete_at any adopt' -l scan -d 'Find the toolkits on this machine'
complete -c cudaswitch -n '__cudaswitch_complete_at any adopt' -l yes -d 'With --scan: adopt all that is found'
complete -c cudaswitch -n '__cudaswitch_complete_at any adopt' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any adopt' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -a 'cuda cudnn'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -l from -x -a 'pypi nvidia conda runfile' -d 'Ask only this source'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -l channel -x -a 'conda-forge nvidia defaults' -d 'A conda channel: a name, URL or path'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -l mirror -x -d 'With --from: a mirror of that source'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -l platform -x -a 'linux-64 linux-aarch64 win-64' -d 'For another platform'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -l offline -d 'Use only what is on this machine'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any search' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any list' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any list' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any remove' -a '(__cudaswitch_complete_toolkits)'
complete -c cudaswitch -n '__cudaswitch_complete_at any remove' -l force -d 'Even where something pins or uses it'
complete -c cudaswitch -n '__cudaswitch_complete_at any remove' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any gc' -l dry-run -d 'Only tell what would go'
complete -c cudaswitch -n '__cudaswitch_complete_at any gc' -l downloads -d 'Also the files that were downloaded'
complete -c cudaswitch -n '__cudaswitch_complete_at any gc' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any verify' -a '(__cudaswitch_complete_toolkits)'
complete -c cudaswitch -n '__cudaswitch_complete_at any verify' -l repair -d 'Put right what is wrong, from where it came'
complete -c cudaswitch -n '__cudaswitch_complete_at any verify' -l offline -d 'Repair with what is on this machine'
complete -c cudaswitch -n '__cudaswitch_complete_at any verify' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any verify' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -F -a '(__cudaswitch_complete_installable)'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -l from -x -a 'pypi nvidia conda runfile' -d 'Where from; else by version'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -l mirror -x -d 'With --from: a mirror of that source'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -l channel -x -a 'conda-forge nvidia defaults' -d 'A conda channel: a name, URL or path'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -l components -x -a 'minimal build full' -d 'What of a toolkit: minimal, build, full or a list such as nvcc,cudart'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -l platform -x -a 'linux-64 linux-aarch64 win-64' -d 'For which platform; several may be named'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -s o -l output -x -d 'Where to; else cuda.lock beside the .cuda-version, or here'
complete -c cudaswitch -n '__cudaswitch_complete_at any lock' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any sync' -l lock -x -d 'What a lock file names, instead of WHAT: by default ./cuda.lock'
complete -c cudaswitch -n '__cudaswitch_complete_at any sync' -l from-dir -x -a '(__fish_complete_directories)' -d 'Look for the packages below DIR first, such as one made by download'
complete -c cudaswitch -n '__cudaswitch_complete_at any sync' -l offline -d 'Use only what is on this machine'
complete -c cudaswitch -n '__cudaswitch_complete_at any sync' -l force -d 'Replace toolkits of the same name'
complete -c cudaswitch -n '__cudaswitch_complete_at any sync' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -F -a '(__cudaswitch_complete_installable)'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l from -x -a 'pypi nvidia conda runfile' -d 'Where from; else by version'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l mirror -x -d 'With --from: a mirror of that source'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l channel -x -a 'conda-forge nvidia defaults' -d 'A conda channel: a name, URL or path'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l components -x -a 'minimal build full' -d 'What of a toolkit: minimal, build, full or a list such as nvcc,cudart'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l platform -x -a 'linux-64 linux-aarch64 win-64' -d 'For which platform; several may be named'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -l lock -x -d 'What a lock file names, instead of WHAT: by default ./cuda.lock'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -s d -l directory -x -a '(__fish_complete_directories)' -d 'The folder to fill'
complete -c cudaswitch -n '__cudaswitch_complete_at any download' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 mirror' -a '(__fish_complete_directories)'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -F -a '(__cudaswitch_complete_installable)'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l from -x -a 'pypi nvidia conda runfile' -d 'Where from; else by version'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l mirror -x -d 'With --from: a mirror of that source'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l channel -x -a 'conda-forge nvidia defaults' -d 'A conda channel: a name, URL or path'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l components -x -a 'minimal build full' -d 'What of a toolkit: minimal, build, full or a list such as nvcc,cudart'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l platform -x -a 'linux-64 linux-aarch64 win-64' -d 'For which platform; several may be named'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -l lock -x -d 'What a lock file names, instead of WHAT: by default ./cuda.lock'
complete -c cudaswitch -n '__cudaswitch_complete_at any mirror' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 alias' -a '(__cudaswitch_complete_aliases)'
complete -c cudaswitch -n '__cudaswitch_complete_at 2 alias' -a '(__cudaswitch_complete_requests)'
complete -c cudaswitch -n '__cudaswitch_complete_at any alias' -l delete -d 'Take the name away'
complete -c cudaswitch -n '__cudaswitch_complete_at any alias' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 use' -a '(__cudaswitch_complete_requests)'
complete -c cudaswitch -n '__cudaswitch_complete_at any use' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any use' -l libraries -x -a 'auto always never' -d 'Whether to set LD_LIBRARY_PATH'
complete -c cudaswitch -n '__cudaswitch_complete_at any use' -l gpus -x -d 'GPUs to be seen, such as 0,2, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any use' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any off' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 pin' -a '(__cudaswitch_complete_requests)'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -l libraries -x -a 'auto always never' -d 'Whether to set LD_LIBRARY_PATH'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -l gpus -x -d 'GPUs to be seen, such as 0,2, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -s n -l name -x -a '(__cudaswitch_complete_environments)' -d 'Environment by name'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -s p -l prefix -x -a '(__fish_complete_directories)' -d 'Environment by path'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -l dir -x -a '(__fish_complete_directories)' -d 'A directory tree (its .cuda-version)'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -l global -d 'For yourself, everywhere'
complete -c cudaswitch -n '__cudaswitch_complete_at any pin' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any unpin' -s n -l name -x -a '(__cudaswitch_complete_environments)' -d 'Environment by name'
complete -c cudaswitch -n '__cudaswitch_complete_at any unpin' -s p -l prefix -x -a '(__fish_complete_directories)' -d 'Environment by path'
complete -c cudaswitch -n '__cudaswitch_complete_at any unpin' -l dir -x -a '(__fish_complete_directories)' -d 'A directory tree (its .cuda-version)'
complete -c cudaswitch -n '__cudaswitch_complete_at any unpin' -l global -d 'For yourself, everywhere'
complete -c cudaswitch -n '__cudaswitch_complete_at any unpin' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any current' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any current' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 which' -a '(__cudaswitch_complete_tools)'
complete -c cudaswitch -n '__cudaswitch_complete_at any which' -l from -x -a 'cupy jax onnxruntime paddle tensorflow torch' -d 'What asks for the library: a package, a library, a program or a path'
complete -c cudaswitch -n '__cudaswitch_complete_at any which' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any which' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any doctor' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any doctor' -l fix -d 'Mend what is safe to mend, after showing it'
complete -c cudaswitch -n '__cudaswitch_complete_at any doctor' -l yes -d 'Do not ask'
complete -c cudaswitch -n '__cudaswitch_complete_at any doctor' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 check' -a '(__cudaswitch_complete_requests)'
complete -c cudaswitch -n '__cudaswitch_complete_at any check' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any check' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any check' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -s n -l name -x -a '(__cudaswitch_complete_environments)' -d 'Environment by name'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -s p -l prefix -x -a '(__fish_complete_directories)' -d 'Environment by path'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -l driver -x -d 'Ask for a machine with this driver'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -l cc -x -d 'Ask for a GPU of this compute capability'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -l gcc -x -d 'Ask for this host compiler'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -l platform -x -a 'linux-64 linux-aarch64 win-64' -d 'Ask for another platform'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any resolve' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 compat' -a 'bitsandbytes cntk cupy jax mxnet numba onnxruntime paddle tensorflow torch vllm xformers'
complete -c cudaswitch -n '__cudaswitch_complete_at any compat' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any compat' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 exec' -a '(__cudaswitch_complete_requests)'
complete -c cudaswitch -n '__cudaswitch_complete_at any exec' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any exec' -l libraries -x -a 'auto always never' -d 'Whether to set LD_LIBRARY_PATH'
complete -c cudaswitch -n '__cudaswitch_complete_at any exec' -l gpus -x -d 'GPUs to be seen, such as 0,2, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any exec' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 env' -a '(__cudaswitch_complete_requests)'
complete -c cudaswitch -n '__cudaswitch_complete_at any env' -l cudnn -x -a '(__cudaswitch_complete_cudnns)' -d 'cuDNN to go with it, such as 7.6, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any env' -l libraries -x -a 'auto always never' -d 'Whether to set LD_LIBRARY_PATH'
complete -c cudaswitch -n '__cudaswitch_complete_at any env' -l gpus -x -d 'GPUs to be seen, such as 0,2, or none'
complete -c cudaswitch -n '__cudaswitch_complete_at any env' -l shell -x -a 'sh bash zsh xonsh pwsh fish tcsh nu' -d 'Shell to print for; without one, that of $SHELL'
complete -c cudaswitch -n '__cudaswitch_complete_at any env' -l format -x -a 'json dotenv github modulefile' -d 'Another format instead'
complete -c cudaswitch -n '__cudaswitch_complete_at any env' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 init' -a 'bash zsh xonsh pwsh fish tcsh nu'
complete -c cudaswitch -n '__cudaswitch_complete_at any init' -l install -d 'Add a line to your startup file instead'
complete -c cudaswitch -n '__cudaswitch_complete_at any init' -l remove -d 'Take that line out again'
complete -c cudaswitch -n '__cudaswitch_complete_at any init' -l yes -d 'Do not ask'
complete -c cudaswitch -n '__cudaswitch_complete_at any init' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 shims' -a install -d 'Make the shims, and keep them up to date from now on'
complete -c cudaswitch -n '__cudaswitch_complete_at any shims install' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 shims' -a path -d 'Print the folder of the shims'
complete -c cudaswitch -n '__cudaswitch_complete_at any shims path' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 shims' -a refresh -d 'Make the shims anew, after cudaswitch itself was moved or updated'
complete -c cudaswitch -n '__cudaswitch_complete_at any shims refresh' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 completion' -a 'bash zsh fish'
complete -c cudaswitch -n '__cudaswitch_complete_at any completion' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config' -a get -d 'Print one setting\'s value, a list in several lines'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config get' -a 'libraries stores cache offline jobs timeout wait channels mirrors.conda mirrors.nvidia mirrors.pypi'
complete -c cudaswitch -n '__cudaswitch_complete_at any config get' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config' -a list -d 'Show every setting, its value and who set it'
complete -c cudaswitch -n '__cudaswitch_complete_at any config list' -l json -d 'Print JSON with stable keys'
complete -c cudaswitch -n '__cudaswitch_complete_at any config list' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config' -a set -d 'Write a setting into config.toml; comments and the rest of the file stay'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config set' -a 'libraries stores cache offline jobs timeout wait channels mirrors.conda mirrors.nvidia mirrors.pypi'
complete -c cudaswitch -n '__cudaswitch_complete_at any config set' -s h -l help -d 'Show help'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config' -a unset -d 'Take a setting out of config.toml'
complete -c cudaswitch -n '__cudaswitch_complete_at 1 config unset' -a 'libraries stores cache offline jobs timeout wait channels mirrors.conda mirrors.nvidia mirrors.pypi'
complete -c cudaswitch -n '__cudaswitch_complete_at any config unset' -s h -l help -d 'Show help'
