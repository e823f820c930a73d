# What `cudaswitch init` adds to core.nu: the command that changes this shell, and the look that the
# prompt takes when the environment or directory has changed.
# What belongs to this shell alone is kept in lists and records, which Nushell never exports.
# $env._cudaswitch_root.0 is the store that answers; requests/NAME in it holds the ready answer to a
# request. $env._cudaswitch_store.0 is the store that the integration was written for.
# $env._cudaswitch_program.0 is the command itself, which need not be on an environment's PATH.

# The command. If it has been moved, or reinstalled elsewhere, that is the one on PATH.
def __cudaswitch_program [] {
    let own = $env._cudaswitch_program.0
    if (__cudaswitch_is_file $own) { return $own }
    let found = (%which --all cudaswitch | where type == external | get --optional 0.path)
    if $found == null {
        error make --unspanned {msg: $'cudaswitch: `($own)` is gone, and no other is on PATH', help: 'reinstall cudaswitch and run cudaswitch init --install, or remove its marked lines from the startup file'}
    }
    $found
}

def __cudaswitch_is_file [path] {
    try { ($path | path expand --strict | path type) == file } catch { false }
}

# Is a toolkit there? One that is based on another is of no use without it.
def __cudaswitch_there [home] {
    (__cudaswitch_is_dir $home) and (($'($home)/.base' | path type) != symlink or (__cudaswitch_is_dir $'($home)/.base'))
}

# Use the store that CUDASWITCH_HOME names, or the one that the integration was written for. If only
# Python can resolve its path, no answer is ready.
def --env __cudaswitch_store [] {
    let chosen = ($env.CUDASWITCH_HOME? | default --empty $env._cudaswitch_store.0)
    let root = if $chosen starts-with / { $chosen } else if $chosen starts-with ~/ { $'($env.HOME?)($chosen | str substring 1..)' } else { '/dev/null' }
    if $root != $env._cudaswitch_root.0 {
        $env._cudaswitch_root = [$root]
        $env._cudaswitch_asked = []
    }
}

# The ready answer to a request, null if Python must be asked.
def __cudaswitch_ready [request] {
    # A pattern is not a request.
    if ($request | describe) != string or $request !~ '^[A-Za-z0-9_+<>=!][A-Za-z0-9._+<>=!,-]*$' { return null }
    let file = $'($env._cudaswitch_root.0)/requests/($request)'
    if not (__cudaswitch_is_file $file) { return null }
    let want = (try { %open --raw $file | lines | get --optional 0 | default '' } catch { '' })
    if (__cudaswitch_there ($want | split row : | first)) { $want }
}

# The text of a version file, null if it is another user's, or longer than Python accepts, or in
# UTF-16, which `decode` would read whatever it is told.
def __cudaswitch_text [file] {
    try {
        let own = (%ls --long --directory $'/proc/($nu.pid)' | get 0.user)
        let found = (%ls --long --directory ($file | path expand) | get 0)
        # A link leads to whatever file its owner likes.
        let owners = [$found.user (%ls --long --directory $file | get 0.user)]
        if $found.type == file and ($owners | all {|it| $it in [$own root] }) and $found.size <= 4096b {
            let bytes = (%open --raw $file | into binary)
            if ($bytes | bytes at 0..1) not-in [0x[ff fe] 0x[fe ff]] { $bytes | decode utf-8 }
        }
    } catch { null }
}

# The ready answer to the text of a version file, null if Python must be asked.
def __cudaswitch_read [text] {
    mut said: any = {cuda: null, cudnn: null, libraries: null}
    for line in ($text | lines | str replace --regex '#.*' '' | str trim | where $it != '') {
        let part = ($line | parse --regex '^(?:(?<key>cuda|cudnn|libraries)(?:[ \t]*=[ \t]*|[ \t]+))?(?<value>\S+)$' | get --optional 0)
        if $part == null { return null }
        let key = ($part.key | default --empty cuda)
        if ($said | get $key) != null { return null }
        $said = ($said | update $key $part.value)
    }
    if $said.cuda == null or $said.libraries not-in [null auto always never] { return null }
    let want = (__cudaswitch_ready ([$said.cuda $said.cudnn] | compact | str join '+cudnn'))
    # The settings may have said so already.
    if $said.libraries != null and ($want | default '') =~ ':lib=' { return null }
    if $want != null { [$want $said.libraries] | compact | str join ':lib=' }
}

# The nearest version file from the working directory upward, not above the home folder;
# null if there is none.
def __cudaswitch_file [] {
    mut dir = $env.PWD
    loop {
        let file = ($dir | path join .cuda-version)
        if (__cudaswitch_is_file $file) { return $file }
        if $dir in [/ ($env.HOME? | default '' | str trim --right --char '/')] { return null }
        $dir = ($dir | path dirname)
    }
}

# The active environment, null if there is none. Of two, it is the one whose programs come first on
# PATH.
def __cudaswitch_active [] {
    let conda = ($env.CONDA_PREFIX? | default '')
    let venv = (__cudaswitch_virtualenv)
    let both = if (__cudaswitch_before $conda $venv) { [$conda $venv] } else { [$venv $conda] }
    $both | where $it starts-with / | where {|one|
        (__cudaswitch_is_dir $'($one)/conda-meta') or (__cudaswitch_is_file $'($one)/pyvenv.cfg') or (__cudaswitch_is_file $'($one)/bin/activate_this.py')
    } | get --optional 0
}

# Have the packages of an environment changed since the file was written?
def __cudaswitch_newer [prefix, file] {
    let literal = (__cudaswitch_literal $prefix)
    let since = (try { %ls --directory ($file | path expand) | get 0.modified } catch { return true })
    [conda-meta lib/python[23]*/site-packages] | any {|pattern|
        try { %ls --directory ($'($literal)/($pattern)' | into glob) | any { $in.modified > $since } } catch { false }
    }
}

# The ready answer to what the frameworks of an environment need, empty if they need nothing; null
# if Python must be asked.
def __cudaswitch_automatic [prefix] {
    let file = $'($env._cudaswitch_root.0)/auto/($prefix | str replace --all / %)'
    if not (__cudaswitch_is_file $file) or (__cudaswitch_newer $prefix $file) { return null }
    let said = (try { %open --raw $file | decode utf-8 | lines } catch { return null })
    if $said.0? != $prefix { return null }
    let want = ($said.1? | default '')
    if $want == '' or (__cudaswitch_there ($want | split row : | first)) { $want }
}

# Python's answer. It is asked, and complains, once as long as $about and what is installed are the
# same, not at every step within a tree.
def --env __cudaswitch_ask_once [what, ...args] {
    # Not interpolated in place, which would be a pattern.
    let installed = $'($env._cudaswitch_root.0)/requests/.fingerprint'
    let about = [...$what (try { %open --raw $installed | decode utf-8 } catch { '' })]
    let home = ($env._cudaswitch_answer?.0? | default '' | split row : | first)
    if $env._cudaswitch_asked? != $about or ($home != '' and $home != system and not (__cudaswitch_there $home)) {
        $env._cudaswitch_answer = [(try { ^(__cudaswitch_program) want ...$args | collect } catch { '' })]
        $env._cudaswitch_asked = $about
    }
    $env._cudaswitch_answer.0 | str trim --right --char "\n"
}

# _CUDASWITCH_D: what the directory asks for, else the frameworks of the active environment, else
# the user. What was read of the directory's file is kept for comparison.
def --env __cudaswitch_directory [] {
    let file = (__cudaswitch_file)
    let text = if $file != null { __cudaswitch_text $file }
    $env._cudaswitch_file = [$file $text]
    let prefix = if $file == null { __cudaswitch_active }
    let framework = if $prefix != null { __cudaswitch_automatic $prefix }
    mut want = if $text != null { __cudaswitch_read $text } else { $framework }
    if $want == null and $file != null { $want = (__cudaswitch_ask_once [$file $text] '--file' $file) }
    if $want == null and $prefix != null { $want = (__cudaswitch_ask_once [$prefix] '--environment' $prefix) }
    let own = $'($env._cudaswitch_root.0)/global'
    if $file == null and ($want | is-empty) and (__cudaswitch_is_file $own) {
        let text = (__cudaswitch_text $own)
        $want = if $text != null { __cudaswitch_read $text }
        if $want == null { $want = (__cudaswitch_ask_once [$own $text] '--file' $own) }
    }
    $env._CUDASWITCH_D = if ($want | is-empty) { null } else { $want }
    # A refusal in a tree is reported again on the next visit.
    if $env._cudaswitch_answer?.0? == '' and $env._cudaswitch_asked?.0? not-in [$file $prefix $own] {
        $env._cudaswitch_asked = []
    }
}

# Has the version file that decides changed, or is there a nearer one? Not asked if something
# stronger decides.
def __cudaswitch_edited [] {
    if ([$env._CUDASWITCH_U? $env._CUDASWITCH_X? $env._CUDASWITCH_C? $env._CUDASWITCH_V?] | any { is-not-empty }) { return false }
    let file = $env._cudaswitch_file?.0?
    let here = ($env.PWD | path join .cuda-version)
    if $file != $here and ($here | path exists) { return true }
    $file != null and (__cudaswitch_text $file) != $env._cudaswitch_file.1
}

# Does an environment have a pin? It may have been unpinned in another terminal.
def __cudaswitch_pins [prefix] {
    __cudaswitch_is_file $'($prefix)/etc/cudaswitch/want'
}

# What the pin of an environment asks for, null if it has none: in the file that `cudaswitch pin`
# writes, each slash is a line break.
def __cudaswitch_pin [prefix] {
    let file = $'($prefix)/etc/cudaswitch/want'
    # A relative path would be looked for in any directory.
    if not ($prefix starts-with /) or not (__cudaswitch_pins $prefix) { return null }
    let want = (try { %open --raw $file | decode utf-8 | str replace --regex '\n$' '' | str replace --all "\n" / } catch { return null })
    let pin = $'($prefix)/etc/cudaswitch/pin'
    let now = if (__cudaswitch_newer $prefix $file) and (try { %open --raw $pin | decode utf-8 } catch { '' }) =~ '^(cuda )?(?!cuda )[A-Za-z]' {
        try { ^(__cudaswitch_program) want --environment $prefix | collect | str trim --right --char "\n" } catch { '' }
    }
    let want = if ($now | is-empty) { $want } else { $now }
    let home = ($want | split row : | first)
    if $home == system or (__cudaswitch_there $home) { return $'($want):env=($prefix)' }
    # Somebody else may have pinned it, and this user's store may have another for that pin.
    let other = (try { ^(__cudaswitch_program) want --file $pin e> /dev/null | collect | str trim --right --char "\n" } catch { '' })
    if $other == system or $other starts-with / { return $'($other):env=($prefix)' }
    if (is-terminal --stderr) {
        print --stderr $'cudaswitch: `($home)` is gone, so nothing is switched (char lparen)pinned by `($prefix)`(char rparen)'
    }
    $'gone($want | str substring ($home | str length)..):env=($prefix)'
}

# The active conda environment, and those on PATH that it was stacked on, downwards.
def __cudaswitch_standing [] {
    if ($env.CONDA_PREFIX? | is-empty) { return [] }
    let level = ([(try { $env.CONDA_SHLVL | into int } catch { 1 }) 99] | math min)
    let folders = (__cudaswitch_elements $env.PATH?)
    let below = (1..$level | each { $in } | skip 1 | reverse
        | where {|it| $env | get --optional $'CONDA_STACKED_($it)' | is-not-empty }
        | each {|it| $env | get --optional $'CONDA_PREFIX_($it - 1)' }
        | where {|it| ($it | is-not-empty) and $'($it)/bin' in $folders })
    [$env.CONDA_PREFIX ...$below]
}

# The values whose change calls for a look.
def __cudaswitch_watched [] {
    [($env.CONDA_PREFIX? | default '') ($env.VIRTUAL_ENV? | default '') $env.PWD ($env.CUDASWITCH_VERSION? | default '' | into string) ($env.CUDASWITCH_HOME? | default '')]
}

# Drop what belongs to an environment that was left, take up what the environment, the
# directory or the user asks for, and settle.
def --env __cudaswitch_look [] {
    __cudaswitch_store
    let before = ($env._CUDASWITCH_ON? | default '')
    let line = (__cudaswitch_line)
    let seen = $env._cudaswitch_seen
    let now = (__cudaswitch_watched)
    # What environments and CUDASWITCH_VERSION ask for may have changed, or be gone.
    let gone = $before != '' and not (__cudaswitch_is_dir ($before | split row : | first))
    if $gone or ($env._cudaswitch_again? | is-not-empty) {
        $env._CUDASWITCH_C = null
        $env._CUDASWITCH_V = null
    }
    let conda = ($env._CUDASWITCH_C? | default '' | str replace --regex '(?s).*:env=' '')
    let venv = ($env._CUDASWITCH_V? | default '' | str replace --regex '(?s).*:env=' '')
    $env._CUDASWITCH_C = (__cudaswitch_standing | reduce --fold null {|one, found|
        $found | default { if $one == $conda and (__cudaswitch_pins $one) { $env._CUDASWITCH_C } else { __cudaswitch_pin $one } }
    })
    let active = (__cudaswitch_virtualenv)
    if $venv != $active or $venv == '' or not (__cudaswitch_pins $venv) {
        $env._CUDASWITCH_V = (__cudaswitch_pin $active)
    }
    let moved = ($seen | take 2) != ($now | take 2)
    # `auto`, or an alias for it, depends on the environment. A refusal is reported once.
    let moves = $moved and $'($now.3):($env._CUDASWITCH_X?)' =~ '^(auto:|(?!system:|latest:)[A-Za-z][\w.+-]*:.)'
    if ($now | skip 3) != ($seen | skip 3) or ($env._cudaswitch_again? | is-not-empty) or $moves {
        $env._CUDASWITCH_X = null
        if $now.3 != '' {
            let want = (__cudaswitch_ready $now.3 | default { try { ^(__cudaswitch_program) want -- $now.3 } catch { '' } })
            if $want != '' { $env._CUDASWITCH_X = ($want | str trim --right --char "\n") }
        }
    }
    if ([$env._CUDASWITCH_X? $env._CUDASWITCH_C? $env._CUDASWITCH_V?] | any { is-not-empty }) {
        $env._CUDASWITCH_D = null
    } else if ($env._CUDASWITCH_U? | is-empty) {
        __cudaswitch_directory
    }
    # Nothing is touched without a reason: users put their own folders before ours.
    if $moved or ($env._CUDASWITCH_GONE? | is-not-empty) or (__cudaswitch_strongest) != ($before | str replace --regex ':nvcc$' '') {
        __cudaswitch_settle
    }
    $env._cudaswitch_seen = $now
    $env._cudaswitch_again = []
    if $line != (__cudaswitch_line) { __cudaswitch_say }
}

# Print one line on what is active now.
def __cudaswitch_say [] {
    if ($env.CUDASWITCH_QUIET? | is-empty) { print --stderr $'cudaswitch: (__cudaswitch_line)' }
}

def __cudaswitch_line [] {
    let on = ($env._CUDASWITCH_ON? | default '')
    if $on == '' { return 'no toolkit' }
    let why = if ($env._CUDASWITCH_LIB? | is-not-empty) { '' } else if ':lib=never' in $on { ' (LD_LIBRARY_PATH left alone, as asked)' } else { ' (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)' }
    let compiler = if ($env._CUDASWITCH_CC? | is-empty) { __cudaswitch_host (__cudaswitch_variables) $on } else { '' }
    let lacks = if $compiler != '' and (%which $compiler | is-empty) { $" \(its nvcc refuses the gcc here: install ($compiler | path basename)\)" } else { '' }
    let home = ($on | split row : | first)
    # A name such as `cuda`, of /opt/cuda, does not tell which one it is.
    let name = if ($home | path basename) =~ '[0-9]' { $home | path basename | str replace --regex '^cuda-' '' } else { $home }
    $'CUDA ($name)($why)($lacks)'
}

# Correct what comes back with an overlay: Nushell gives its variables the values that they had in
# it when it was left, if they are also set outside. $env._cudaswitch_outside holds their values
# outside; $env._cudaswitch_awake is set only inside, and so is gone in an overlay that was just
# entered.
def --env __cudaswitch_overlay [] {
    let overlay = (overlay list | where active | last | get name)
    if $env._cudaswitch_base? == null { $env._cudaswitch_base = [$overlay] }
    let now = (__cudaswitch_variables | merge ($env | select --optional _CUDASWITCH_U _CUDASWITCH_X _CUDASWITCH_C _CUDASWITCH_V _CUDASWITCH_D _CUDASWITCH_PREVIOUS) | reject PATH)
    if [$overlay] == $env._cudaswitch_base {
        $env._cudaswitch_outside = {seen: $env._cudaswitch_seen, variables: $now}
        return
    }
    if $env._cudaswitch_awake? == null {
        let inside = $env._cudaswitch_inside
        let stale = ($inside | columns | where {|name| ($inside | get $name) == ($now | get $name) })
        # `select` of no columns would select all.
        if ($stale | is-not-empty) { load-env ($env._cudaswitch_outside.variables | select ...$stale) }
        $env._cudaswitch_seen = $env._cudaswitch_outside.seen
        $env._cudaswitch_awake = [true]
    }
    $env._cudaswitch_inside = $now
}

def --env __cudaswitch_prompt [] {
    let code = ($env.LAST_EXIT_CODE? | default 0)
    __cudaswitch_overlay
    let now = (__cudaswitch_watched)
    if $now != $env._cudaswitch_seen or ($env._cudaswitch_again? | is-not-empty) or ($env._CUDASWITCH_GONE? | is-not-empty) or (__cudaswitch_edited) {
        __cudaswitch_look
        __cudaswitch_overlay
        $env.LAST_EXIT_CODE = $code
    }
}

# Switch CUDA toolkits: `cudaswitch use 10.1`, `cudaswitch off`, `cudaswitch --help`
def --env --wrapped cudaswitch [...args] {
    let input = $in
    # As for any program: without a type, a bare `*.cu` or `~` is a pattern or a path, and a bare
    # 12.10 is text as typed. A number comes from a variable.
    let args = ($args | each {|it| if ($it | describe) == glob { $it } else { $it | into string } })
    let command = ($args | get --optional 0)
    let rest = ($args | skip 1)
    let own = $command in [use pin unpin] or $args in [[off] [off --]]
    if not $own or ($args | any {|arg| $arg in [-h --help] }) {
        # Their output goes on down a pipeline; the prompt looks at what they have changed.
        let changing = [pin unpin install adopt remove alias sync gc
            config+set config+unset doctor+--fix verify+--repair]
        if $command in $changing or ($args | any {|arg| $'($command)+($arg)' in $changing }) {
            $env._cudaswitch_again = [1]
        }
        # Even piping null into it would take the terminal away.
        if $input == null { ^(__cudaswitch_program) ...$args } else { $input | ^(__cudaswitch_program) ...$args }
    } else if $command in [use off] {
        __cudaswitch_store
        let want = if $command == off { '' } else if $rest == [-] {
            if $env._CUDASWITCH_PREVIOUS? == null {
                error make --unspanned {msg: 'cudaswitch: there is no previous choice in this shell', help: 'cudaswitch use VERSION'}
            }
            let home = ($env._CUDASWITCH_PREVIOUS | split row : | first)
            if ($home | str starts-with /) and not (__cudaswitch_there $home) {
                error make --unspanned {msg: $'cudaswitch: `($home)` is gone', help: 'cudaswitch use VERSION'}
            }
            $env._CUDASWITCH_PREVIOUS
        } else if $rest == [system] {
            'system'
        } else {
            let ready = if ($rest | length) == 1 { __cudaswitch_ready $rest.0 }
            if $ready == null { ^(__cudaswitch_program) want --for-use ...$rest } else { $ready }
        }
        # The prompt has not seen what else is on this line: an overlay may be left or entered.
        __cudaswitch_overlay
        # Without a choice, `off` gives up nothing that `use -` could return to.
        if $want != '' or ($env._CUDASWITCH_U? | is-not-empty) {
            $env._CUDASWITCH_PREVIOUS = ($env._CUDASWITCH_U? | default '')
        }
        if $want == '' {
            $env._CUDASWITCH_U = null
            __cudaswitch_look
        } else {
            $env._CUDASWITCH_U = ($want | str trim --right --char "\n")
            __cudaswitch_settle
            __cudaswitch_say
        }
        __cudaswitch_overlay
    } else {
        ^(__cudaswitch_program) ...$args
        $env._cudaswitch_again = [1]
        $env._cudaswitch_asked = []
        __cudaswitch_look
    }
}

$env._cudaswitch_inside = {}
if (__cudaswitch_too_old) == null {
    $env.config.hooks.pre_prompt = ($env.config.hooks.pre_prompt | default [] | where {|hook| not (($hook | describe) starts-with record and cudaswitch in $hook) } | append {cudaswitch: true, code: {|| __cudaswitch_prompt }})
    __cudaswitch_look
} else if $nu.is-interactive {
    print --stderr (__cudaswitch_too_old)
}
