"""A shell at a real prompt, on a pty."""

from __future__ import annotations

import time
from pathlib import Path

import pexpect

from shells.driver import FISH, TCSH, Shell
from shells.kits import Person
from tools import require


class Terminal:
    """A shell on a pty, with rc files of its own; `first` is what is typed at its first prompt."""

    def __init__(
        self, shell: Shell, person: Person, folder: Path, before: str = "", first: str = ""
    ) -> None:
        self.shell, self.directory = shell, folder
        rc = folder / "rc"
        (folder / "fish").mkdir()
        text = f"{before}\n{person.load(shell)}\n"
        prompts = {
            "bash": "PS1='ready> '",
            "zsh": "PS1='ready> '; unsetopt zle prompt_cr prompt_sp",
            "fish": "function fish_prompt; echo -n 'ready> '; end; function fish_right_prompt; end",
            "tcsh": "set prompt = 'ready> '; unset edit",
        }
        rc.write_text(f"{prompts[shell.name]}\n{text}")
        for name in (".zshrc", ".tcshrc"):
            (folder / name).symlink_to(rc)
        env = person.home.env | {"CUDASWITCH_QUIET": "1", "TERM": "dumb", "ZDOTDIR": str(folder)}
        if shell is TCSH:
            env["HOME"] = str(folder)
        options = {
            "bash": ["--noprofile", "--rcfile", str(rc), "-i"],
            "zsh": ["-d", "-i"],
            "fish": ["--no-config", "-C", f"source {shell.quote(str(rc))}", "-i"],
            "tcsh": ["-i"],
        }[shell.name]
        self.child = pexpect.spawn(
            require(shell.name),
            options,
            env=env,
            cwd=str(folder),
            encoding="utf-8",
            timeout=60,
            echo=False,
            dimensions=(50, 500),
        )
        self.child.delaybeforesend = None
        self.say(first)

    def say(self, command: str) -> str:
        """Type a command and return what it printed."""
        mark = f"m{time.monotonic_ns()}"
        half = len(mark) // 2
        status = "$status" if self.shell in {FISH, TCSH} else "$?"
        self.child.sendline(command)
        self.child.sendline(f"echo {mark[:half]}''{mark[half:]}\"{status}\"")
        self.child.expect(mark + r"(\d+)\s")
        return str(self.child.before)
