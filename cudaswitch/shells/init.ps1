# What `cudaswitch init pwsh` adds to core.ps1: the function that changes this shell, and the look
# before a prompt. Pins of environments are read from their `want` files.
# $_cudaswitch_root is the store that answers; requests/NAME in it holds the ready answer to a
# request. $_cudaswitch_store is the store that the integration was written for.
# $_cudaswitch_program is the command itself.

# The command. If it has been moved, or reinstalled elsewhere, that is the one on PATH.
function global:__cudaswitch_located {
    if ([IO.File]::Exists($global:_cudaswitch_program)) { return $global:_cudaswitch_program }
    $found = Get-Command -Name cudaswitch -CommandType Application -TotalCount 1 -ErrorAction Ignore
    if ($found) { $found.Source } else { $global:_cudaswitch_program }
}

# Is a toolkit there? One that is based on another is of no use without it. A `.base` that is listed
# may be a link that leads nowhere.
function global:__cudaswitch_there([string] $Toolkit) {
    [IO.Directory]::Exists($Toolkit) -and
        ([IO.Directory]::Exists("$Toolkit/.base") -or
        [IO.Directory]::GetFileSystemEntries($Toolkit, '.base').Count -eq 0)
}

# Use the store that CUDASWITCH_HOME names, or the one that the integration was written for. If only
# Python can resolve its path, no answer is ready.
function global:__cudaswitch_store {
    $root = if ($env:CUDASWITCH_HOME) { $env:CUDASWITCH_HOME } else { $global:_cudaswitch_store }
    if ($root.StartsWith('~/')) { $root = $env:HOME + $root.Substring(1) }
    if (-not $root.StartsWith('/')) { $root = '/dev/null' }
    if ($root -ceq $global:_cudaswitch_root) { return }
    $global:_cudaswitch_root = $root
    $global:_cudaswitch_asked = ''
}

# The ready answer to a request, nothing if Python must be asked.
function global:__cudaswitch_ready([string] $Request) {
    if ($Request -cnotmatch '\A[A-Za-z0-9_+<>=!][A-Za-z0-9._+<>=!,-]*\z') { return }
    $file = "$global:_cudaswitch_root/requests/$Request"
    if (-not [IO.File]::Exists($file)) { return }
    $want = [IO.File]::ReadAllText($file).Split("`n")[0]
    if (__cudaswitch_there ($want.Split(':')[0])) { $want }
}

# Have the packages of an environment changed since the file was written?
function global:__cudaswitch_newer([string] $Prefix, [string] $File) {
    $written = [IO.File]::GetLastWriteTimeUtc($File)
    $folders = @("$Prefix/conda-meta")
    if ([IO.Directory]::Exists("$Prefix/lib")) {
        foreach ($python in [IO.Directory]::GetDirectories("$Prefix/lib")) {
            if ($python -cmatch '/python[23][^/]*\z') { $folders += "$python/site-packages" }
        }
    }
    foreach ($folder in $folders) {
        if ([IO.Directory]::Exists($folder) -and
            [IO.Directory]::GetLastWriteTimeUtc($folder) -gt $written) { return $true }
    }
    $false
}

# The active environment, nothing if there is none. Of two, it is the one whose programs come first
# on PATH.
function global:__cudaswitch_active {
    $venv = __cudaswitch_virtualenv
    $both = @($venv, $env:CONDA_PREFIX)
    if ($env:CONDA_PREFIX -and (__cudaswitch_before $env:CONDA_PREFIX $venv)) {
        $both = @($env:CONDA_PREFIX, $venv)
    }
    foreach ($prefix in $both) {
        if (-not "$prefix".StartsWith('/')) { continue }
        if ([IO.Directory]::Exists("$prefix/conda-meta") -or
            [IO.File]::Exists("$prefix/pyvenv.cfg") -or
            [IO.File]::Exists("$prefix/bin/activate_this.py")) { return $prefix }
    }
}

# The ready answer to what the frameworks of an environment need, empty if they need nothing; $null
# if Python must be asked.
function global:__cudaswitch_automatic([string] $Prefix) {
    $file = "$global:_cudaswitch_root/auto/$($Prefix.Replace('/', '%'))"
    if (-not [IO.File]::Exists($file) -or (__cudaswitch_newer $Prefix $file)) { return $null }
    $said = [IO.File]::ReadAllText($file).Split("`n")
    if ($said.Count -lt 2 -or $said[0] -cne $Prefix) { return $null }
    if ($said[1] -and -not (__cudaswitch_there ($said[1].Split(':')[0]))) { return $null }
    $said[1]
}

# Python's answer. It is asked, and complains, once as long as $About and what is installed are the
# same.
function global:__cudaswitch_ask_once([string] $About, [string] $Option, [string] $Value) {
    $now = "$About`:$(__cudaswitch_content "$global:_cudaswitch_root/requests/.fingerprint")"
    if ($now -cne $global:_cudaswitch_asked) {
        # A question that Ctrl-C ended is asked again.
        $global:_cudaswitch_asked = ''
        $global:_cudaswitch_answer = & (__cudaswitch_located) want $Option $Value
        $global:_cudaswitch_asked = $now
    }
    $global:_cudaswitch_answer
}

# The content of a version file, for comparison.
function global:__cudaswitch_content([string] $File) {
    "$(Get-Content -LiteralPath $File -Raw -ErrorAction Ignore)"
}

# What the directory asks for, else the frameworks of the active environment, else the user.
# $_cudaswitch_file is the version file of the directory, $_cudaswitch_text what it holds.
function global:__cudaswitch_directory {
    $folder = $PWD.ProviderPath
    $global:_cudaswitch_file = ''
    $global:_cudaswitch_text = ''
    while ($folder) {
        $near = [IO.Path]::Combine($folder, '.cuda-version')
        if ([IO.File]::Exists($near)) {
            $global:_cudaswitch_file = $near
            $global:_cudaswitch_text = __cudaswitch_content $near
            return __cudaswitch_ask_once "$near`:$global:_cudaswitch_text" '--file' $near
        }
        if ($folder -ceq "$env:HOME".TrimEnd('/')) { break }
        $folder = [IO.Path]::GetDirectoryName($folder)
    }
    $prefix = __cudaswitch_active
    if ($prefix) {
        $want = __cudaswitch_automatic $prefix
        if ($null -eq $want) { $want = __cudaswitch_ask_once $prefix '--environment' $prefix }
        if ($want) { return $want }
    }
    $file = "$global:_cudaswitch_root/global"
    if ([IO.File]::Exists($file)) {
        __cudaswitch_ask_once "$file`:$(__cudaswitch_content $file)" '--file' $file
    }
}

# Has the version file that decides changed, or is there a nearer one? Not asked if something
# stronger decides.
function global:__cudaswitch_edited {
    if ($env:_CUDASWITCH_U -or $env:_CUDASWITCH_X -or $env:_CUDASWITCH_C -or $env:_CUDASWITCH_V) {
        return $false
    }
    $file = $global:_cudaswitch_file
    $here = [IO.Path]::Combine($PWD.ProviderPath, '.cuda-version')
    if ($file -cne $here -and [IO.File]::Exists($here)) { return $true }
    if (-not $file) { return $false }
    -not [IO.File]::Exists($file) -or (__cudaswitch_content $file) -cne $global:_cudaswitch_text
}

# What an environment's pin asks for, nothing if there is none.
function global:__cudaswitch_pinned([string] $Prefix) {
    $file = "$Prefix/etc/cudaswitch/want"
    # A relative path would be looked for in any directory.
    if (-not $Prefix.StartsWith('/') -or -not [IO.File]::Exists($file)) { return }
    $want = [IO.File]::ReadAllText($file).TrimEnd("`n").Replace("`n", '/')
    $pin = "$(Get-Content -LiteralPath "$Prefix/etc/cudaswitch/pin" -Raw -ErrorAction Ignore)"
    if ($pin -cmatch '\A(cuda )?(?!cuda )[A-Za-z]' -and (__cudaswitch_newer $Prefix $file)) {
        $now = & (__cudaswitch_located) want --environment $Prefix
        if ($now) { $want = $now }
    }
    $toolkit = $want.Split(':')[0]
    if ($toolkit -cne 'system' -and -not (__cudaswitch_there $toolkit)) {
        # Somebody else may have pinned it, and this user's store may have another for that pin.
        $other = "$(& (__cudaswitch_located) want --file "$Prefix/etc/cudaswitch/pin" 2> $null)"
        $want = if ($other -cmatch '^(/|system$)') { $other } else { 'gone' + $want.Substring($toolkit.Length) }
    }
    "$want`:env=$Prefix"
}

function global:__cudaswitch_watched {
    "$env:CONDA_PREFIX|$env:VIRTUAL_ENV|$($PWD.ProviderPath)|$env:CUDASWITCH_VERSION|$env:CUDASWITCH_HOME"
}

# The active conda environment, and those on PATH that it was stacked on, downwards.
function global:__cudaswitch_standing {
    if (-not $env:CONDA_PREFIX) { return }
    $env:CONDA_PREFIX
    $folders = $env:PATH.Split(':')
    for ($level = [Math]::Min(99, ("$env:CONDA_SHLVL" -as [int])); $level -gt 1; $level--) {
        $below = "$(__cudaswitch_get "CONDA_PREFIX_$($level - 1)")"
        $stacked = __cudaswitch_get "CONDA_STACKED_$level"
        if ($stacked -and $folders -ccontains "$below/bin") { $below }
    }
}

# Drop what belongs to an environment that was left, take up what is asked for, settle. With $Later,
# the first prompt is to say what is active: a script has none, and prints nothing.
function global:__cudaswitch_look([switch] $Later) {
    Set-StrictMode -Off
    # A refusal has been printed: the user's preference would report its exit status beside it.
    $PSNativeCommandUseErrorActionPreference = $false
    __cudaswitch_store
    $on = "$env:_CUDASWITCH_ON"
    $was = "$global:_cudaswitch_seen||".Split('|')
    if ($was[1] -cne "$env:VIRTUAL_ENV") {
        # `deactivate` restores the PATH of the activation.
        if ($was[1] -and $global:_cudaswitch_kept) {
            $env:_CUDASWITCH_GONE = "$env:_CUDASWITCH_GONE`:$global:_cudaswitch_kept"
        }
        $global:_cudaswitch_kept = "$env:_CUDASWITCH_BIN"
    }
    $moved = $was[0] -cne "$env:CONDA_PREFIX" -or $was[1] -cne "$env:VIRTUAL_ENV"
    if ($moved) { $global:_cudaswitch_asked = '' }
    $owners = [ordered] @{ _CUDASWITCH_V = @(__cudaswitch_virtualenv); _CUDASWITCH_C = __cudaswitch_standing }
    foreach ($owner in $owners.Keys) {
        $known = "$(__cudaswitch_get $owner)"
        $left = $known -creplace '(?s).*:env=', ''
        $want = $null
        foreach ($prefix in $owners[$owner]) {
            if ($want -or -not $prefix) { continue }
            # It may have been unpinned in another terminal, or the toolkit be gone.
            $is = $left -ceq $prefix -and [IO.File]::Exists("$prefix/etc/cudaswitch/want") -and
                (-not $env:_CUDASWITCH_ON -or [IO.Directory]::Exists(($env:_CUDASWITCH_ON -split ':')[0]))
            $want = if ($is) { $known } else { __cudaswitch_pinned $prefix }
        }
        __cudaswitch_set $owner $want
    }
    # `auto`, or an alias for it, depends on the environment. A refusal is reported once.
    if (($was[3..4] -join '|') -cne "$env:CUDASWITCH_VERSION|$env:CUDASWITCH_HOME" -or
        ($moved -and "${env:CUDASWITCH_VERSION}:$env:_CUDASWITCH_X" -cmatch '^(auto:|(?!system:|latest:)[A-Za-z][\w.+-]*:.)')) {
        $want = $null
        if ($env:CUDASWITCH_VERSION) {
            $want = __cudaswitch_ready $env:CUDASWITCH_VERSION
            if (-not $want) { $want = & (__cudaswitch_located) want -- $env:CUDASWITCH_VERSION }
        }
        __cudaswitch_set '_CUDASWITCH_X' $want
    }
    if ($env:_CUDASWITCH_X -or $env:_CUDASWITCH_C -or $env:_CUDASWITCH_V) {
        __cudaswitch_set '_CUDASWITCH_D' $null
        $global:_cudaswitch_file = ''
    } elseif (-not $env:_CUDASWITCH_U) {
        __cudaswitch_set '_CUDASWITCH_D' (__cudaswitch_directory)
    }
    # Nothing is touched without a reason: users put their own folders before ours.
    if ($moved -or $env:_CUDASWITCH_GONE -or
        (__cudaswitch_strongest) -cne ($on -creplace ':nvcc\z', '')) {
        __cudaswitch_settle
    }
    $global:_cudaswitch_seen = __cudaswitch_watched
    if ($on -ceq "$env:_CUDASWITCH_ON") { return }
    if ($Later) { $global:_cudaswitch_unsaid = $true } else { __cudaswitch_say }
}

# Print one line on what is active now.
function global:__cudaswitch_say {
    $global:_cudaswitch_unsaid = $false
    if ($env:CUDASWITCH_QUIET) { return }
    $line = 'no toolkit'
    if ($env:_CUDASWITCH_ON) {
        $folder = $env:_CUDASWITCH_ON.Split(':')[0]
        # A name such as `cuda`, of /opt/cuda, does not tell which one it is.
        if ($folder -cmatch '[0-9][^/]*\z') { $folder = $folder.Split('/')[-1] -creplace '^cuda-', '' }
        $line = "CUDA $folder"
        if (-not $env:_CUDASWITCH_LIB) {
            $why = ': this environment brings its own CUDA'
            if ($env:_CUDASWITCH_ON -clike '*:lib=never*') { $why = ', as asked' }
            $line += " (LD_LIBRARY_PATH left alone$why)"
        }
        $compiler = if (-not $env:_CUDASWITCH_CC) { __cudaswitch_host $env:_CUDASWITCH_ON }
        if ($compiler -and -not [IO.File]::Exists($compiler)) {
            $line += " (its nvcc refuses the gcc here: install $($compiler.Split('/')[-1]))"
        }
    }
    [Console]::Error.WriteLine("cudaswitch: $line")
}

function global:__cudaswitch_choose([string] $Want) {
    # Not exported: PowerShell before 7.5 has no variables that are set but empty. Without a choice,
    # `off` gives up nothing that `use -` could return to.
    if ($Want -or $env:_CUDASWITCH_U) { $global:_cudaswitch_previous = "$env:_CUDASWITCH_U" }
    if ($Want) {
        $env:_CUDASWITCH_U = $Want
        __cudaswitch_settle
        __cudaswitch_say
    } else {
        __cudaswitch_set '_CUDASWITCH_U' $null
        __cudaswitch_look
    }
}

# The words of a call as a program would get them. PowerShell takes 13.0 for a number and keeps what
# was typed for a cast to a string; a method that takes objects, or "$word", gets 13. Words joined by
# commas are one, and the `--` of `exec`, which PowerShell keeps from every function, is put where
# the typed line has it.
function global:__cudaswitch_words([object[]] $Given, $Call) {
    $words = [Collections.Generic.List[object]]::new()
    foreach ($word in $Given) {
        if ($word -is [array]) { $word = $word -join ',' }
        if ($null -ne $word) { $word = [string] $word }
        $words.Add($word)
    }
    if ("$($Given[0])" -ceq 'exec' -and $Call.OffsetInLine -gt 0) {
        $line = $Call.Line.Substring($Call.OffsetInLine - 1)
        $tree = [Management.Automation.Language.Parser]::ParseInput($line, [ref] $null, [ref] $null)
        $typed = $tree.Find({ $args[0] -is [Management.Automation.Language.CommandAst] }, $true)
        $at = 0
        foreach ($element in $typed.CommandElements | Select-Object -Skip 1) {
            # After something that may be any number of words, no position is known.
            if ($element.Splatted -or $element.Argument -or $at -gt $words.Count) { break }
            if ($element.ParameterName -ceq '-') {
                $words.Insert($at, '--')
                break
            }
            $at++
        }
    }
    $words
}

function global:cudaswitch {
    Set-StrictMode -Off
    $words = @(__cudaswitch_words $args $MyInvocation)
    $command = "$($words[0])"
    $help = $words -ccontains '--help' -or $words -ccontains '-h'
    # The exit status if the program is gone.
    $global:LASTEXITCODE = 127
    if ($command -ceq 'use' -and -not $help) {
        if ($words.Count -eq 2 -and $words[1] -ceq '-') {
            $want = $global:_cudaswitch_previous
            $why = if ($null -eq $want) { 'there is no previous choice in this shell' }
            $gone = "$want".Split(':')[0]
            if ($gone.StartsWith('/') -and -not (__cudaswitch_there $gone)) {
                $why = "``$gone`` is gone"
            }
            if ($why) {
                [Console]::Error.WriteLine("cudaswitch: $why")
                [Console]::Error.WriteLine('hint: cudaswitch use VERSION')
                $global:LASTEXITCODE = 1
                return
            }
        } elseif ($words.Count -eq 2 -and $words[1] -ceq 'system') {
            $want = 'system'
        } else {
            __cudaswitch_store
            $want = if ($words.Count -eq 2) { __cudaswitch_ready $words[1] }
            if (-not $want) {
                $rest = @($words | Select-Object -Skip 1)
                $PSNativeCommandUseErrorActionPreference = $false
                $want = & (__cudaswitch_located) want --for-use @rest
                if ($LASTEXITCODE) { return }
            }
        }
        __cudaswitch_choose $want
        $global:LASTEXITCODE = 0
    } elseif ($command -ceq 'off' -and $words.Count -eq 1) {
        __cudaswitch_choose ''
        $global:LASTEXITCODE = 0
    } else {
        if ($MyInvocation.ExpectingInput) {
            $input | & (__cudaswitch_located) @words
        } else {
            & (__cudaswitch_located) @words
        }
        $code = $global:LASTEXITCODE
        $said = @($command) + @($words | ForEach-Object { "$command+$_" })
        $changing = "pin unpin install adopt remove alias sync gc".Split(' ')
        $changing += "config+set config+unset doctor+--fix verify+--repair".Split(' ')
        if ($help -or -not ($said | Where-Object { $changing -ccontains $_ })) { return }
        # What the pin of an active environment asks for may have changed.
        __cudaswitch_set '_CUDASWITCH_C' $null
        __cudaswitch_set '_CUDASWITCH_V' $null
        # A command that failed may have done part of its work; a refusal was reported already.
        if (-not $code) { $global:_cudaswitch_asked = '' }
        __cudaswitch_look
        $global:LASTEXITCODE = $code
    }
}

function global:__cudaswitch_prompt {
    Set-StrictMode -Off
    $code = $global:LASTEXITCODE
    if ((__cudaswitch_watched) -cne $global:_cudaswitch_seen -or $env:_CUDASWITCH_GONE -or
        (__cudaswitch_edited)) {
        __cudaswitch_look
    }
    if ($global:_cudaswitch_unsaid) { __cudaswitch_say }
    $global:LASTEXITCODE = $code
}

# A prompt that takes a look and then calls the user's, which finds $? and $LASTEXITCODE as they
# were. It holds the user's prompt itself: others may wrap ours, which may then wrap theirs again.
function global:__cudaswitch_around($Prompt) {
    {
        $ok = $?
        __cudaswitch_prompt
        if (-not $ok) { Write-Error '' -ErrorAction Ignore }
        & $Prompt
    }.GetNewClosure()
}

if (-not (Test-Path -Path Variable:global:_cudaswitch_previous)) {
    $global:_cudaswitch_previous = $env:_CUDASWITCH_PREVIOUS
}
# A prompt that has replaced ours since is wrapped, too.
if ("$function:prompt" -cnotlike '*__cudaswitch_prompt*') {
    Set-Item -Path Function:global:prompt -Value (__cudaswitch_around $function:prompt)
}
# Scripts read the profile as well.
__cudaswitch_look -Later
