# The change and its exact undo for Nushell. The state is that of core.sh, word for word, so
# that shells of all kinds can be nested.

# Why nothing is switched here, null if nothing prevents it. Only from that release on is there `%`,
# which calls a builtin even if the user has given its name to something else (`alias ls = eza`).
def __cudaswitch_too_old [] {
    let is = (version)
    if $is.major == 0 and $is.minor < 114 {
        $'cudaswitch: Nushell ($is.version) is too old, nothing is switched: 0.114 or newer is needed'
    }
}

# The elements of a search path, which is a list if Nushell converts the variable. An element may be
# a whole path: a string that something has been put before.
def __cudaswitch_elements [value] {
    if ($value | is-empty) { [] } else { [$value] | flatten | each {|one| if ($one | describe) == string { $one | split row : } else { $one } } | flatten }
}

# The search path with these elements, in the same form as the value before.
def __cudaswitch_joined [before, elements] {
    if ($before | describe) in [string nothing] { $elements | str join : } else { $elements }
}

# LD_LIBRARY_PATH where it is unset: the user's own conversion would be given the null, and then no
# program could be started.
def __cudaswitch_no_libraries [] {
    if $env.ENV_CONVERSIONS?.LD_LIBRARY_PATH? == null { null } else { [] }
}

# The search path $in without the directories of the record, each removed once, at its first place,
# and only if it is there more often than before us.
def __cudaswitch_without [record] {
    let path = $in
    let items = ($record | default '' | split row : | parse --regex '(?s)^(?<count>\d+)(?<dir>/.*)$')
    $items | reduce --fold $path {|item, rest|
        let places = ($rest | enumerate | where item == $item.dir | get index)
        if ($places | length) > ($item.count | into int) {
            let left = ($rest | drop nth $places.0)
            # An empty last element is the colon of a folder that a script has removed.
            if ($left | skip $places.0) == [''] { $left | drop 1 } else { $left }
        } else { $rest }
    }
}

# The record COUNT/dir of a directory for the search path $in. The count does not rise above one in
# the records until now: the other copies came after us, and whoever put them there may remove them.
def __cudaswitch_record [dir, until_now] {
    let count = ($in | where $it == $dir | length)
    $'(0..$count | where {|n| $n == $count or $'($n)($dir)' in $until_now } | first)($dir)'
}

def __cudaswitch_is_dir [path] {
    try { ($path | path expand --strict | path type) == dir } catch { false }
}

# Is the conda environment before the virtualenv on PATH, and so the active one?
def __cudaswitch_before [conda, venv] {
    $'($conda)/bin' in (__cudaswitch_elements $env.PATH? | take until {|dir| $dir == $'($venv)/bin' })
}

# What the pyvenv.cfg of an environment says.
def __cudaswitch_config [prefix] {
    # An interpolated argument would be taken for a pattern.
    let file = $'($prefix)/pyvenv.cfg'
    let stated = (try { %open --raw $file | lines | parse --regex '^\s*(?<key>[^\s=]+)\s*=\s*(?<value>.*?)\s*$' } catch { [] })
    # An empty table would become a list.
    if ($stated | is-empty) { {} } else { $stated | transpose --header-row --as-record }
}

# The environment that VIRTUAL_ENV counts as, empty if it is not set: for a layer of `uv run
# --with`, the one below it, as in `sites.extended`.
def __cudaswitch_virtualenv [] {
    # Layers in a circle would never end.
    1..9 | reduce --fold ($env.VIRTUAL_ENV? | default '') {|_, found|
        let below = (__cudaswitch_config $found | get --optional extends-environment | default '')
        let marks = [$'($below)/pyvenv.cfg' $'($below)/conda-meta']
        if ($below starts-with /) and ($marks | any {|mark| $mark | path exists }) { $below } else { $found }
    }
}

# The active environment, empty if there is none.
def __cudaswitch_inside [] {
    let conda = ($env.CONDA_PREFIX? | default '')
    let venv = (__cudaswitch_virtualenv)
    if $venv != '' and ($conda == '' or not (__cudaswitch_before $conda $venv)) { $venv } else { $conda }
}

# Does the active environment bring its own CUDA?
def __cudaswitch_bundled [] {
    let prefix = (__cudaswitch_inside)
    $prefix != '' and (__cudaswitch_brings $prefix)
}

# A folder's name as the beginning of a pattern.
def __cudaswitch_literal [folder] {
    $folder | str replace --all --regex '[?*\[\]]' '[$0]'
}

def __cudaswitch_any [folder, patterns] {
    let literal = (__cudaswitch_literal $folder)
    $patterns | any {|pattern| try { %ls ($'($literal)/($pattern)' | into glob) | is-not-empty } catch { false } }
}

# The package folders of the environment itself. `ls` of a folder lists its content, `ls` of a
# pattern the folder itself.
def __cudaswitch_sites [prefix] {
    let literal = (__cudaswitch_literal $prefix)
    ['lib/py[tp][hy]*' 'lib64/python[23]*']
    | each {|at| try { %ls ($'($literal)/($at)/site-package[s]' | into glob) | get name } catch { [] } } | flatten
}

# Does the environment bring its own CUDA? Looks where `bundled` does: change both.
def __cudaswitch_brings [prefix] {
    let stated = (__cudaswitch_config $prefix)
    let shared = ($stated | get --optional include-system-site-packages | default '') =~ '(?i)^true$'
    let home = ($stated | get --optional home | default '')
    let base = if $shared and $home != '' { $home | str replace --regex '(/bin)?/*$' '' | default --empty / } else { '' }
    let version = ($stated | get --optional version_info | default ($stated | get --optional version) | default '' | split row . | take 2 | str join .)
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    let user = if ($env.PYTHONNOUSERSITE? | is-empty) and ($base != '' or (__cudaswitch_is_dir $'($prefix)/conda-meta')) {
        if ($env.PYTHONUSERBASE? | is-empty) { $'($env.HOME?)/.local' } else { $env.PYTHONUSERBASE }
    }
    let wheels = [nvidia/cu*/lib torch/lib/libtorch_cuda.so]
    let packages = ['conda-meta/cudatoolkit-[0-9]*.json' 'conda-meta/cuda-cudart-[0-9]*.json' 'conda-meta/libcublas-[0-9]*.json']
    let own = (__cudaswitch_sites $prefix | path relative-to $prefix)
    let persons = ($own | str replace lib64/ lib/)
    # 3.13t is the free-threaded Python.
    let pythons = ([lib lib64 local/lib local/lib64] | each {|at| [$'($at)/python($version)' $'($at)/python($version)t'] } | flatten)
    let shares = [...($pythons ++ [$'lib/pypy($version)'] | each { $'($in)/site-packages' }) lib/python3/dist-packages $'local/lib/python($version)/dist-packages']
    # What `--with` adds to a layer of uv's, as in `sites.overlaid`.
    let layer = ($env.VIRTUAL_ENV? | default '')
    let layered = if $layer not-in ['' $prefix] and $prefix == (__cudaswitch_virtualenv) { __cudaswitch_sites $layer } else { [] }
    let named = ($layered | each {|site| try { %open --raw $'($site)/_uv_ephemeral_overlay.pth' | split row '"' | where {|one| $one starts-with / } } catch { [] } } | flatten)
    let places = [[folder patterns]; [$prefix $own] [$user $persons] [$base $shares]]
    let sites = ($places | update patterns { each {|site| $wheels | each {|one| $'($site)/($one)' } } | flatten })
    [...$sites ...($layered ++ $named | each {|site| {folder: $site patterns: $wheels} }) {folder: $prefix patterns: $packages} {folder: $base patterns: $packages}]
    | where {|place| $place.folder | is-not-empty }
    | any {|place| __cudaswitch_any $place.folder $place.patterns }
}

# Does the environment have a framework that looks for libdevice elsewhere?
def __cudaswitch_lacks_libdevice [prefix] {
    if $prefix == '' { return false }
    let beside = ['nvidia/cuda_nvcc/nvvm/libdevic[e]' 'nvidia/cu[0-9]*/nvvm/libdevic[e]' 'jaxlib/cuda/nvvm/libdevic[e]']
    # TensorFlow has looked in the environment itself since 2.19.
    let inside = (__cudaswitch_any $prefix ['nvvm/libdevic[e]'])
    let old = ([tensorflow tensorflow_gpu] | each {|name| ['1.*' '2.[0-9].*' '2.1[0-8].*'] | each { $'($name)-($in)' } } | flatten)
    __cudaswitch_sites $prefix | any {|site|
        (__cudaswitch_any $site ['tensorflo[w]' 'jaxli[b]']) and not (__cudaswitch_any $site $beside) and (not $inside or (__cudaswitch_any $site $old))
    }
}

# The compiler to name to nvcc; it need not exist, and is empty if somebody else has named one.
# Decides as `activation.host_compiler` does: change both.
def __cudaswitch_host [now, want] {
    let found = ($want | parse --regex ':cc=(?<cc>[^:]*)' | get --optional 0.cc | default '')
    let conda = ($env.CONDA_PREFIX? | default '')
    let named = if $env.CXX? in [g++ c++] { '' } else { $env.CXX? | default '' }
    # conda-forge's compilers have names of their own, without a folder since the end of 2025.
    let own = $'($conda)/bin/($named)'
    let is_own = $named != '' and $conda != '' and not ('/' in $named) and (%which $own | is-not-empty)
    let cxx = if $is_own { $own } else { $named }
    let flags = $'($now.NVCC_PREPEND_FLAGS) ($env.NVCC_APPEND_FLAGS?)'
    if $found == '' or $'($now.CUDAHOSTCXX)($env.NVCC_CCBIN?)' != '' or $flags =~ '-ccbin|--compiler-bindir' { return '' }
    let compiler = if $cxx == '' {
        if $conda == '' or (%which $'($conda)/bin/gcc' | is-empty) { $found } else { '' }
    } else if $conda != '' and ($cxx | str starts-with $'($conda)/') { $cxx } else { '' }
    # nvcc splits its flags at blanks and knows no quotes.
    if $compiler =~ '[ \t]' { '' } else { $compiler }
}

# The flags without the word, which is removed once, with the blank that came with it; null if they
# were unset before us and are empty.
def __cudaswitch_wordless [flags, word, was] {
    if ($flags | is-empty) or ($word | is-empty) { return $flags }
    if $flags == $word { return (if $was == null { null } else { '' }) }
    if ($flags | str starts-with $'($word) ') { return ($flags | str replace $'($word) ' '') }
    if not ($flags | str ends-with $' ($word)') { return ($flags | str replace $' ($word) ' ' ') }
    $flags | str substring 0..<(($flags | str length) - ($word | str length) - 1)
}

# The words to add to flags: the host compiler's, and what tells XLA where the toolkit is.
def __cudaswitch_words [now, want] {
    let home = ($want | split row : | first)
    let compiler = (__cudaswitch_host $now $want)
    let nvcc = if $compiler != '' and (%which $compiler | is-not-empty) { {CC: $'-ccbin=($compiler)'} } else { {} }
    # If XLA_FLAGS names a file of flags, it stays. XLA takes a value in quotes for one word.
    let has_room = ($now.XLA_FLAGS | default '') =~ '^([- \t]|$)' and ($now.XLA_FLAGS | default '') !~ xla_gpu_cuda_data_dir
    let quoted = if $home =~ '[ \t]' { $'"($home)"' } else { $home }
    let xla = if $has_room and (__cudaswitch_any $home ['nvvm/libdevic[e]']) and (__cudaswitch_lacks_libdevice (__cudaswitch_inside)) { {XLA: $'--xla_gpu_cuda_data_dir=($quoted)'} } else { {} }
    $nvcc | merge $xla
}

# The variables that the applied want sets.
def __cudaswitch_scalars [want] {
    let home = ($want | split row : | first)
    let nvcc = if ':nvcc:' in $'($want):' { {CUDACXX: $'($home)/bin/nvcc'} } else { {} }
    let gpus = ($want | parse --regex ':gpus=(?<CUDA_VISIBLE_DEVICES>[^:]*)' | get --optional 0)
    let gpus = if $gpus == null { {} } else { $gpus | insert CUDA_DEVICE_ORDER PCI_BUS_ID }
    {CUDA_HOME: $home CUDA_PATH: $home CUDAToolkit_ROOT: $home} | merge $nvcc | merge $gpus
}

# What the strongest owner asks for.
def __cudaswitch_strongest [] {
    let conda = ($env._CUDASWITCH_C? | default '')
    let venv = ($env._CUDASWITCH_V? | default '')
    let prefixes = ([$conda $venv] | str replace --regex '(?s).*:env=' '')
    let pinned = if $conda != '' and $venv != '' and not (__cudaswitch_before $prefixes.0 $prefixes.1) { [$venv $conda] } else { [$conda $venv] }
    [$env._CUDASWITCH_U? $env._CUDASWITCH_X? ...$pinned $env._CUDASWITCH_D?] | where ($it | is-not-empty) | get --optional 0 | default ''
}

# Every variable that the change touches and its undo reads, null if it is unset.
def __cudaswitch_variables [] {
    let scalars = [CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS]
    let state = ([ON BIN OLD GONE LIB LD CC XLA] | each { '_CUDASWITCH_' + $in })
    let was = ($scalars | each { '_CUDASWITCH_WAS_' + $in })
    let now = ($env | select --optional PATH _OLD_VIRTUAL_PATH LD_LIBRARY_PATH NVCC_PREPEND_FLAGS_BACKUP ...$scalars ...$state ...$was)
    if $now.LD_LIBRARY_PATH == null { $now | update LD_LIBRARY_PATH (__cudaswitch_no_libraries) } else { $now }
}

# The variables without what is applied.
def __cudaswitch_undone [before] {
    mut now: any = $before
    let old = (__cudaswitch_elements $now._OLD_VIRTUAL_PATH)
    let path = (__cudaswitch_elements $now.PATH)
    # A virtualenv that was left has restored the PATH that it kept.
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
        $now.LD_LIBRARY_PATH = if ($kept | is-empty) and $now._CUDASWITCH_LD == unset { __cudaswitch_no_libraries } else { __cudaswitch_joined $now.LD_LIBRARY_PATH $kept }
    }
    if ($now._CUDASWITCH_ON | is-not-empty) {
        for one in (__cudaswitch_scalars $now._CUDASWITCH_ON | transpose name ours) {
            let was = $'_CUDASWITCH_WAS_($one.name)'
            if ($now | get $one.name) == $one.ours { $now = ($now | update $one.name ($now | get $was)) }
            $now = ($now | update $was null)
        }
    }
    let word = ($now._CUDASWITCH_CC | default '')
    if $word != '' {
        if $now.CUDAHOSTCXX == ($word | str replace '-ccbin=' '') { $now.CUDAHOSTCXX = $now._CUDASWITCH_WAS_CUDAHOSTCXX }
        # The copy that conda's nvcc keeps would bring our word back when that environment is left.
        $now.NVCC_PREPEND_FLAGS_BACKUP = (__cudaswitch_wordless $now.NVCC_PREPEND_FLAGS_BACKUP $word $now._CUDASWITCH_WAS_NVCC_PREPEND_FLAGS)
    }
    $now.NVCC_PREPEND_FLAGS = (__cudaswitch_wordless $now.NVCC_PREPEND_FLAGS $word $now._CUDASWITCH_WAS_NVCC_PREPEND_FLAGS)
    $now.XLA_FLAGS = (__cudaswitch_wordless $now.XLA_FLAGS $now._CUDASWITCH_XLA $now._CUDASWITCH_WAS_XLA_FLAGS)
    for name in [CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS] { $now = ($now | update $'_CUDASWITCH_WAS_($name)' null) }
    $now | merge {_CUDASWITCH_ON: null, _CUDASWITCH_BIN: null, _CUDASWITCH_OLD: null, _CUDASWITCH_GONE: null, _CUDASWITCH_LIB: null, _CUDASWITCH_LD: null, _CUDASWITCH_CC: null, _CUDASWITCH_XLA: null}
}

# The variables with what a want asks for.
def __cudaswitch_done [before, want] {
    let home = ($want | split row : | first)
    if not ($home starts-with /) or not (__cudaswitch_is_dir $home) { return $before }
    mut now: any = $before
    let bin = $'($home)/bin'
    let until_now = ([$env._CUDASWITCH_BIN? $env._CUDASWITCH_OLD? $env._CUDASWITCH_LIB?] | compact | str join : | split row :)
    $now._CUDASWITCH_BIN = ($now.PATH | __cudaswitch_record $bin $until_now)
    $now.PATH = [$bin ...$now.PATH]
    let old = (__cudaswitch_elements $now._OLD_VIRTUAL_PATH)
    if ($old | is-not-empty) {
        $now._CUDASWITCH_OLD = ($old | __cudaswitch_record $bin $until_now)
        $now._OLD_VIRTUAL_PATH = (__cudaswitch_joined $now._OLD_VIRTUAL_PATH [$bin ...$old])
    }
    let mode = ($want | parse --regex ':lib=(?<mode>[^:]*)' | get --optional 0.mode)
    let libraries = if $mode == never or ($mode != always and (__cudaswitch_bundled)) { [] } else {
        let own = ([lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib] | each { $'($home)/($in)' })
        let first = ($own | skip while {|dir| not (__cudaswitch_is_dir $dir) } | take 1)
        [...$first $'($home)/extras/CUPTI/lib64'] | where {|dir| __cudaswitch_is_dir $dir }
    }
    # Keep this record: folders that the user has added since may be removed again.
    if $env._CUDASWITCH_LD? == unset and ($env.LD_LIBRARY_PATH? | is-not-empty) { $now._CUDASWITCH_LD = 'unset' }
    if ($libraries | is-not-empty) {
        let ld = (__cudaswitch_elements $now.LD_LIBRARY_PATH)
        $now._CUDASWITCH_LIB = ($libraries | each {|dir| $ld | __cudaswitch_record $dir $until_now } | str join :)
        if $now.LD_LIBRARY_PATH == null { $now._CUDASWITCH_LD = 'unset' }
        $now.LD_LIBRARY_PATH = (__cudaswitch_joined $now.LD_LIBRARY_PATH [...$libraries ...$ld])
    }
    let on = if (%which $'($bin)/nvcc' | is-empty) { $want } else { $'($want):nvcc' }
    let words = (__cudaswitch_words $now $want)
    mut values = (__cudaswitch_scalars $on)
    if $words.CC? != null {
        $now._CUDASWITCH_CC = $words.CC
        $values.CUDAHOSTCXX = ($words.CC | str replace '-ccbin=' '')
        $values.NVCC_PREPEND_FLAGS = ([$words.CC $now.NVCC_PREPEND_FLAGS] | where ($it | is-not-empty) | str join ' ')
    }
    if $words.XLA? != null {
        $now._CUDASWITCH_XLA = $words.XLA
        $values.XLA_FLAGS = ([$now.XLA_FLAGS $words.XLA] | where ($it | is-not-empty) | str join ' ')
    }
    for one in ($values | transpose name ours) {
        $now = ($now | update $'_CUDASWITCH_WAS_($one.name)' ($now | get $one.name) | update $one.name $one.ours)
    }
    $now | update _CUDASWITCH_ON $on
}

# Undo what is applied and apply what the strongest owner asks for. A variable that is null is not
# exported, as if it were unset; one removed by `hide-env` could be brought back by a caller or
# another overlay.
def --env __cudaswitch_settle [] {
    let refused = (__cudaswitch_too_old)
    if $refused != null { error make --unspanned {msg: $refused, help: 'cudaswitch exec works here too'} }
    let before = (__cudaswitch_variables)
    let after = (__cudaswitch_done (__cudaswitch_undone $before) (__cudaswitch_strongest))
    let as_list = ($before | update PATH (__cudaswitch_elements $before.PATH))
    let same = ($before | columns | where {|name| ($as_list | get $name) == ($after | get $name) })
    load-env ($after | reject ...$same)
}
