"""Running scripts in real shells, and seeing the environment at every point of interest.

result = run_shell(BASH, '''
    snap before
    export PATH="/x:$PATH"
    snap after
''', env)
assert result.snaps["after"]["PATH"] == "/x:" + result.snaps["before"]["PATH"]
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import require

_ENV = shutil.which("env") or "/usr/bin/env"

# Each `snap` lets a child print what it was given: the shell's own view may differ from what
# it exports. The path of `env` is absolute, so that a test may break PATH, and the exit status
# of the previous command is passed through.
_SNAP_POSIX = """snap() {{ set -- "$1" "$?"; {env} -0 >{folder}/"$1"; return "$2"; }}"""
_SNAP_FISH = (
    """function snap; set -l before $status; {env} -0 >{folder}/$argv[1]; return $before; end"""
)
# In xonsh, words and Python values are spelled differently, so these commands take words.
_SNAP_XONSH = """$XONSH_SUBPROC_CMD_RAISE_ERROR = $XONSH_SUBPROC_RAISE_ERROR = False
from xonsh.tools import unthreadable
def _snap(args):
    ![{env} -0 > @("{folder}/" + args[0])]
def _listed(name):
    return list(__xonsh__.env.get(name) or [])
def _command(name, action):
    aliases[name] = unthreadable(lambda args: action(*args))
aliases["snap"] = unthreadable(_snap)
_command("set_variable", __xonsh__.env.__setitem__)
_command("unset_variable", __xonsh__.env.__delitem__)
_command("prepend_to", lambda name, at: __xonsh__.env.__setitem__(name, [at, *_listed(name)]))
_command("append_to", lambda name, at: __xonsh__.env.__setitem__(name, [*_listed(name), at]))
_command("load_file", lambda path: execx(open(path).read()))"""
# venv's activate.csh assumes that there is a prompt.
_SNAP_CSH = """set prompt = ''
alias snap 'set snap_status = $status; {env} -0 >{folder}/\\!:1; set status = $snap_status'"""
_SNAP_NU = """def --env snap [name: string] {{
    let before = ($env.LAST_EXIT_CODE? | default 0)
    ^{env} -0 out> $"{folder}/($name)"
    $env.LAST_EXIT_CODE = $before
}}"""


def _quote_posix(text: str) -> str:
    # `shlex.quote` leaves `=ls` bare, which zsh replaces by a path.
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _quote_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quote_nu(text: str) -> str:
    return f"r###'{text}'###"


def _quote_csh(text: str) -> str:
    # History is expanded even between single quotes.
    return shlex.quote(text).replace("!", "\\!").replace("\n", "\\\n")


def _csh_joined(value: str) -> str:
    # To csh, an unset variable is an error even in a branch that is not taken.
    return f"if ($?{{name}}) then\nsetenv {{name}} {value}\nelse\nsetenv {{name}} {{value}}\nendif"


@dataclass(frozen=True)
class Shell:
    """One shell: how to start it without any rc file, and how a few simple things are said in it.

    `quote`, and the templates that use it, are the tests' own, so that they can disagree with
    the product. `suffix` is that of files that the shell can source, the one that conda uses as
    well. `prompt` does what happens before each prompt.
    """

    name: str
    options: tuple[str, ...]
    suffix: str
    quote: Callable[[str], str]
    snap: str
    set_template: str
    prepend_template: str
    append_template: str
    unset_template: str
    source_template: str
    prompt: str = "__cudaswitch_prompt"
    hush_template: str = "{command} 2>/dev/null"

    def __str__(self) -> str:
        return self.name

    def argv(self) -> list[str]:
        """Return the command; skips the test, or fails it in CI, when the shell is missing."""
        return [require(self.name), *self.options]

    def source(self, path: Path | str) -> str:
        return self.source_template.format(path=self.quote(str(path)))

    def set(self, name: str, value: str) -> str:
        """Set and export."""
        return self.set_template.format(name=name, value=self.quote(value))

    def hush(self, command: str) -> str:
        """Let a command say nothing on stderr."""
        return self.hush_template.format(command=command)

    def unset(self, name: str) -> str:
        return self.unset_template.format(name=name)

    def prepend(self, name: str, folder: str) -> str:
        """Put `folder` first on the search path `name`, as a user would in an rc file."""
        return self.prepend_template.format(name=name, value=self.quote(folder))

    def append(self, name: str, folder: str) -> str:
        return self.append_template.format(name=name, value=self.quote(folder))


def _posix(name: str, *options: str) -> Shell:
    return Shell(
        name=name,
        options=options,
        suffix="sh",
        quote=_quote_posix,
        snap=_SNAP_POSIX,
        set_template="export {name}={value}",
        prepend_template='export {name}={value}"${{{name}:+:${name}}}"',
        append_template='export {name}="${{{name}:+${name}:}}"{value}',
        unset_template="unset {name}",
        source_template=". {path}",
    )


BASH = _posix("bash", "--noprofile", "--norc")
ZSH = _posix("zsh", "-f")
DASH = _posix("dash")
FISH = Shell(
    name="fish",
    # As in fish 4, where a `?` stands for itself; at terminals, the installed fish decides.
    options=("--no-config", "--features", "qmark-noglob"),
    suffix="fish",
    quote=_quote_fish,
    snap=_SNAP_FISH,
    set_template="set -gx {name} {value}",
    prepend_template="set -gx {name} {value} ${name}",
    append_template="set -gx {name} ${name} {value}",
    unset_template="set -e {name}",
    source_template="source {path}",
    prompt="emit fish_prompt",
)
NU = Shell(
    hush_template="{command} err> /dev/null",
    name="nu",
    options=("--no-config-file",),
    suffix="nu",
    quote=_quote_nu,
    snap=_SNAP_NU,
    set_template="$env.{name} = {value}",
    prepend_template="$env.{name} = ([{value} $env.{name}?] | compact --empty | flatten"
    " | if '{name}' == PATH {{ $in }} else {{ str join : }})",
    append_template="$env.{name} = ([$env.{name}? {value}] | compact --empty | flatten"
    " | if '{name}' == PATH {{ $in }} else {{ str join : }})",
    unset_template="hide-env {name}",
    source_template="source {path}",
)
TCSH = Shell(
    name="tcsh",
    options=("-f",),
    suffix="csh",
    quote=_quote_csh,
    snap=_SNAP_CSH,
    set_template="setenv {name} {value}",
    prepend_template=_csh_joined('{value}:"${{{name}}}"'),
    append_template=_csh_joined('"${{{name}}}":{value}'),
    unset_template="unsetenv {name}",
    source_template="source {path}",
    hush_template="{command} >& /dev/null",
    prompt="precmd",
)
XONSH = Shell(
    name="xonsh",
    options=("--no-rc",),
    suffix="xsh",
    quote="@({!r})".format,
    snap=_SNAP_XONSH,
    set_template="set_variable {name} {value}",
    prepend_template="prepend_to {name} {value}",
    append_template="append_to {name} {value}",
    unset_template="unset_variable {name}",
    source_template="load_file {path}",
    prompt="events.on_pre_prompt.fire()",
)

POSIX_SHELLS = (BASH, ZSH, DASH)
SHELLS = (*POSIX_SHELLS, FISH, TCSH)
"""The shells that every behaviour is tested in."""

STRICT = {"bash": "set -eu", "dash": "set -eu", "zsh": "setopt nounset err_exit"}
"""Shell → the line by which unset variables and failures end it, as in careful scripts."""

Environment = dict[str, str]

_OWN_BUSINESS = ("_", "LAST_EXIT_CODE", "CURRENT_FILE", "FILE_PWD", "PROCESS_PATH")
"""The command or file that a shell runs, and how the last one ended: they differ at every snap."""


@dataclass(frozen=True)
class ShellResult:
    """What a script left: exit status, output, and the environment at each `snap NAME`.

    Undecodable bytes in values are kept as surrogates (PEP 383), so that comparing two
    environments compares bytes.
    """

    rc: int
    stdout: str
    stderr: str
    snaps: dict[str, Environment]

    def check(self) -> ShellResult:
        """Return self; fail when the script did not end with 0 or wrote to stderr."""
        assert (self.rc, self.stderr) == (0, ""), f"rc {self.rc}\n{self.stdout}\n{self.stderr}"
        return self

    def changes(self, before: str, after: str) -> dict[str, tuple[str | None, str | None]]:
        """Return what differs between two snaps: name -> (value before, value after)."""
        old, new = self.snaps[before], self.snaps[after]
        names = sorted(old.keys() | new.keys())
        return {n: (old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)}


def _read_snap(path: Path) -> Environment:
    text = path.read_bytes().decode(errors="surrogateescape")
    pairs = (entry.partition("=") for entry in text.split("\0") if entry)
    return {name: value for name, _, value in pairs if name not in _OWN_BUSINESS}


def run_shell(
    shell: Shell,
    script: str,
    env: Mapping[str, str],
    *,
    cwd: Path | None = None,
    options: tuple[str, ...] = (),
) -> ShellResult:
    """Run `script` in `shell` with exactly the variables of `env`.

    The script may call `snap NAME` anywhere; of a name that is used again, the last use counts.
    `options` go before the script's name, such as `-eu`.
    """
    with tempfile.TemporaryDirectory(prefix="shell-") as folder:
        snaps, file = Path(folder) / "snaps", Path(folder) / f"script.{shell.suffix}"
        snaps.mkdir()
        preamble = shell.snap.format(env=_ENV, folder=snaps)
        file.write_text(f"{preamble}\n{script}\n", errors="surrogateescape")
        done = subprocess.run(
            [*shell.argv(), *options, file],
            env=dict(env),
            cwd=cwd or folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
            check=False,
        )
        taken = {path.name: _read_snap(path) for path in snaps.iterdir()}
    return ShellResult(done.returncode, done.stdout, done.stderr, taken)
