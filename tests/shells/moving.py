"""Going from folder to folder, and which toolkit each step brought."""

from __future__ import annotations

from pathlib import Path

from shells.driver import Shell, ShellResult
from shells.kits import Person


def cd(shell: Shell, folder: Path) -> str:
    return f"cd {shell.quote(str(folder))}\n{shell.prompt}"


def homes(person: Person, result: ShellResult) -> str:
    """Return the number of the toolkit at each snap, `-` for none."""
    numbers = {str(kit.home): str(n) for n, kit in enumerate(person.kits, 1)}
    found = [result.snaps[str(n)].get("CUDA_HOME", "") for n in range(len(result.snaps))]
    return "".join(numbers.get(home, "-") for home in found)
