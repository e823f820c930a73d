# The change and its undo, for PowerShell on Linux and macOS; state is as core.sh describes it.
# Comparisons are the case-sensitive ones throughout: PowerShell's plain ones are not.

function global:__cudaswitch_get([string] $Name) {
    [Environment]::GetEnvironmentVariable($Name)
}

# Set a variable, or take it away where the value is $null.
function global:__cudaswitch_set([string] $Name, $Value) {
    if ($null -eq $Value) {
        Remove-Item -LiteralPath "Env:$Name" -ErrorAction Ignore
    } else {
        Set-Item -LiteralPath "Env:$Name" -Value $Value
    }
}

# The list without the directories of the record, each taken out once, at its first place,
# and only where more copies stand than before us.
function global:__cudaswitch_without([string] $List, [string] $Record) {
    $folders = [Collections.Generic.List[string]] $List.Split(':')
    foreach ($item in $Record.Split(':')) {
        if ($item -cnotmatch '(?s)\A([0-9]+)(/.*)\z') { continue }
        $folder = $Matches[2]
        $before = [int] $Matches[1]
        $copies = @($folders | Where-Object { $_ -ceq $folder }).Count
        if ($copies -gt $before) { [void] $folders.Remove($folder) }
    }
    $folders -join ':'
}

# The record COUNT/dir of each directory for the list.
function global:__cudaswitch_record([string] $List, [string[]] $Folders) {
    $there = $List.Split(':')
    $items = foreach ($folder in $Folders) {
        "$(@($there | Where-Object { $_ -ceq $folder }).Count)$folder"
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

# Does the active environment bring its own CUDA?
function global:__cudaswitch_bundled {
    $active = $env:VIRTUAL_ENV
    if ($env:CONDA_PREFIX -and (-not $active -or (__cudaswitch_before $env:CONDA_PREFIX $active))) {
        $active = $env:CONDA_PREFIX
    }
    if (-not $active) { return $false }
    $literal = [WildcardPattern]::Escape($active)
    foreach ($trace in @(
            'lib/python[23]*/site-packages/nvidia/*/lib'
            'lib/python[23]*/site-packages/torch/lib/libtorch_cuda.so'
            'conda-meta/cudatoolkit-[0-9]*.json'
            'conda-meta/cuda-cudart-[0-9]*.json'
            'conda-meta/libcublas-[0-9]*.json')) {
        if (Test-Path -Path "$literal/$trace") { return $true }
    }
    $false
}

# The variables that an applied want has, each with its value.
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

# What the strongest asks for.
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

# Undo what is applied and apply what the strongest asks for.
function global:__cudaswitch_settle {
    $lists = [ordered] @{ PATH = 'BIN'; _OLD_VIRTUAL_PATH = 'OLD'; LD_LIBRARY_PATH = 'LIB' }
    foreach ($name in $lists.Keys) {
        $before = __cudaswitch_get $name
        if ($null -eq $before) { continue }
        $record = __cudaswitch_get "_CUDASWITCH_$($lists[$name])"
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
    foreach ($name in 'ON', 'BIN', 'OLD', 'GONE', 'LIB', 'LD') {
        __cudaswitch_set "_CUDASWITCH_$name" $null
    }

    $want = __cudaswitch_strongest
    $toolkit, $options = $want.Split(':')
    if (-not $toolkit.StartsWith('/') -or -not (Test-Path -LiteralPath $toolkit -PathType Container)) {
        return
    }
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
        __cudaswitch_set "_CUDASWITCH_$($lists[$name])" (__cudaswitch_record $before $folders)
        __cudaswitch_set $name ((@($folders) + @($before | Where-Object { $_ })) -join ':')
    }
    if (Test-Path -LiteralPath "$toolkit/bin/nvcc") { $want = "$want`:nvcc" }
    $values = __cudaswitch_scalars $want
    foreach ($name in $values.Keys) {
        __cudaswitch_set "_CUDASWITCH_WAS_$name" (__cudaswitch_get $name)
        __cudaswitch_set $name $values[$name]
    }
    $env:_CUDASWITCH_ON = $want
}
