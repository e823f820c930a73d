# shellcheck shell=bash
# bash completion for cudaswitch, made by completions/generate.py. It starts no process.

# Offer those of the words that go on from $cur, behind $named and without the $kept part of it.
_cudaswitch_add() {
    local word quoted
    for word; do
        word=$named$word
        # What is typed may be quoted already.
        if [[ $word == "$cur"* || $quote$cur == *[\\\'\"]* ]]; then
            _cudaswitch_quoted "$word"
            if [[ -z $quote && $word == "$cur"* || $quoted == "$cur"* ]]; then
                COMPREPLY+=("${quoted#"$kept"}")
            fi
        fi
    done
}

# quoted = $1 as it stands on the line; behind an opening quote readline adds the other one.
_cudaswitch_quoted() {
    local rest=$1
    if [[ -z $quote ]]; then
        printf -v quoted %q "$rest"
        return
    fi
    quoted=''
    while [[ -n $rest ]]; do
        case $quote${rest:0:1} in
            "''") quoted+=\'\\\'\' ;;
            \"[\"\\\$\`]) quoted+=\\${rest:0:1} ;;
            *) quoted+=${rest:0:1} ;;
        esac
        rest=${rest:1}
    done
}

# stores = the folders of all stores, the user's own first.
_cudaswitch_find_stores() {
    local rest=${CUDASWITCH_STORES-}
    stores=("${CUDASWITCH_HOME:-${_cudaswitch_root:-${XDG_DATA_HOME:-${HOME-}/.local/share}/cudaswitch}}")
    # No shell has expanded a ~ in quotes.
    if [[ ${stores[0]} == \~/* ]]; then stores=("${HOME-}${stores[0]#\~}"); fi
    # What config.toml says is noted there.
    if [[ -z $rest && -r ${stores[0]}/requests/.stores ]]; then
        IFS= read -r rest < "${stores[0]}/requests/.stores"
    fi
    rest+=:
    while [[ -n $rest ]]; do
        if [[ -n ${rest%%:*} ]]; then stores+=("${rest%%:*}"); fi
        rest=${rest#*:}
    done
}

# names = the toolkits' names.
_cudaswitch_find_toolkits() {
    local stores store path
    names=()
    _cudaswitch_find_stores
    for store in "${stores[@]}"; do
        for path in "$store"/toolkits/*/cudaswitch.json; do
            path=${path%/*}
            if [[ -f $path/cudaswitch.json ]]; then names+=("${path##*/}"); fi
        done
    done
}

_cudaswitch_toolkits() {
    local names
    _cudaswitch_find_toolkits
    _cudaswitch_add "${names[@]}"
}

_cudaswitch_aliases() {
    local stores store path
    _cudaswitch_find_stores
    for store in "${stores[@]}"; do
        for path in "$store"/aliases/*; do
            if [[ -f $path ]]; then _cudaswitch_add "${path##*/}"; fi
        done
    done
}

_cudaswitch_requests() {
    local names name
    _cudaswitch_find_toolkits
    for name in "${names[@]}"; do
        # A name with @ is for another platform, and cannot be used here.
        if [[ $name != *@* ]]; then _cudaswitch_add "$name"; fi
    done
    _cudaswitch_aliases
    _cudaswitch_add latest auto system
}

_cudaswitch_usable() {
    _cudaswitch_requests
    _cudaswitch_add -
}

# What an alias may stand for; one that is to go stands by itself.
_cudaswitch_meanings() {
    if [[ " ${COMP_WORDS[*]} " != *' --delete '* ]]; then _cudaswitch_requests; fi
}

_cudaswitch_cudnns() {
    local names name seen=' '
    _cudaswitch_find_toolkits
    for name in "${names[@]}"; do
        name=${name%@*}
        if [[ $name == *+cudnn* && $seen != *" ${name#*+cudnn} "* ]]; then
            seen+="${name#*+cudnn} "
            _cudaswitch_add "${name#*+cudnn}"
        fi
    done
    _cudaswitch_add none
}

_cudaswitch_searchable() {
    _cudaswitch_add cuda cudnn
    _cudaswitch_offered
}

# The version behind `search cuda`; which ones of cuDNN there are is not known here.
_cudaswitch_sought() {
    if [[ " ${COMP_WORDS[*]} " == *' cuda '* ]]; then _cudaswitch_offered; fi
}

_cudaswitch_values() {
    case " ${COMP_WORDS[*]} " in
        *' libraries '*) _cudaswitch_add auto always never ;;
        *' offline '*) _cudaswitch_add true false ;;
    esac
}

# What names a toolkit that the sources have.
_cudaswitch_offered() {
    _cudaswitch_add latest
    _cudaswitch_releases
    _cudaswitch_aliases
}

_cudaswitch_releases() {
    # Newest first; bash before 4.4 sorts whatever it is given.
    compopt -o nosort 2> /dev/null || true
    @available@
}

_cudaswitch_installable() {
    _cudaswitch_add auto
    _cudaswitch_offered
    _cudaswitch_files_too
}

_cudaswitch_consumers() {
    _cudaswitch_add cupy jax onnxruntime paddle tensorflow torch
    _cudaswitch_files_too
}

# By itself readline offers files only where nothing else fits.
_cudaswitch_files_too() {
    if [[ ${#COMPREPLY[@]} -gt 0 ]]; then
        local path
        for path in "${cur#"$named"}"*; do
            if [[ -e $path ]]; then _cudaswitch_add "$path"; fi
        done
    else
        _cudaswitch_files
    fi
}

# Let readline offer what it offers by itself: `default` for files, or `dirnames`.
_cudaswitch_paths() {
    # bash 3 has no compopt.
    compopt -o "$1" 2> /dev/null || true
    if [[ $kept != "$named"* ]]; then _cudaswitch_named_paths "$2"; fi
}

# It would take the option before the path for a part of it.
_cudaswitch_named_paths() {
    local path
    while IFS= read -r path; do
        if [[ -d $path ]]; then path+=/; fi
        _cudaswitch_add "$path"
    done < <(compgen -A "$1" -- "${cur#"$named"}")
    compopt -o nospace 2> /dev/null || true
}

_cudaswitch_files() { _cudaswitch_paths default file; }

_cudaswitch_folders() { _cudaswitch_paths dirnames directory; }

_cudaswitch_tools() {
    if [[ $cur == */* ]]; then
        _cudaswitch_files
        return
    fi
    local stores path home=${CUDA_HOME-}
    if [[ -z $home ]]; then
        _cudaswitch_find_stores
        if [[ -f ${stores[0]}/requests/latest ]]; then
            IFS= read -r home < "${stores[0]}/requests/latest"
        fi
    fi
    if [[ -z $home ]]; then return; fi
    for path in "${home%%:*}"/bin/*; do
        if [[ -f $path && -x $path ]]; then _cudaswitch_add "${path##*/}"; fi
    done
}

_cudaswitch_environments() {
    local roots=() folders=("${HOME-}/.conda/envs") found=() path rest seen=:
    if [[ -n ${MAMBA_ROOT_PREFIX-} ]]; then roots+=("$MAMBA_ROOT_PREFIX"); fi
    if [[ ${CONDA_EXE-} == */*/* ]]; then roots+=("${CONDA_EXE%/*/*}"); fi
    if [[ -z ${MAMBA_ROOT_PREFIX-} ]]; then
        for path in "${HOME-}/micromamba" "${XDG_DATA_HOME:-${HOME-}/.local/share}/mamba"; do
            if [[ -d $path/envs ]]; then roots+=("$path"); break; fi
        done
    fi
    rest=${CONDA_ENVS_DIRS-}:${CONDA_ENVS_PATH-}:
    while [[ -n $rest ]]; do
        if [[ -n ${rest%%:*} ]]; then folders+=("${rest%%:*}"); fi
        rest=${rest#*:}
    done
    if [[ -n ${WORKON_HOME-} ]]; then folders+=("$WORKON_HOME"); fi
    if [[ -f ${HOME-}/.conda/environments.txt ]]; then
        while IFS= read -r path || [[ -n $path ]]; do
            found+=("$path")
        done < "${HOME-}/.conda/environments.txt"
    fi
    for path in ${roots[@]+"${roots[@]}"}; do
        found+=("$path")
        folders+=("$path/envs")
    done
    for path in "${folders[@]}"; do found+=("$path"/*); done
    for path in "${found[@]}"; do
        if [[ ! -d $path/conda-meta && ! -f $path/pyvenv.cfg ]]; then continue; fi
        if [[ -d $path/condabin || -d $path/envs ]]; then path=base; fi
        path=${path##*/}
        if [[ $seen != *:"$path":* ]]; then
            seen+=$path:
            _cudaswitch_add "$path"
        fi
    done
}

# The value of the option $1 of the command $2.
_cudaswitch_value() {
    case $2:$1 in
        @values@
    esac
}

# The options of the command $1.
_cudaswitch_options() {
    case $1 in
        '') _cudaswitch_add -h --help --version ;;
        @options@
    esac
}

# The argument $2 of the command $1, counted from 1.
_cudaswitch_argument() {
    case $1:$2 in
        :1)
            @commands@
            ;;
        @arguments@
    esac
}

# With words and patterns as bash has them by itself, whatever the user has set.
_cudaswitch() {
    local flags=$- shell=$BASHOPTS IFS=$' \t\n'
    set +f
    shopt -u failglob
    _cudaswitch_complete
    case $flags in *f*) set -f ;; esac
    case $shell in *failglob*) shopt -s failglob ;; esac
}

_cudaswitch_complete() {
    local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} last=$COMP_CWORD
    local kept='' named='' command='' option='' index word typed quote='' count=1
    COMPREPLY=()
    # What stands behind the cursor is no part of what is asked for.
    while [[ -n $cur && $line != *"$cur" ]]; do cur=${cur%?}; done
    typed=$cur
    # bash takes words apart at $COMP_WORDBREAKS, and puts what is offered behind the last of these.
    case $cur in
        [\'\"]*) quote=${cur:0:1} cur=${cur:1} ;;
        *) if [[ -n $cur && $COMP_WORDBREAKS == *"${cur:${#cur}-1}"* ]]; then kept=$cur; fi ;;
    esac
    while word=${COMP_WORDS[last - 1]} && ((last > 1)) \
        && [[ $word != [\<\>\|\&]* && $line == *"$word$typed" ]]; do
        typed=$word$typed cur=$word$cur kept=$word$kept last=$((last - 1))
    done
    # It replaces an @ with what stands behind it.
    kept=${kept%@}
    for ((index = 1; index < last; index++)); do
        word=${COMP_WORDS[index]}
        if [[ -n $option ]]; then
            if [[ $word != = ]]; then option=''; fi
            continue
        fi
        case $word in
            --)
                if [[ $command != exec ]]; then continue; fi
                if declare -F _command_offset > /dev/null; then
                    _command_offset $((index + 1))
                elif ((index + 1 == last)) && [[ $cur != */* ]]; then
                    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$cur")
                else
                    _cudaswitch_files
                fi
                return 0
                ;;
            '<' | '>' | '>>' | '>|' | '>&' | '&>' | '<>') option='>' ;;
            @valued@
            -*) ;;
            *)
                case $command in
                    '') command=$word ;;
                    @groups@
                    *) count=$((count + 1)) ;;
                esac
                ;;
        esac
    done
    if [[ $option == '>' ]]; then
        _cudaswitch_files
    elif [[ -n $option ]]; then
        _cudaswitch_value "$option" "$command"
    elif [[ $cur == --*=* ]]; then
        named=${cur%%=*}=
        _cudaswitch_value "${cur%%=*}" "$command"
    elif [[ $cur == -* ]]; then
        _cudaswitch_options "$command"
    else
        _cudaswitch_argument "$command" "$count"
    fi
    return 0
}

complete -F _cudaswitch cudaswitch
