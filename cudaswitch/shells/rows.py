"""The tables: one row per shell, one per family of shells that read the same hook files."""

from __future__ import annotations

from cudaswitch.namedtuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def quote_posix(value: str) -> str:
    """Quote one value for bash, zsh, dash and their kin."""
    return "'" + value.replace("'", "'\\''") + "'"


def quote_fish(value: str) -> str:
    """Quote one value for fish, where a backslash counts inside single quotes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_pwsh(value: str) -> str:
    """Quote one value for PowerShell, to which the typographic single quotes are quotes too."""
    quotes = "'\u2018\u2019\u201a\u201b"
    return "'" + "".join(one * 2 if one in quotes else one for one in value) + "'"


def quote_csh(value: str) -> str:
    """Quote one value for tcsh, where history is expanded even between single quotes.

    Backslashes are put outside the quotes, where they mean the same whatever `backslash_quote` is.
    """
    outside = {"'": "'\\''", "\\": "'\\\\'", "!": "'\\!'", "\n": "\\\n"}
    return "'" + "".join(outside.get(char, char) for char in value) + "'"


def quote_nu(value: str) -> str:
    """Quote one value for Nushell."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def quote_elvish(value: str) -> str:
    """Quote one value for Elvish, where only the quote counts between single quotes."""
    return "'" + value.replace("'", "''") + "'"


def quote_cmd(value: str) -> str:
    """Spell one value within `set "..."` of a batch file, where only `%` counts."""
    return value.replace("%", "%%")


class Family(NamedTuple):
    """Shells that read the same hook files."""

    suffix: str
    """What the names of the hook files end in."""
    quote: Callable[[str], str]
    core: tuple[str, ...]
    """Texts of the change and its undo, which hook files need beside them as one file."""
    activate: str
    """Name of the script in a virtualenv that these shells source."""
    deactivate: str
    """Pattern of what opens the command of that name in this script."""
    source: str
    """Runs a half of the hook if it is there; at the end of that script, the half that enters."""
    leave: str
    """Runs the half that leaves, after that opening, which may be that of a quoted text."""
    leaver: str = ""
    """Name of a separate script for `deactivate`, if any; it begins with `source`."""
    beside: tuple[str, ...] = ()
    """Texts that the core sources, each a file of its own beside it."""


FAMILIES = {
    family.suffix: family
    for family in (
        Family(
            "sh",
            quote_posix,
            core=(
                *("packages.sh", "bundled.sh", "copies.sh", "exported.sh", "flags.sh"),
                *("lists.sh", "core.sh", "plain.sh", "besides.sh", "there.sh", "hooks.sh"),
            ),
            activate="activate",
            deactivate=r"(?m)^deactivate\s*\(\)\s*\{[ \t]*\r?\n",
            source='if [ -n "${{VIRTUAL_ENV-}}" ] &&'
            ' [ -f "$VIRTUAL_ENV/etc/cudaswitch/{half}.sh" ];'
            ' then \\. "$VIRTUAL_ENV/etc/cudaswitch/{half}.sh"; fi',
            # If the environment has since been deleted or recreated, its file is gone.
            leave='if [ -f "${VIRTUAL_ENV:+$VIRTUAL_ENV/etc/cudaswitch/off.sh}" ];'
            ' then \\. "$VIRTUAL_ENV/etc/cudaswitch/off.sh";'
            ' else case ${_CUDASWITCH_V-} in *":env=${VIRTUAL_ENV:-none}")'
            " if command -v __cudaswitch_leave > /dev/null;"
            ' then __cudaswitch_leave \\V "$VIRTUAL_ENV"; fi ;; esac; fi  # cudaswitch\n',
        ),
        Family(
            "fish",
            quote_fish,
            core=(
                *("release.fish", "bundled.fish", "copies.fish", "exported.fish", "flags.fish"),
                *("lists.fish", "core.fish", "plain.fish", "besides.fish", "hooks.fish"),
            ),
            activate="activate.fish",
            deactivate=r"(?m)^function deactivate\b.*\r?\n",
            source='if test -n "$VIRTUAL_ENV" -a -f "$VIRTUAL_ENV/etc/cudaswitch/{half}.fish";'
            " source $VIRTUAL_ENV/etc/cudaswitch/{half}.fish; end",
            leave='if test -n "$VIRTUAL_ENV" -a -f "$VIRTUAL_ENV/etc/cudaswitch/off.fish";'
            ' source "$VIRTUAL_ENV/etc/cudaswitch/off.fish";'
            ' else if string match --quiet "*:env=$VIRTUAL_ENV" -- $_CUDASWITCH_V;'
            " and functions --query __cudaswitch_leave;"
            ' __cudaswitch_leave V "$VIRTUAL_ENV"; end  # cudaswitch\n',
        ),
        # `deactivate` is an alias that is defined on one line; eval, because the whole of a
        # one-line `if` is expanded even if its condition is false.
        Family(
            "csh",
            quote_csh,
            core=("core.csh",),
            beside=(
                "own.csh",
                "first.csh",
                "version.csh",
                "take.csh",
                "copies.csh",
                "flags.csh",
                "below.csh",
            ),
            activate="activate.csh",
            deactivate=r"(?m)^alias deactivate '(?=test )",
            source="if ($?VIRTUAL_ENV) eval 'if"
            ' (-f "${{VIRTUAL_ENV:q}}/etc/cudaswitch/{half}.csh")'
            ' source "${{VIRTUAL_ENV:q}}/etc/cudaswitch/{half}.csh"\'',
            leave="if ($?VIRTUAL_ENV) eval '\\''if"
            ' (-f "${VIRTUAL_ENV:q}/etc/cudaswitch/off.csh")'
            " source \"${VIRTUAL_ENV:q}/etc/cudaswitch/off.csh\"'\\''; ",
            leaver="deactivate.csh",
        ),
    )
}
"""By suffix; the hook files of each are written for every pinned environment."""


class Shell(NamedTuple):
    """How one shell spells the change.

    For a shell that runs Python, `core`, `use` and `init` are modules of ours for `carrying`.
    """

    name: str
    family: str
    """Suffix of the family whose hook files it reads."""
    quote: Callable[[str], str]
    export: str
    """Sets a variable that programs get."""
    local: str
    """Sets a variable of the shell's own."""
    unset: str
    """Unsets a variable, as users type it."""
    evaluate: str
    """Brings what `env` prints for a request into the shell, as users type it."""
    then: str = " && "
    """Stands between two commands."""
    words: bool = True
    """Whether a value that is one plain word may go without quotes."""
    call: str = "{program}"
    """Runs a program whose path has quotes."""
    first: str = 'export PATH={folder}:"$PATH"'
    """Puts a folder first on PATH, as users type it."""
    init: tuple[str, ...] = ()
    """Texts that `cudaswitch init` adds to the core."""
    lazy: tuple[str, ...] = ()
    """Texts that are parsed, with the core, when somebody calls what `deferred` defines."""
    deferred: str = ""
    """Defines the function that does that; a `part` of it evaluates one of the texts."""
    part: str = "\\eval {text}\n"
    again: str = ""
    """Name of the text that does that in a ready file, from a file beside it."""
    guard: str = ""
    """What a ready file begins with: any other shell returns there."""
    late: str = ""
    """Defines what is parsed when it is first called, from the text of `joining`."""
    joining: tuple[str, ...] = ()
    """Texts that add the prompt hook to those that are there."""
    core: tuple[str, ...] = ()
    """What makes the change, in place of the family's core."""
    use: tuple[str, ...] = ()
    """What `env` adds to the core."""
    load: str = ""
    """The line that evaluates what `cudaswitch init` prints."""
    include: str = ""
    """The line that loads a ready `file` into a shell that can evaluate nothing."""
    startup: tuple[str, ...] = ()
    """The user's startup files; the first is made if there is none (`startfiles.folders`)."""
    source: str = ""
    """The one line in such a file that runs `file` if it is there."""
    suffix: str = ""
    """What the name of that `file` ends in."""
    settle: str = "__cudaswitch_settle"
    """Applies a change; without functions, it sources the core in the folder `{texts}`."""
    keyword: bool = False
    """Whether it knows `[[`."""

    @property
    def defines(self) -> bool:
        """Tell whether it has functions, so that every text must contain the core."""
        return "{texts}" not in self.settle


_DEFERRED = """__cudaswitch_load() {{ __cudaswitch_unaliased __cudaswitch_parse; }}
__cudaswitch_parse() {{\n{parts}}}\n"""
_LATE = "__cudaswitch_join() {{ __cudaswitch_unaliased \\eval {text} && __cudaswitch_join; }}\n"

_NO_OTHER = "case ${BASH_VERSION-}${ZSH_VERSION-} in\n'') \\return 0 ;;\nesac\n"
"""/bin/sh reads `.profile` at login, and with it `.bashrc`; it ends at words it cannot parse."""

SHELLS = {
    shell.name: shell
    for shell in (
        Shell(
            "sh",
            "sh",
            quote_posix,
            export="\\export {name}={value}",
            local="{name}={value}",
            unset="unset {name}",
            evaluate='eval "$(cudaswitch env {request} --shell sh)"',
        ),
        Shell(
            "bash",
            "sh",
            quote_posix,
            export="\\export {name}={value}",
            local="{name}={value}",
            unset="unset {name}",
            evaluate='eval "$(cudaswitch env {request} --shell bash)"',
            lazy=(
                *("ready.sh", "answers.sh", "store.sh", "keepers.sh", "init.sh", "command.sh"),
                *("join.bash", "rest.bash"),
            ),
            deferred=_DEFERRED,
            again="again.sh",
            guard=_NO_OTHER,
            late=_LATE,
            joining=("join.bash",),
            init=("file.sh", "lazy.sh", "tab.bash", "init.bash"),
            load='eval "$(cudaswitch init bash)"',
            startup=("{HOME}/.bashrc",),
            source="if [ -f {file} ]; then \\. {file}; fi",
            keyword=True,
        ),
        Shell(
            "zsh",
            "sh",
            quote_posix,
            export="\\export {name}={value}",
            local="\\typeset -g {name}={value}",
            unset="unset {name}",
            evaluate='eval "$(cudaswitch env {request} --shell zsh)"',
            lazy=("ready.sh", "answers.sh", "store.sh", "keepers.sh", "init.sh", "command.sh"),
            deferred=_DEFERRED,
            again="again.sh",
            guard=_NO_OTHER,
            init=("file.sh", "lazy.sh", "tab.zsh", "init.zsh"),
            load='eval "$(cudaswitch init zsh)"',
            startup=("{ZDOTDIR}/.zshrc",),
            source="if [ -f {file} ]; then \\. {file}; fi",
            keyword=True,
        ),
        Shell(
            "xonsh",
            "sh",
            repr,
            export="${name} = {value}",
            local="{name} = {value}",
            unset="del ${name}",
            evaluate="execx($(cudaswitch env {request} --shell xonsh))",
            first="$PATH.insert(0, {folder})",
            then="; ",
            words=False,
            call="@({program})",
            core=(
                *("namedtuples.py", "activation.py", "regular.py", "sites.py", "bundled.py"),
                "shells/core_xonsh.py",
            ),
            use=("shells/use_xonsh.py",),
            init=(
                *("errors.py", "versions.py", "platforms.py", "environments.py"),
                *("shells/answers_xonsh.py", "shells/init_xonsh.py"),
            ),
            load="execx($(cudaswitch init xonsh))",
            startup=("{XDG_CONFIG_HOME}/xonsh/rc.xsh", "{HOME}/.xonshrc"),
            source="__import__('os').path.isfile({file}) and execx(open({file}).read())",
            suffix=".xsh",
        ),
        Shell(
            "pwsh",
            "ps1",
            quote_pwsh,
            export="$env:{name} = {value}",
            local="$global:{name} = {value}",
            unset="Remove-Item Env:{name}",
            evaluate="cudaswitch env {request} --shell pwsh | Out-String | Invoke-Expression",
            first="$env:PATH = {folder} + ':' + $env:PATH",
            then="; ",
            words=False,
            call="& {program}",
            init=("init.ps1",),
            load="cudaswitch init pwsh | Out-String | Invoke-Expression",
            startup=("{XDG_CONFIG_HOME}/powershell/profile.ps1",),
            source="if (Test-Path -LiteralPath {file}) {{ . {file} }}",
            suffix=".ps1",
        ),
        Shell(
            "fish",
            "fish",
            quote_fish,
            export="set -gx {name} {value}",
            local="set -g {name} {value}",
            unset="set -e {name}",
            evaluate="cudaswitch env {request} --shell fish | source",
            first="set -gx PATH {folder} $PATH",
            lazy=("answers.fish", "keepers.fish", "init.fish", "command.fish"),
            deferred="function __cudaswitch_load\n{parts}end\n",
            part="    eval {text}\n",
            again="again.fish",
            init=("release.fish", "lazy.fish", "tab.fish", "prompt.fish"),
            load="cudaswitch init fish | source",
            startup=("{XDG_CONFIG_HOME}/fish/conf.d/cudaswitch.fish",),
            source="if status is-interactive; and test -f {file}; source {file}; end",
        ),
        # Each line ends with a semicolon: eval gets them all as one.
        Shell(
            "tcsh",
            "csh",
            quote_csh,
            export="setenv {name} {value};",
            local="set {name} = {value};",
            unset="unsetenv {name}",
            evaluate='eval "`cudaswitch env {request} --shell tcsh`"',
            first='setenv PATH {folder}:"$PATH"',
            init=("init.csh",),
            load='eval "`cudaswitch init tcsh`"',
            startup=("{HOME}/.tcshrc", "{HOME}/.cshrc"),
            source="if (-f {file}) source {file}",
            settle="set _csw_do = settle; set _csw_texts = {texts}; source {texts}/core.csh;",
        ),
        Shell(
            "nu",
            "nu",
            quote_nu,
            export="$env.{name} = {value}",
            local="$env.{name} = [{value}]",
            unset="hide-env {name}",
            evaluate="cudaswitch env {request} --format json | from json"
            " | update PATH? {{ split row : }} | load-env",
            then="; ",
            words=False,
            call="^{program}",
            first="$env.PATH = ($env.PATH | prepend {folder})",
            init=("init.nu",),
            load="cudaswitch init --install nu",
            include="source {file}",
            startup=("{XDG_CONFIG_HOME}/nushell/autoload/cudaswitch.nu",),
            source="source (if ({file} | path exists) {{ {file} }} else {{ null }})",
            suffix=".nu",
        ),
    )
}

FINISHED = {
    shell.name: shell
    for shell in (
        Shell(
            "cmd",
            "",
            quote_cmd,
            export='set "{name}={value}"',
            local='set "{name}={value}"',
            unset='set "{name}="',
            evaluate="cudaswitch env {request} --shell cmd",
            first='set "PATH={folder};%PATH%"',
        ),
        # A failure is an exception, which ends the line.
        Shell(
            "elvish",
            "",
            quote_elvish,
            export="set-env {name} {value}",
            local="var {name} = {value}",
            unset="unset-env {name}",
            evaluate="eval (cudaswitch env {request} --shell elvish | slurp)",
            then="; ",
            first="set paths = [{folder} $@paths]",
        ),
    )
}
"""Shells that get the finished change: cmd has no functions, and for Elvish there are none."""

ROWS = SHELLS | FINISHED
