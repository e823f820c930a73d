"""TAB where names of environments or the shell are unusual, and files beside words."""

from __future__ import annotations

import re
import shlex
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


def typed(home: Home, shell: str, line: str, *options: str) -> str:
    """Type a line; return the output until the command has run: its words, in brackets."""
    env = home.env | {"PS1": "", "TERM": "dumb"}
    with pexpect.spawn(
        require(shell), START[shell], env=env, cwd=str(home.path), timeout=60, encoding="utf-8"
    ) as child:
        for text in (
            *(LOAD[shell], f". {shlex.quote(str(_FOLDER / SCRIPTS[shell]))}"),
            "cudaswitch() { printf '<%s>' \"$@\"; echo ' done'; }",
            *(*options, "echo begun''"),
        ):
            child.sendline(text)
        child.expect("begun\r")
        child.sendline(line)
        child.expect(re.escape("> done"))
        said = f"{child.before}>"
        child.sendline("exit")
    return said


def environments(home: Home, *names: str) -> None:
    for name in names:
        (home.path / ".conda" / "envs" / name / "conda-meta").mkdir(parents=True)


@shells
@pytest.mark.parametrize("name", ["G\\b", "G:b", "G\\:b", "G b", "G'b", "G$b", "G\\", "G\\\\b"])
def test_a_name_comes_as_it_is(home: Home, shell: str, name: str) -> None:
    environments(home, name)
    assert typed(home, shell, "cudaswitch pin 1 -n G\t").endswith(f"<pin><1><-n><{name}>")


@shells
def test_without_a_home_in_a_strict_shell(home: Home, shell: str) -> None:
    environments(home, "G")
    for variable in ("CUDASWITCH_HOME", "XDG_DATA_HOME"):
        del home.env[variable]
    lines = ("cudaswitch pin 1 -n G\t", "cudaswitch use lat\t")
    for line, words in zip(lines, ("<pin><1><-n><G>", "<use><latest>"), strict=True):
        said = typed(home, shell, line, "set -u", "unset HOME")
        assert said.endswith(words)
        assert not re.search("unbound|not set", said), said


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


@shells
@pytest.mark.parametrize(
    ("typing", "words"),
    [
        ("use '10.1.243+c\t", "<use><10.1.243+cudnn7.6.5>"),
        ('use "sy\t', "<use><system>"),
        ("\"unp\t -n 'my\t", "<unpin><-n><my env>"),
        ("unpin -n 'my\t", "<unpin><-n><my env>"),
        ("unpin --name='my\t", "<unpin><--name=my env>"),
        ("use --libraries='al\t 'lat\t", "<use><--libraries=always><latest>"),
        ("which x --from='to\t", "<which><x><--from=torch>"),
    ],
)
def test_behind_an_opening_quote(stocked: Home, shell: str, typing: str, words: str) -> None:
    environments(stocked, "my env")
    assert typed(stocked, shell, f"cudaswitch {typing}").endswith(words)


@shells
@pytest.mark.parametrize("name", ["G\\b", "G:b", "G b", "G$b", "G`b", 'G"b', "G=b", "G!b"])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_name_behind_an_opening_quote(home: Home, shell: str, name: str, quote: str) -> None:
    environments(home, name)
    line = f"cudaswitch pin 1 -n {quote}G\t"
    assert typed(home, shell, line, "set +H").endswith(f"<pin><1><-n><{name}>")
