"""TAB where names of environments or the shell are unusual, and files beside words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pexpect
import pytest

from cudaswitch.completion import SCRIPTS
from homes import Home
from offered import offers
from tools import require

_FOLDER = Path(__file__).parent.parent / "completions"
START = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}
LOAD = {
    "bash": "bind 'set enable-bracketed-paste off'",
    "zsh": "unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D",
}
shells = pytest.mark.parametrize("shell", START)


def typed(home: Home, shell: str, *lines: str, options: str = "") -> list[str]:
    """Type lines into one shell; return for each the output until the command has run.

    It ends with the command's words, in brackets.
    """
    env = home.env | {"PS1": "", "TERM": "dumb"}
    said = []
    with pexpect.spawn(
        require(shell), START[shell], env=env, cwd=str(home.path), timeout=60, encoding="utf-8"
    ) as child:
        for text in (
            *(LOAD[shell], f". {shlex.quote(str(_FOLDER / SCRIPTS[shell]))}"),
            "cudaswitch() { printf '<%s>' \"$@\"; echo ' done'; }",
            *(options, "echo begun''"),
        ):
            child.sendline(text)
        child.expect("begun\r")
        for line in lines:
            child.sendline(line)
            child.expect(re.escape("> done"))
            said.append(f"{child.before}>")
        child.sendline("exit")
    return said


def agree(said: list[str], words: Iterable[str]) -> None:
    """Check which words a command got on each line."""
    assert [one.rpartition("\n")[2] for one in said] == list(words)


def environments(home: Home, *names: str) -> None:
    for name in names:
        (home.path / ".conda" / "envs" / name / "conda-meta").mkdir(parents=True)


@shells
def test_a_name_comes_as_it_is(home: Home, shell: str) -> None:
    names = ["A\\b", "B:b", "C\\:b", "D b", "E'b", "F$b", "G\\", "H\\\\b"]
    environments(home, *names)
    lines = [f"cudaswitch pin 1 -n {name[0]}\t" for name in names]
    agree(typed(home, shell, *lines), [f"<pin><1><-n><{name}>" for name in names])


@shells
def test_without_a_home_in_a_strict_shell(home: Home, shell: str) -> None:
    environments(home, "G")
    for variable in ("CUDASWITCH_HOME", "XDG_DATA_HOME"):
        del home.env[variable]
    lines = ("cudaswitch pin 1 -n G\t", "cudaswitch use lat\t")
    said = typed(home, shell, *lines, options="set -u; unset HOME")
    agree(said, ["<pin><1><-n><G>", "<use><latest>"])
    assert not re.search("unbound|not set", "".join(said)), said


@pytest.mark.parametrize("shell", SCRIPTS)
def test_files_are_offered_beside_words(home: Home, shell: str) -> None:
    """Files are offered beside words, though readline would offer them only where no word fits."""
    (home.path / "torch a").touch()
    lines = ("which x --from ", "which x --from=", "which x --from to", "install ")
    found = offers(shell, home, *(f"cudaswitch {line}" for line in lines))
    said = [{word.removeprefix("--from=").replace("\\", "") for word in words} for words in found]
    assert [words & {"torch", "latest", "torch a"} for words in said] == [
        *([{"torch", "torch a"}] * 3), {"latest", "torch a"},
    ]  # fmt: skip


@pytest.mark.parametrize("shell", SCRIPTS)
def test_micromamba_s_own_places(home: Home, shell: str) -> None:
    """Without MAMBA_ROOT_PREFIX: ~/micromamba if it is there, else `mamba` in the data folder."""
    data = home.path / "some data"
    home.env["XDG_DATA_HOME"] = str(data)
    for name, root in (("newer", data / "mamba"), ("older", home.path / "micromamba")):
        (root / "envs" / name / "conda-meta").mkdir(parents=True)
        [found] = offers(shell, home, "cudaswitch pin 1 -n ")
        assert set(found) == {name}


QUOTED = {
    "use '10.1.243+c\t": "<use><10.1.243+cudnn7.6.5>",
    'use "sy\t': "<use><system>",
    "\"unp\t -n 'my\t": "<unpin><-n><my env>",
    "unpin -n 'my\t": "<unpin><-n><my env>",
    "unpin --name='my\t": "<unpin><--name=my env>",
    "use --libraries='al\t 'lat\t": "<use><--libraries=always><latest>",
    "which x --from='to\t": "<which><x><--from=torch>",
}
"""What is typed → the words that the command gets."""


@shells
def test_behind_an_opening_quote(stocked: Home, shell: str) -> None:
    environments(stocked, "my env")
    said = typed(stocked, shell, *(f"cudaswitch {typing}" for typing in QUOTED))
    agree(said, QUOTED.values())


@shells
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_name_behind_an_opening_quote(home: Home, shell: str, quote: str) -> None:
    names = ["A\\b", "B:b", "C b", "D$b", "E`b", 'F"b', "G=b", "H!b"]
    environments(home, *names)
    lines = [f"cudaswitch pin 1 -n {quote}{name[0]}\t" for name in names]
    said = typed(home, shell, *lines, options="set +H")
    agree(said, [f"<pin><1><-n><{name}>" for name in names])
