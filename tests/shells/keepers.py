"""Programs that keep what variables were in a tree, and bring it back at a prompt."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from shells.driver import BASH, FISH, ZSH, Environment, Shell
from shells.kits import Person
from shells.terminal import Open, Terminal, seen
from tools import require

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
orders = pytest.mark.parametrize("first", ["theirs", "ours"])
"""Which is loaded first, theirs or ours."""


@dataclass(frozen=True)
class Keeper:
    """A program that has variables of a tree; `file` is where it reads them.

    `loading` are the commands that load its hook, in fish and in the other shells. `added` puts
    folders on lists, `own` sets a variable; `allowing` are the words that allow a file. A program
    that `forgets` takes what it finds at a later look in a tree, even a toolkit, for the user's:
    what it restores may then contain values of its own.
    """

    name: str
    file: str
    loading: tuple[str, str]
    added: str
    own: str
    allowing: tuple[str, ...]
    forgets: bool = False

    def __str__(self) -> str:
        return self.name

    def command(self, shell: Shell) -> str:
        fish, other = self.loading
        return (fish if shell is FISH else other).format(program=require(self.name), shell=shell)

    def beside(self, shell: Shell, at_prompt: Open, first: str) -> Terminal:
        """Open a shell that loads both, in the given order."""
        terminal = at_prompt(shell, self.command(shell) if first == "theirs" else "")
        if first == "ours":
            terminal.say(self.command(shell))
        terminal.say("")
        return terminal

    def grow(self, person: Person, tree: Path, text: str) -> Path:
        """Make a tree whose file has this text, and allow it."""
        (tree / "bin").mkdir(parents=True)  # mise puts only existing folders on PATH
        (tree / self.file).write_text(text)
        allow = [require(self.name), *self.allowing]
        subprocess.run(allow, cwd=tree, env=person.home.env, check=True)
        return tree

    def seen(self, terminal: Terminal) -> Environment:
        """Return the environment of a command, without the bookkeeping of both programs."""
        mine = self.name.upper()
        return {
            name: value
            for name, value in seen(terminal).items()
            if mine not in name and "PREVIOUS" not in name
        }


DIRENV = Keeper(
    "direnv",
    ".envrc",
    (
        "set -gx DIRENV_LOG_FORMAT; {program} hook fish | source",
        'export DIRENV_LOG_FORMAT=; eval "$({program} hook {shell})"',
    ),
    "PATH_add bin\npath_add LD_LIBRARY_PATH lib\n",
    "export {}=/theirs\n",
    ("allow",),
)
MISE = Keeper(
    "mise",
    "mise.toml",
    ("{program} activate fish | source", 'eval "$({program} activate {shell})"'),
    '[env]\n_.path = ["./bin"]\nLD_LIBRARY_PATH = "{{{{config_root}}}}/lib"\n',
    '{} = "/theirs"\n',
    ("trust", "--all"),
    forgets=True,
)
