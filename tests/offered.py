"""What bash, zsh and fish offer at the end of a line, with no process started."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect

from cudaswitch.completion import SCRIPTS
from homes import Home
from tools import require

_FOLDER = Path(__file__).parent.parent / "completions"

Offers = dict[str, str]
"""What is offered for one line: each word with its description, empty if there is none."""

_BASH = """
source "$1" || exit
eval "$2"
shift 2
for line; do
    IFS=' ' read -ra COMP_WORDS <<< "$line"
    if [[ $line == *' ' ]]; then COMP_WORDS+=(''); fi
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
    _cudaswitch
    for word in "${COMPREPLY[@]}"; do eval "printf '%s\\n' $word"; done
    printf '\\0'
done
"""
_FISH = """
source $argv[1]; or exit
for line in $argv[2..]
    complete -C $line
    printf '\\0'
end
"""
# Completion is called as the line editor calls it, with `compadd` overheard. Everything goes
# through a file: what the editor draws on the terminal is not guaranteed.
_ZSH = """
fpath=({folder} $fpath)
autoload -Uz compinit
compinit -u -d {dump}
setopt no_beep
zstyle ':completion:*' insert-tab false
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits said
    local name=${{@[$[${{@[(i)-d]}} + 1]]}} index
    if (( $@[(I)-d] )); then said=("${{(@P)name}}"); fi
    builtin compadd -A hits -D said "$@"
    for (( index = 1; index <= $#hits; index++ )); do
        printf '%s\\t%s\\n' "${{(Q)hits[index]}}" "$said[index]" >> {out}
    done
    builtin compadd "$@"
}}
ended() {{ printf '\\0' >> {out}; }}
compprefuncs=() comppostfuncs=(ended)
overheard() {{ comppostfuncs=(ended); _main_complete; }}
zle -C overheard list-choices overheard
bindkey '^I' overheard
: > {out}
"""


def _run(home: Home, command: Sequence[str | Path], lines: Sequence[str]) -> list[str]:
    done = subprocess.run(
        [*command, *lines],
        # With this PATH, an attempt to start a process would fail.
        env=home.env | {"PATH": str(home.path)},
        cwd=home.path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split("\0")[:-1]


def by_bash(home: Home, lines: Sequence[str], option: str = ":") -> list[str]:
    start = [require("bash"), "--norc", "--noprofile", "-c", _BASH, "-"]
    return _run(home, [*start, _FOLDER / SCRIPTS["bash"], option], lines)


def _fish(home: Home, lines: Sequence[str]) -> list[str]:
    start = [require("fish"), "--no-config", "-c", _FISH]
    return _run(home, [*start, _FOLDER / SCRIPTS["fish"]], lines)


def _zsh(home: Home, lines: Sequence[str]) -> list[str]:
    out, setup = home.path / "offered", home.path / "setup.zsh"
    out.unlink(missing_ok=True)
    paths = {"folder": _FOLDER, "dump": home.path / "dump", "out": out}
    setup.write_text(_ZSH.format(**{name: shlex.quote(str(at)) for name, at in paths.items()}))
    env = home.env | {"PATH": str(home.path), "PS1": "", "TERM": "xterm"}
    with pexpect.spawn(
        require("zsh"), ["-f", "-i"], env=env, cwd=str(home.path), dimensions=(500, 200)
    ) as shell:
        shell.sendline(f". {shlex.quote(str(setup))}")
        _until(shell, out.exists)
        for number, line in enumerate(lines, 1):
            shell.send(f"\x15{line}\t")
            _until(shell, lambda number=number: out.read_text().count("\0") >= number)
        shell.send("\x15exit\n")
    return out.read_text().split("\0")[:-1]


def _until(shell: pexpect.spawn[bytes], done: Callable[[], bool]) -> None:
    """Wait until the shell is `done`, and keep reading its terminal meanwhile."""
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, shell.before
        shell.expect([pexpect.TIMEOUT, r".+"], timeout=0.01)


SHELLS = {"bash": by_bash, "zsh": _zsh, "fish": _fish}


def offers(shell: str, home: Home, *lines: str) -> list[Offers]:
    """Return what a shell offers at the end of each line."""
    found = []
    for text in SHELLS[shell](home, lines):
        rows = [line.partition("\t") for line in text.splitlines() if line]
        found.append({word.removesuffix("/"): said for word, _, said in rows})
    assert len(found) == len(lines)
    return found
