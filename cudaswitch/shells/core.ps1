# The change and its undo, for PowerShell on Linux and macOS; state is as core.sh describes it.
# Comparisons are the case-sensitive ones throughout: PowerShell's plain ones are not.

function global:__cudaswitch_get([string] $Name) {
    [Environment]::GetEnvironmentVariable($Name)
}

# Set a variable, or remove it if the value is $null.
function global:__cudaswitch_set([string] $Name, $Value) {
    if ($null -eq $Value) {
        Remove-Item -LiteralPath "Env:$Name" -ErrorAction Ignore
    } else {
        Set-Item -LiteralPath "Env:$Name" -Value $Value
    }
}

# The list without the directories of the record, each removed once, at its first place, and only if
# it is there more often than before us.
function global:__cudaswitch_without([string] $List, [string] $Record) {
    $folders = [Collections.Generic.List[string]] $List.Split(':')
    foreach ($item in $Record.Split(':')) {
        if ($item -cnotmatch '(?s)\A([0-9]+)(/.*)\z') { continue }
        $folder = $Matches[2]
        $before = [int] $Matches[1]
        $copies = @($folders | Where-Object { $_ -ceq $folder }).Count
        if ($copies -le $before) { continue }
        $place = $folders.IndexOf($folder)
        $folders.RemoveAt($place)
        # An empty last element is the colon of a folder that a script has removed.
        if ($place -eq $folders.Count - 1 -and $folders[$place] -eq '') { $folders.RemoveAt($place) }
    }
    $folders -join ':'
}

# The record COUNT/dir of each directory for the list. A count does not rise above one in the records
# until now: the other copies came after us, and whoever put them there may remove them.
function global:__cudaswitch_record([string] $List, [string[]] $Folders, [string[]] $UntilNow) {
    $there = $List.Split(':')
    $items = foreach ($folder in $Folders) {
        $count = @($there | Where-Object { $_ -ceq $folder }).Count
        for ($before = 0; $before -lt $count -and $UntilNow -cnotcontains "$before$folder"; $before++) { }
        "$before$folder"
    }
    $items -join ':'
}

# Is the conda environment before the virtualenv on PATH, and so the active one?
function global:__cudaswitch_before([string] $Conda, [string] $Venv) {
    $folders = $env:PATH.Split(':')
    $first = [Array]::IndexOf($folders, "$Conda/bin")
    $second = [Array]::IndexOf($folders, "$Venv/bin")
    $first -ge 0 -and ($second -lt 0 -or $first -lt $second)
}

# What the pyvenv.cfg of an environment says.
function global:__cudaswitch_config([string] $Prefix) {
    $stated = @{}
    if ([IO.File]::Exists("$Prefix/pyvenv.cfg")) {
        foreach ($line in [IO.File]::ReadAllLines("$Prefix/pyvenv.cfg")) {
            $key, $value = $line.Split('=', 2).Trim()
            $stated[$key] = $value
        }
    }
    $stated
}

# The environment that VIRTUAL_ENV counts as, empty if it is not set: for a layer of `uv run
# --with`, the one below it, as in `sites.extended`.
function global:__cudaswitch_virtualenv {
    $found = "$env:VIRTUAL_ENV"
    # Layers in a circle would never end.
    for ($layer = 1; $found -and $layer -le 9; $layer++) {
        $below = "$((__cudaswitch_config $found)['extends-environment'])"
        if (-not $below.StartsWith('/') -or
            -not ((Test-Path -LiteralPath "$below/pyvenv.cfg") -or (Test-Path -LiteralPath "$below/conda-meta"))) { break }
        $found = $below
    }
    $found
}

# The active environment.
function global:__cudaswitch_inside {
    $active = __cudaswitch_virtualenv
    if ($env:CONDA_PREFIX -and (-not $active -or (__cudaswitch_before $env:CONDA_PREFIX $active))) {
        $active = $env:CONDA_PREFIX
    }
    "$active"
}

# The package folders of an environment itself.
function global:__cudaswitch_sites([string] $Prefix) {
    $literal = [WildcardPattern]::Escape($Prefix)
    Get-Item -Path "$literal/lib/py[tp][hy]*/site-packages", "$literal/lib64/python[23]*/site-packages" -ErrorAction Ignore |
        ForEach-Object { "$Prefix/$($_.Parent.Parent.Name)/$($_.Parent.Name)/site-packages" }
}

# Does the active environment bring its own CUDA? Looks where `bundled` does: change both.
function global:__cudaswitch_bundled {
    $active = __cudaswitch_inside
    if (-not $active) { return $false }
    $stated = __cudaswitch_config $active
    $base = ''
    if ($stated['include-system-site-packages'] -eq 'true' -and $stated['home']) {
        $base = $stated['home'].TrimEnd('/') -creplace '/bin\z'
        if (-not $base) { $base = '/' }
    }
    $python = if ($stated['version_info']) { $stated['version_info'] } else { "$($stated['version'])" }
    $python = ($python.Split('.') | Select-Object -First 2) -join '.'
    # A conda environment, or a virtualenv that sees its base, sees the user's packages too.
    $user = ''
    if (-not $env:PYTHONNOUSERSITE -and ($base -or [IO.Directory]::Exists("$active/conda-meta"))) {
        $user = if ($env:PYTHONUSERBASE) { $env:PYTHONUSERBASE } else { "$env:HOME/.local" }
    }
    $own = @(__cudaswitch_sites $active | ForEach-Object { $_.Substring($active.Length + 1) })
    $persons = @($own -creplace '\Alib64/', 'lib/')
    # 3.13t is the free-threaded Python.
    $shares = @(foreach ($at in 'lib', 'lib64', 'local/lib', 'local/lib64') {
            "$at/python$python/site-packages", "$at/python${python}t/site-packages"
        })
    $shares += "lib/pypy$python/site-packages", 'lib/python3/dist-packages', "local/lib/python$python/dist-packages"
    foreach ($place in @(@($active, $own), @($user, $persons), @($base, $shares))) {
        $folder, $sites = $place
        if (-not $folder) { continue }
        $literal = [WildcardPattern]::Escape($folder)
        foreach ($site in $sites) {
            if ((Test-Path -Path "$literal/$site/nvidia/cu*/lib") -or
                [IO.File]::Exists("$folder/$site/torch/lib/libtorch_cuda.so")) { return $true }
        }
    }
    # What `--with` adds to a layer of uv's, as in `sites.overlaid`.
    if ($env:VIRTUAL_ENV -and $env:VIRTUAL_ENV -cne $active -and $active -ceq (__cudaswitch_virtualenv)) {
        $layered = @(__cudaswitch_sites $env:VIRTUAL_ENV)
        foreach ($file in $layered | ForEach-Object { "$_/_uv_ephemeral_overlay.pth" }) {
            if ([IO.File]::Exists($file)) { $layered += @([IO.File]::ReadAllText($file).Split('"') -clike '/*') }
        }
        foreach ($site in $layered) {
            if ((Test-Path -Path "$([WildcardPattern]::Escape($site))/nvidia/cu*/lib") -or
                [IO.File]::Exists("$site/torch/lib/libtorch_cuda.so")) { return $true }
        }
    }
    foreach ($folder in $active, $base) {
        if (-not $folder) { continue }
        $literal = [WildcardPattern]::Escape($folder)
        foreach ($package in 'cudatoolkit', 'cuda-cudart', 'libcublas') {
            if (Test-Path -Path "$literal/conda-meta/$package-[0-9]*.json") { return $true }
        }
    }
    $false
}

# Does the active environment have a framework that looks for libdevice elsewhere?
function global:__cudaswitch_lacks_libdevice {
    $active = __cudaswitch_inside
    if (-not $active) { return $false }
    foreach ($framework in 'tensorflow', 'jaxlib') {
        foreach ($at in __cudaswitch_sites $active | Where-Object { Test-Path -LiteralPath "$_/$framework" }) {
            $site = [WildcardPattern]::Escape($at)
            $beside = 'nvidia/cuda_nvcc', 'nvidia/cu[0-9]*', 'jaxlib/cuda' |
                Where-Object { Test-Path -Path "$site/$_/nvvm/libdevice" }
            # TensorFlow has looked in the environment itself since 2.19.
            $old = 'tensorflow', 'tensorflow_gpu' |
                Where-Object { (Test-Path -Path "$site/$_-1.*", "$site/$_-2.[0-9].*", "$site/$_-2.1[0-8].*") -contains $true }
            $inside = -not $old -and (Test-Path -LiteralPath "$active/nvvm/libdevice")
            if (-not $beside -and -not $inside) { return $true }
        }
    }
    $false
}

# The compiler to name to nvcc; it need not exist, and is empty if somebody else has named one.
# Decides as `activation.host_compiler` does: change both.
function global:__cudaswitch_host([string] $Want) {
    $compiler = "$($Want.Split(':') -clike 'cc=*')".Replace('cc=', '')
    if (-not $compiler -or $env:CUDAHOSTCXX -or $env:NVCC_CCBIN -or
        "$env:NVCC_PREPEND_FLAGS $env:NVCC_APPEND_FLAGS" -cmatch '-ccbin|--compiler-bindir') { return '' }
    $cxx = "$env:CXX" -creplace '\A[gc]\+\+\z', ''
    if ($cxx) {
        $compiler = ''
        # conda-forge's compilers have names of their own, without a folder since the end of 2025.
        if ($env:CONDA_PREFIX -and -not $cxx.Contains('/') -and [IO.File]::Exists("$env:CONDA_PREFIX/bin/$cxx")) {
            $cxx = "$env:CONDA_PREFIX/bin/$cxx"
        }
        if ($env:CONDA_PREFIX -and $cxx.StartsWith("$env:CONDA_PREFIX/", 'Ordinal')) {
            $compiler = $cxx
        }
    } elseif ($env:CONDA_PREFIX -and [IO.File]::Exists("$env:CONDA_PREFIX/bin/gcc")) {
        return ''
    }
    # nvcc splits its flags at blanks and knows no quotes.
    if ($compiler -cmatch '[ \t]') { '' } else { $compiler }
}

# Remove a word once from the flags in a variable, with the blank that came with it. The variable,
# or backup of one, is removed if it is empty then and was unset before us.
function global:__cudaswitch_wordless([string] $Name, [string] $Word) {
    $flags = __cudaswitch_get $Name
    if (-not $flags -or -not $Word) { return }
    $was = __cudaswitch_get "_CUDASWITCH_WAS_$($Name -creplace '_BACKUP\z')"
    if ($flags -ceq $Word) {
        $empty = $null
        if ($null -ne $was) { $empty = '' }
        __cudaswitch_set $Name $empty
    } elseif ($flags.StartsWith("$Word ", 'Ordinal')) {
        __cudaswitch_set $Name $flags.Substring($Word.Length + 1)
    } elseif ($flags.EndsWith(" $Word", 'Ordinal')) {
        __cudaswitch_set $Name $flags.Substring(0, $flags.Length - $Word.Length - 1)
    } else {
        $place = $flags.IndexOf(" $Word ", [StringComparison]::Ordinal)
        if ($place -ge 0) { __cudaswitch_set $Name $flags.Remove($place, $Word.Length + 1) }
    }
}

# Add words to flags: the host compiler's, and what tells XLA where the toolkit is.
function global:__cudaswitch_flags_set([string] $Want, [string] $Toolkit) {
    $compiler = __cudaswitch_host $Want
    if ($compiler -and [IO.File]::Exists($compiler)) {
        $env:_CUDASWITCH_CC = "-ccbin=$compiler"
        foreach ($name in 'CUDAHOSTCXX', 'NVCC_PREPEND_FLAGS') {
            __cudaswitch_set "_CUDASWITCH_WAS_$name" (__cudaswitch_get $name)
        }
        $env:CUDAHOSTCXX = $compiler
        $env:NVCC_PREPEND_FLAGS = @("-ccbin=$compiler", $env:NVCC_PREPEND_FLAGS | Where-Object { $_ }) -join ' '
    }
    # If XLA_FLAGS names a file of flags, it stays. XLA takes a value in quotes for one word.
    if ("$env:XLA_FLAGS" -cnotmatch '\A([- \t]|\z)' -or "$env:XLA_FLAGS" -clike '*xla_gpu_cuda_data_dir*') { return }
    if (-not (Test-Path -LiteralPath "$Toolkit/nvvm/libdevice") -or -not (__cudaswitch_lacks_libdevice)) { return }
    $word = "--xla_gpu_cuda_data_dir=$Toolkit"
    if ($Toolkit -cmatch '[ \t]') { $word = "--xla_gpu_cuda_data_dir=`"$Toolkit`"" }
    $env:_CUDASWITCH_XLA = $word
    __cudaswitch_set '_CUDASWITCH_WAS_XLA_FLAGS' (__cudaswitch_get 'XLA_FLAGS')
    $env:XLA_FLAGS = @($env:XLA_FLAGS, $word | Where-Object { $_ }) -join ' '
}

# Remove our words, and give the host compiler back.
function global:__cudaswitch_flags_give {
    if ($env:_CUDASWITCH_CC) {
        if ("-ccbin=$env:CUDAHOSTCXX" -ceq $env:_CUDASWITCH_CC) {
            __cudaswitch_set 'CUDAHOSTCXX' (__cudaswitch_get '_CUDASWITCH_WAS_CUDAHOSTCXX')
        }
        # The copy that conda's nvcc keeps would bring our word back when that environment is left.
        __cudaswitch_wordless 'NVCC_PREPEND_FLAGS_BACKUP' $env:_CUDASWITCH_CC
        __cudaswitch_wordless 'NVCC_PREPEND_FLAGS' $env:_CUDASWITCH_CC
    }
    __cudaswitch_wordless 'XLA_FLAGS' $env:_CUDASWITCH_XLA
    foreach ($name in 'CC', 'XLA', 'WAS_CUDAHOSTCXX', 'WAS_NVCC_PREPEND_FLAGS', 'WAS_XLA_FLAGS') {
        __cudaswitch_set "_CUDASWITCH_$name" $null
    }
}

# The variables that an applied want sets, each with its value.
function global:__cudaswitch_scalars([string] $Want) {
    $toolkit, $options = $Want.Split(':')
    $values = [ordered] @{ CUDA_HOME = $toolkit; CUDA_PATH = $toolkit; CUDAToolkit_ROOT = $toolkit }
    if ($options -ccontains 'nvcc') { $values['CUDACXX'] = "$toolkit/bin/nvcc" }
    foreach ($option in $options) {
        if ($option -clike 'gpus=*') {
            $values['CUDA_VISIBLE_DEVICES'] = $option.Substring(5)
            $values['CUDA_DEVICE_ORDER'] = 'PCI_BUS_ID'
        }
    }
    $values
}

# What the strongest owner asks for.
function global:__cudaswitch_strongest {
    $owners = 'U', 'X', 'C', 'V', 'D'
    if ($env:_CUDASWITCH_C -and $env:_CUDASWITCH_V) {
        $conda = $env:_CUDASWITCH_C -creplace '(?s).*:env=', ''
        $venv = $env:_CUDASWITCH_V -creplace '(?s).*:env=', ''
        if (-not (__cudaswitch_before $conda $venv)) { $owners = 'U', 'X', 'V', 'C', 'D' }
    }
    foreach ($owner in $owners) {
        $want = __cudaswitch_get "_CUDASWITCH_$owner"
        if ($want) { return $want }
    }
    ''
}

# Undo what is applied and apply what the strongest owner asks for.
function global:__cudaswitch_settle {
    # The user's strict mode, which what we call would inherit, forbids unset variables.
    Set-StrictMode -Off
    $lists = [ordered] @{ PATH = 'BIN'; _OLD_VIRTUAL_PATH = 'OLD'; LD_LIBRARY_PATH = 'LIB' }
    $old = $env:_CUDASWITCH_OLD, $env:_CUDASWITCH_BIN | Where-Object { $_ } | Select-Object -First 1
    $left = -not $env:_OLD_VIRTUAL_PATH -and -not $env:VIRTUAL_ENV
    foreach ($name in $lists.Keys) {
        $before = __cudaswitch_get $name
        if ($null -eq $before) { continue }
        $record = __cudaswitch_get "_CUDASWITCH_$($lists[$name])"
        # A virtualenv that was left has restored the PATH that it kept, and one that came after us
        # took its snapshot with our entries in it.
        if ($name -ceq '_OLD_VIRTUAL_PATH' -or ($name -ceq 'PATH' -and $left)) { $record = $old }
        if ($name -ceq 'PATH') { $record = "$record`:$env:_CUDASWITCH_GONE" }
        $after = __cudaswitch_without $before $record
        if ($after -ceq $before) { continue }
        if ($name -ceq 'LD_LIBRARY_PATH' -and $after -ceq '' -and $env:_CUDASWITCH_LD -ceq 'unset') {
            $after = $null
        }
        __cudaswitch_set $name $after
    }
    if ($env:_CUDASWITCH_ON) {
        $values = __cudaswitch_scalars $env:_CUDASWITCH_ON
        foreach ($name in $values.Keys) {
            $was = __cudaswitch_get "_CUDASWITCH_WAS_$name"
            if ((__cudaswitch_get $name) -ceq $values[$name]) { __cudaswitch_set $name $was }
            __cudaswitch_set "_CUDASWITCH_WAS_$name" $null
        }
    }
    __cudaswitch_flags_give
    $unset = if ($env:LD_LIBRARY_PATH) { $env:_CUDASWITCH_LD }
    $untilNow = "$env:_CUDASWITCH_BIN`:$env:_CUDASWITCH_OLD`:$env:_CUDASWITCH_LIB".Split(':')
    foreach ($name in 'ON', 'BIN', 'OLD', 'GONE', 'LIB', 'LD') {
        __cudaswitch_set "_CUDASWITCH_$name" $null
    }

    $want = __cudaswitch_strongest
    $toolkit, $options = $want.Split(':')
    if (-not $toolkit.StartsWith('/') -or -not (Test-Path -LiteralPath $toolkit -PathType Container)) {
        return
    }
    # Keep this record: folders that the user has added since may be removed again.
    __cudaswitch_set '_CUDASWITCH_LD' $unset
    $libraries = @()
    if ($options -ccontains 'lib=always' -or
        ($options -cnotcontains 'lib=never' -and -not (__cudaswitch_bundled))) {
        $libraries = @(
            'lib64', 'targets/x86_64-linux/lib', 'targets/sbsa-linux/lib', 'lib' |
                Where-Object { Test-Path -LiteralPath "$toolkit/$_" } |
                Select-Object -First 1
            'extras/CUPTI/lib64' | Where-Object { Test-Path -LiteralPath "$toolkit/$_" }
        ) | ForEach-Object { "$toolkit/$_" }
    }
    foreach ($name in $lists.Keys) {
        $folders = @(if ($name -ceq 'LD_LIBRARY_PATH') { $libraries } else { "$toolkit/bin" })
        $before = __cudaswitch_get $name
        if (-not $folders -or ($null -eq $before -and $name -ceq '_OLD_VIRTUAL_PATH')) { continue }
        if ($null -eq $before -and $name -ceq 'LD_LIBRARY_PATH') { $env:_CUDASWITCH_LD = 'unset' }
        __cudaswitch_set "_CUDASWITCH_$($lists[$name])" (__cudaswitch_record $before $folders $untilNow)
        __cudaswitch_set $name ((@($folders) + @($before | Where-Object { $_ })) -join ':')
    }
    if (Test-Path -LiteralPath "$toolkit/bin/nvcc") { $want = "$want`:nvcc" }
    $values = __cudaswitch_scalars $want
    foreach ($name in $values.Keys) {
        __cudaswitch_set "_CUDASWITCH_WAS_$name" (__cudaswitch_get $name)
        __cudaswitch_set $name $values[$name]
    }
    __cudaswitch_flags_set $want $toolkit
    $env:_CUDASWITCH_ON = $want
}
