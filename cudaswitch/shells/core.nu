# The change and its exact undo for Nushell. The state is that of core.sh, word for word, so
# that shells of all kinds can be nested.

# The elements of a search path, which is a list where Nushell converts the variable.
def __cudaswitch_elements [value] {
    if ($value | is-empty) { [] } else if ($value | describe) == string { $value | split row : } else { $value }
}

# The search path with these elements, in the form that the value before had.
def __cudaswitch_joined [before, elements] {
    if ($before | describe) in [string nothing] { $elements | str join : } else { $elements }
}

# The search path $in without the directories of the record, each taken out once, at its
# first place, and only where more copies stand than before us.
def __cudaswitch_without [record] {
    let path = $in
    let items = ($record | default '' | split row : | parse --regex '(?s)^(?<count>\d+)(?<dir>/.*)$')
    $items | reduce --fold $path {|item, rest|
        let places = ($rest | enumerate | where item == $item.dir | get index)
        if ($places | length) > ($item.count | into int) { $rest | drop nth $places.0 } else { $rest }
    }
}

# The record COUNT/dir of a directory for the search path $in.
def __cudaswitch_record [dir] {
    $'($in | where $it == $dir | length)($dir)'
}

def __cudaswitch_is_dir [path] {
    try { ($path | path expand --strict | path type) == dir } catch { false }
}

# Is the conda environment before the virtualenv on PATH, and so the active one?
def __cudaswitch_before [conda, venv] {
    $'($conda)/bin' in (__cudaswitch_elements $env.PATH? | take until {|dir| $dir == $'($venv)/bin' })
}

# Does the active environment bring its own CUDA?
def __cudaswitch_bundled [] {
    let conda = ($env.CONDA_PREFIX? | default '')
    let venv = ($env.VIRTUAL_ENV? | default '')
    let prefix = if $venv != '' and ($conda == '' or not (__cudaswitch_before $conda $venv)) { $venv } else { $conda }
    $prefix != '' and (__cudaswitch_brings $prefix)
}

def __cudaswitch_any [folder, patterns] {
    # Nothing in the folder's own name is taken for a pattern.
    let literal = ($folder | str replace --all --regex '[?*\[\]]' '[$0]')
    $patterns | any {|pattern| try { ls ($'($literal)/($pattern)' | into glob) | is-not-empty } catch { false } }
}

# Does the environment bring its own CUDA? Looks where `detect.bundled` does: change both.
def __cudaswitch_brings [prefix] {
    let stated = (try { open --raw $'($prefix)/pyvenv.cfg' | lines | parse --regex '^(?<key>[^ =]+) *= *(?<value>.*)$' | transpose --header-row --as-record } catch { {} })
    let shared = ($stated | get --optional include-system-site-packages | default '') =~ '(?i)^true'
    let base = if $shared { $stated | get --optional home | default '' | str replace --regex '/bin$' '' } else { '' }
    let version = ($stated | get --optional version_info | default ($stated | get --optional version) | default '' | split row . | take 2 | str join .)
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    let user = if ($env.PYTHONNOUSERSITE? | is-empty) and ($base != '' or (__cudaswitch_is_dir $'($prefix)/conda-meta')) {
        if ($env.PYTHONUSERBASE? | is-empty) { $'($env.HOME?)/.local' } else { $env.PYTHONUSERBASE }
    }
    let wheels = [nvidia/*/lib torch/lib/libtorch_cuda.so]
    let packages = ['conda-meta/cudatoolkit-[0-9]*.json' 'conda-meta/cuda-cudart-[0-9]*.json' 'conda-meta/libcublas-[0-9]*.json']
    let pythons = (try { ls ($'($prefix | str replace --all --regex '[?*\[\]]' '[$0]')/lib/python[23]*' | into glob) | get name | path basename } catch { [] })
    let own = ($pythons | each { $'lib/($in)/site-packages' })
    let shares = [$'lib/python($version)/site-packages' lib/python3/dist-packages $'local/lib/python($version)/dist-packages']
    let places = [[folder patterns]; [$prefix $own] [$user $own] [$base $shares]]
    let sites = ($places | update patterns { each {|site| $wheels | each {|one| $'($site)/($one)' } } | flatten })
    [...$sites {folder: $prefix patterns: $packages} {folder: $base patterns: $packages}]
    | where {|place| $place.folder | is-not-empty }
    | any {|place| __cudaswitch_any $place.folder $place.patterns }
}

# The variables that the applied want has.
def __cudaswitch_scalars [want] {
    let home = ($want | split row : | first)
    let nvcc = if ':nvcc:' in $'($want):' { {CUDACXX: $'($home)/bin/nvcc'} } else { {} }
    let gpus = ($want | parse --regex ':gpus=(?<CUDA_VISIBLE_DEVICES>[^:]*)' | get --optional 0)
    let gpus = if $gpus == null { {} } else { $gpus | insert CUDA_DEVICE_ORDER PCI_BUS_ID }
    {CUDA_HOME: $home CUDA_PATH: $home CUDAToolkit_ROOT: $home} | merge $nvcc | merge $gpus
}

# What the strongest asks for.
def __cudaswitch_strongest [] {
    let conda = ($env._CUDASWITCH_C? | default '')
    let venv = ($env._CUDASWITCH_V? | default '')
    let prefixes = ([$conda $venv] | str replace --regex '(?s).*:env=' '')
    let pinned = if $conda != '' and $venv != '' and not (__cudaswitch_before $prefixes.0 $prefixes.1) { [$venv $conda] } else { [$conda $venv] }
    [$env._CUDASWITCH_U? $env._CUDASWITCH_X? ...$pinned $env._CUDASWITCH_D?] | where ($it | is-not-empty) | get --optional 0 | default ''
}

# Every variable that the change touches and its undo reads, null where it is unset.
def __cudaswitch_variables [] {
    let scalars = [CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER]
    let state = ([ON BIN OLD GONE LIB LD] | each { '_CUDASWITCH_' + $in })
    let was = ($scalars | each { '_CUDASWITCH_WAS_' + $in })
    $env | select --optional PATH _OLD_VIRTUAL_PATH LD_LIBRARY_PATH ...$scalars ...$state ...$was
}

# The variables without what is applied.
def __cudaswitch_undone [before] {
    mut now: any = $before
    let old = (__cudaswitch_elements $now._OLD_VIRTUAL_PATH)
    let path = (__cudaswitch_elements $now.PATH)
    # A virtualenv that was left has brought back the PATH that it kept.
    let left = ($old | is-empty) and ($env.VIRTUAL_ENV? | is-empty)
    let bin = if $left { $now._CUDASWITCH_OLD | default $now._CUDASWITCH_BIN } else { $now._CUDASWITCH_BIN }
    $now.PATH = ($path | __cudaswitch_without $bin | __cudaswitch_without $now._CUDASWITCH_GONE)
    if ($old | is-not-empty) {
        # An activation that came after us took its snapshot with our entries in it.
        let kept = ($old | __cudaswitch_without ($now._CUDASWITCH_OLD | default $bin))
        $now._OLD_VIRTUAL_PATH = (__cudaswitch_joined $now._OLD_VIRTUAL_PATH $kept)
    }
    let ld = (__cudaswitch_elements $now.LD_LIBRARY_PATH)
    let kept = ($ld | __cudaswitch_without $now._CUDASWITCH_LIB)
    if $kept != $ld {
        $now.LD_LIBRARY_PATH = if ($kept | is-empty) and $now._CUDASWITCH_LD == unset { null } else { __cudaswitch_joined $now.LD_LIBRARY_PATH $kept }
    }
    if ($now._CUDASWITCH_ON | is-not-empty) {
        for one in (__cudaswitch_scalars $now._CUDASWITCH_ON | transpose name ours) {
            let was = $'_CUDASWITCH_WAS_($one.name)'
            if ($now | get $one.name) == $one.ours { $now = ($now | update $one.name ($now | get $was)) }
            $now = ($now | update $was null)
        }
    }
    $now | merge {_CUDASWITCH_ON: null, _CUDASWITCH_BIN: null, _CUDASWITCH_OLD: null, _CUDASWITCH_GONE: null, _CUDASWITCH_LIB: null, _CUDASWITCH_LD: null}
}

# The variables with what a want asks for.
def __cudaswitch_done [before, want] {
    let home = ($want | split row : | first)
    if not ($home starts-with /) or not (__cudaswitch_is_dir $home) { return $before }
    mut now: any = $before
    let bin = $'($home)/bin'
    $now._CUDASWITCH_BIN = ($now.PATH | __cudaswitch_record $bin)
    $now.PATH = [$bin ...$now.PATH]
    let old = (__cudaswitch_elements $now._OLD_VIRTUAL_PATH)
    if ($old | is-not-empty) {
        $now._CUDASWITCH_OLD = ($old | __cudaswitch_record $bin)
        $now._OLD_VIRTUAL_PATH = (__cudaswitch_joined $now._OLD_VIRTUAL_PATH [$bin ...$old])
    }
    let mode = ($want | parse --regex ':lib=(?<mode>[^:]*)' | get --optional 0.mode)
    let libraries = if $mode == never or ($mode != always and (__cudaswitch_bundled)) { [] } else {
        let own = ([lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib] | each { $'($home)/($in)' })
        let first = ($own | skip while {|dir| not (__cudaswitch_is_dir $dir) } | take 1)
        [...$first $'($home)/extras/CUPTI/lib64'] | where {|dir| __cudaswitch_is_dir $dir }
    }
    if ($libraries | is-not-empty) {
        let ld = (__cudaswitch_elements $now.LD_LIBRARY_PATH)
        $now._CUDASWITCH_LIB = ($libraries | each {|dir| $ld | __cudaswitch_record $dir } | str join :)
        if $now.LD_LIBRARY_PATH == null { $now._CUDASWITCH_LD = 'unset' }
        $now.LD_LIBRARY_PATH = (__cudaswitch_joined $now.LD_LIBRARY_PATH [...$libraries ...$ld])
    }
    let on = if (which $'($bin)/nvcc' | is-empty) { $want } else { $'($want):nvcc' }
    for one in (__cudaswitch_scalars $on | transpose name ours) {
        $now = ($now | update $'_CUDASWITCH_WAS_($one.name)' ($now | get $one.name) | update $one.name $one.ours)
    }
    $now | update _CUDASWITCH_ON $on
}

# Undo what is applied and apply what the strongest asks for. A variable that is null is not
# exported, as if it were unset; what `hide-env` takes away, a caller or another overlay may
# bring back.
def --env __cudaswitch_settle [] {
    let before = (__cudaswitch_variables)
    let after = (__cudaswitch_done (__cudaswitch_undone $before) (__cudaswitch_strongest))
    let as_list = ($before | update PATH (__cudaswitch_elements $before.PATH))
    let same = ($before | columns | where {|name| ($as_list | get $name) == ($after | get $name) })
    load-env ($after | reject ...$same)
}
