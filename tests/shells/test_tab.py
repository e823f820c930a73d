"""Completion comes with the integration: TAB at a real prompt, if no other completion is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pexpect
import pytest

from cudaswitch.shells import SHELLS as ROWS
from shells.driver import BASH, FISH, ZSH, Shell
from shells.kits import Person
from tools import console_script, require

PROMPTS = {
    BASH: "PS1='ready> '",
    ZSH: "PS1='ready> '; autoload -Uz compinit; compinit -u -D",
    FISH: "function fish_prompt; echo -n 'ready> '; end; function fish_right_prompt; end",
}
OWN = {
    BASH: "mine() { COMPREPLY=(unpin-mine); }; complete -F mine cudaswitch",
    ZSH: "mine() { compadd unpin-mine }; compdef mine cudaswitch",
}
"""A completion that somebody has already."""
STRICT = {BASH: "set -eu -o pipefail", ZSH: "setopt no_unset ksh_arrays sh_word_split err_exit"}

every = pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=str)


def evaluated(shell: Shell) -> str:
    """Return the line of a startup file that has the program print the integration."""
    program = shell.quote(str(console_script()))
    return f"{program} init fish | source" if shell is FISH else f'eval "$({program} init {shell})"'


def typed(shell: Shell, person: Person, folder: Path, *lines: str) -> str:
    """Return what came when `cudaswitch unp`, TAB and `--help` were typed."""
    return started(shell, person, folder, PROMPTS[shell], *lines)


def started(
    shell: Shell, person: Person, folder: Path, *lines: str, word: str = "cudaswitch"
) -> str:
    require(shell.name)
    rc = folder / "rc"
    rc.write_text("\n".join(lines) + "\n")
    shutil.copy(rc, folder / ".zshrc")
    options = {
        BASH: ["--noprofile", "--rcfile", str(rc), "-i"],
        ZSH: ["-d", "-i"],
        FISH: ["--no-config", "-C", f"source {shell.quote(str(rc))}", "-i"],
    }[shell]
    child = pexpect.spawn(
        require(shell.name),
        options,
        env=person.home.env | {"TERM": "vt100", "ZDOTDIR": str(folder)},
        encoding="utf-8",
        timeout=60,
        dimensions=(50, 200),
    )
    child.expect("ready> ")
    child.send(f"{word} unp\t")
    child.send(" --help\r")
    child.expect(r"Usage: cudaswitch \S+|No such command '[^']*'")
    said = f"{child.before}{child.after}"
    child.close(force=True)
    return said


@every
def test_it_comes_with_the_ready_file(shell: Shell, person: Person, tmp_path: Path) -> None:
    assert typed(shell, person, tmp_path, person.load(shell)).endswith("Usage: cudaswitch unpin")


@every
def test_it_comes_with_the_line_that_evaluates(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    assert typed(shell, person, tmp_path, evaluated(shell)).endswith("Usage: cudaswitch unpin")


def test_an_alias_is_completed_first(person: Person, tmp_path: Path) -> None:
    """In bash, which does not look behind an alias, before any TAB after the command itself."""
    alias = "alias cs=cudaswitch; complete -F _cudaswitch cs"
    said = started(BASH, person, tmp_path, PROMPTS[BASH], person.load(BASH), alias, word="cs")
    assert said.endswith("Usage: cudaswitch unpin")


@pytest.mark.parametrize("shell", STRICT, ids=str)
def test_in_strict_shells(shell: Shell, person: Person, tmp_path: Path) -> None:
    lines = (person.load(shell), STRICT[shell])
    assert typed(shell, person, tmp_path, *lines).endswith("Usage: cudaswitch unpin")


@pytest.mark.parametrize("strict", ["", STRICT[ZSH]])
def test_compinit_may_come_later(person: Person, tmp_path: Path, strict: str) -> None:
    """compinit may run after our line, or at the first prompt, as in frameworks that start fast."""
    loaded = person.load(ZSH)
    late = (f"later() {{ {PROMPTS[ZSH]} }}; precmd_functions=(later)", loaded, strict)
    for lines in ((loaded, PROMPTS[ZSH], strict), late):
        assert started(ZSH, person, tmp_path, *lines).endswith("Usage: cudaswitch unpin")


@pytest.mark.parametrize("shell", OWN, ids=str)
def test_what_somebody_has_already_stays(shell: Shell, person: Person, tmp_path: Path) -> None:
    lines = (OWN[shell], person.load(shell))
    said = typed(shell, person, tmp_path, *lines)
    assert said.endswith("No such command 'unpin-mine'")


@every
def test_without_the_script_nothing_is_completed(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """If the completion script is gone, as after an update of Python, TAB silently does nothing."""
    text = person.init[shell.name].read_text()
    first, *_ = (line for line in text.splitlines() if "_cudaswitch_scripts" in line)
    stale = tmp_path / "stale"
    gone = ROWS[shell.name].local.format(name="_cudaswitch_scripts", value="/gone")
    stale.write_text(text.replace(first, gone))
    said = typed(shell, person, tmp_path, f"source {shell.quote(str(stale))}")
    assert said.endswith("No such command 'unp'")
    assert "gone" not in said


@pytest.mark.parametrize("shell", [BASH, ZSH], ids=str)
def test_an_empty_script_completes_nothing(shell: Shell, person: Person, tmp_path: Path) -> None:
    """A script that a full disk has emptied does not let its stand-in call itself without end."""
    for name in ("cudaswitch.bash", "_cudaswitch"):
        (tmp_path / name).touch()
    here = ROWS[shell.name].local.format(name="_cudaswitch_scripts", value=tmp_path)
    said = typed(shell, person, tmp_path, f"{person.load(shell)}\n{here}")
    assert said.endswith("No such command 'unp'")
    assert "nested" not in said


def test_fish_looks_in_that_folder_once(person: Person) -> None:
    loads = "; ".join([person.load(FISH)] * 2)
    ask = "count (string match -- $_cudaswitch_scripts $fish_complete_path)"
    done = subprocess.run(
        [require("fish"), "--no-config", "-c", f"{loads}; {ask}"],
        env=person.home.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "1\n"


def test_zsh_without_completion_is_left_alone(person: Person, tmp_path: Path) -> None:
    """In a zsh that never runs compinit, loading prints nothing about completion."""
    require("zsh")
    rc = tmp_path / ".zshrc"
    rc.write_text(f"PS1='ready> '; unsetopt prompt_sp\n{person.load(ZSH)}\nprint rc=$?=\n")
    child = pexpect.spawn(
        "zsh", ["-d", "-i"], env=person.home.env | {"TERM": "vt100", "ZDOTDIR": str(tmp_path)},
        encoding="utf-8", timeout=60,
    )  # fmt: skip
    child.expect("ready> ")
    assert (child.before or "").split()[:1] == ["rc=0="]
    child.close(force=True)
