"""Conda environments with pins, and a shell session among them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shells.conda import Conda, conda_prefix
from shells.driver import Shell, ShellResult
from shells.kits import Person


@dataclass(frozen=True)
class Session:
    """A user with environments `a` and `c`, which may be pinned, and `b`, which never is.

    A test may make a fourth, `d`.
    """

    person: Person
    folder: Path
    shell: Shell
    conda: Conda

    def steps(self, words: str) -> list[str]:
        """Translate `a`, `+b` (stacked), `again`, `out`; anything else is typed as it is."""
        said = {"again": self.conda.reactivate(self.shell), "out": self.conda.deactivate()}
        for name in "abcd":
            prefix = self.folder / name
            said[name] = self.conda.activate(self.shell, prefix)
            said[f"+{name}"] = self.conda.activate(self.shell, prefix, stack=True)
        return [said[word] for word in words.split()]

    def play(self, *steps: str, load: bool = False, **variables: str | None) -> ShellResult:
        start = [self.person.load(self.shell)] if load else []
        path = variables.pop("PATH", None) or self.conda.base_path
        # conda puts its own folder on PATH when it is loaded.
        start += [self.conda.init(self.shell), self.shell.set("PATH", path)]
        bare = Person(self.person.home, self.person.kits, {})
        return bare.play(self.shell, "\n".join(start), *steps, **variables)


def pinned_environments(person: Person, folder: Path) -> Path:
    """Make `a` and `c`, pinned to the first two toolkits, and `b`; the same below `bare`."""
    for name in "abc":
        conda_prefix(folder / name)
        conda_prefix(folder / "bare" / name)
    person.pin("10.1", folder / "a")
    person.pin("11.8", folder / "c")
    return folder


def unpinned(session: Session) -> Session:
    folder = session.folder / "bare"
    return Session(session.person, folder, session.shell, session.conda)
