"""A shell at a real prompt, on a pty."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pexpect

from shells.driver import FISH, TCSH, Environment, Shell
from shells.kits import Person, read_env
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

    def reach(self) -> None:
        """Wait until the shell answers: while it starts or is interrupted, it may discard input."""
        for _ in range(60):
            self.child.sendline("echo 'ans'wers")
            if self.child.expect([pexpect.TIMEOUT, "answers"], timeout=1):
                self.say("")  # which comes after the answers to all of them
                return
        raise AssertionError("the shell does not answer")

    def say(self, command: str) -> str:
        """Type a command and return what it printed."""
        mark = f"m{time.monotonic_ns()}"
        half = len(mark) // 2
        status = "$status" if self.shell in {FISH, TCSH} else "$?"
        self.child.sendline(command)
        self.child.sendline(f"echo {mark[:half]}''{mark[half:]}\"{status}\"")
        self.child.expect(mark + r"(\d+)\s")
        return str(self.child.before)


Open = Callable[..., Terminal]
"""Opens a shell at its prompt: the fixture `at_prompt`."""


def home_of(terminal: Terminal) -> str:
    found = terminal.say('echo "is""at"-"$CUDA_HOME"-"th""is"')
    return found.rpartition("isat-")[2].partition("-this")[0]


def cd(terminal: Terminal, folder: Path) -> str:
    return terminal.say(f"cd {terminal.shell.quote(str(folder))}")


def seen(terminal: Terminal) -> Environment:
    """Return the variables of a command typed now, without those that shells keep themselves."""
    path = Path(terminal.directory) / "seen"
    terminal.say(f"env -0 >{terminal.shell.quote(str(path))}")
    own = ("SHLVL", "PWD", "OLDPWD", "_", "PS1", "USER", "LOGNAME", "LINES", "COLUMNS")
    own += ("_CUDASWITCH_PREVIOUS",)
    return {name: value for name, value in read_env(path).items() if name not in own}


def printed(terminal: Terminal, command: str) -> list[str]:
    """Type a command; return the lines it printed, without prompts and empty ones."""
    lines = terminal.say(command).replace("ready> ", "").splitlines()
    return [line.strip() for line in lines if line.strip()]
