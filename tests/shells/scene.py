"""A user at a shell who types conda commands: two environments, hooks, and what they leave."""

from __future__ import annotations

from pathlib import Path

from homes import Home
from shells.conda import Conda, conda_prefix, write_hook
from shells.driver import Shell, ShellResult, run_shell


class Scene:
    """Two environments, `a` and `b`, and a user at a shell who types conda commands."""

    def __init__(self, folder: Path, shell: Shell, conda: Conda, home: Home) -> None:
        self.shell, self.conda, self.home = shell, conda, home
        self.base = conda.base_path
        self.a, self.b = conda_prefix(folder / "a"), conda_prefix(folder / "b")

    def hook(self, prefix: Path, kind: str, text: str, name: str = "hook") -> None:
        write_hook(prefix, kind, f"{name}.{self.shell.suffix}", text)

    def play(self, *commands: str, path: str = "") -> ShellResult:
        """Type the commands, with a snap called `0`, `1`, ... before and after each."""
        lines = [self.conda.init(self.shell), self.shell.set("PATH", path or self.base), "snap 0"]
        for number, command in enumerate(commands, 1):
            lines += [command, f"snap {number}"]
        return run_shell(self.shell, "\n".join(lines), self.home.env)

    def enter(self, prefix: Path, *, stack: bool = False) -> str:
        return self.conda.activate(self.shell, prefix, stack=stack)

    def again(self) -> str:
        return self.conda.reactivate(self.shell)

    def leave(self) -> str:
        return self.conda.deactivate()
