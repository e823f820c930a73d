"""Prompt hooks that run after ours and change the environment: the next command is right."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from shells.driver import FISH, TCSH, XONSH, Shell
from shells.kits import Person
from shells.terminal import Open, Terminal

LATER = {
    "fish": "function later --on-event fish_prompt\n"
    "    set -e CUDASWITCH_VERSION; test -e {folder}/on; and set -gx CUDASWITCH_VERSION 11.8\nend",
    "tcsh": "alias precmd 'if (-e {folder}/on) setenv CUDASWITCH_VERSION 11.8;"
    " if (! -e {folder}/on) unsetenv CUDASWITCH_VERSION'",
}
"""Hooks that choose at each prompt, as those of pyenv-virtualenv, direnv and others do."""


@pytest.mark.parametrize("shell", (FISH, TCSH), ids=str)
def test_the_next_command_has_what_it_chose(
    shell: Shell, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    text = LATER[shell.name].format(folder=folder)
    # In fish our hook is defined before config.fish; in tcsh our line should be the last.
    terminal = at_prompt(shell, text) if shell is TCSH else late(shell, person, tmp_path, text)
    home = str(person.kits[1].home)
    terminal.child.sendline(f"touch {folder}/on")
    assert home in terminal.say("printenv CUDA_HOME")
    terminal.child.sendline(f"rm {folder}/on")
    assert home not in terminal.say("printenv CUDA_HOME")


def test_so_has_the_first_command_in_fish(person: Person, tmp_path: Path) -> None:
    (tmp_path / "on").touch()
    record = f"set -l has $CUDA_HOME; count $has >>{tmp_path}/seen"
    text = f"{LATER['fish'].format(folder=tmp_path)}\n"
    text += f"function record --on-event fish_postexec\n{record}\nend"
    late(FISH, person, tmp_path, text)
    assert (tmp_path / "seen").read_text().split()[0] == "1"


def late(shell: Shell, person: Person, folder: Path, text: str) -> Terminal:
    """Open a terminal whose startup file has this text after our line."""
    (folder / "terminal").mkdir()
    behind = Person(person.home, person.kits, {})
    text = f"{person.load(shell)}\n{text}"
    return Terminal(shell, behind, folder / "terminal", text, first="true")


def test_handlers_of_fish_are_where_they_were(person: Person, tmp_path: Path) -> None:
    """Our prompt handler moves behind the others at the first prompt, and only then."""
    text = "function later --on-event fish_prompt\nend"
    terminal = late(FISH, person, tmp_path, text)
    for number in "12":
        terminal.say(f"functions --handlers-type generic >{tmp_path}/{number}")
        lines = (tmp_path / number).read_text().splitlines()
        ours = [line.split()[-1] for line in lines if "later" in line or "__cudaswitch" in line]
        assert ours == ["later", "__cudaswitch_prompt"]


def test_tcsh_that_prints_exit_values_prints_each_once(at_prompt: Open) -> None:
    terminal = at_prompt(TCSH, "set printexitvalue")
    mark = f"m{time.monotonic_ns()}"
    terminal.child.sendline("sh -c 'exit 3'")
    terminal.child.sendline(f"echo {mark[:5]}''{mark[5:]}")
    terminal.child.expect(mark)
    assert terminal.child.before.count("Exit 3") == 1


def test_tcsh_leaves_no_variables_of_a_look_behind(tmp_path: Path, at_prompt: Open) -> None:
    (tmp_path / ".cuda-version").write_text("10.1\n")
    terminal = at_prompt(TCSH)
    terminal.say(f"cd {TCSH.quote(str(tmp_path))}")
    terminal.say(f"cd {TCSH.quote(os.fspath(tmp_path.parent))}")
    terminal.say("")
    assert "_cswk" not in terminal.say("set")


@pytest.mark.parametrize("words", ["", "10.1 11.8", "--nope"], ids=repr)
def test_wrong_usage_in_xonsh_ends_as_elsewhere(person: Person, words: str) -> None:
    step = f"x = !(cudaswitch use {words})\nprint('ends with', x.rtn)"
    result = person.play(XONSH, step)
    assert "ends with 2" in result.stdout
