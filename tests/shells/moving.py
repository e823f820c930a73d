"""Going from folder to folder, and which toolkit each step brought."""

from __future__ import annotations

from pathlib import Path

from shells.driver import NU, TCSH, Shell, ShellResult
from shells.kits import Person


def cd(shell: Shell, folder: Path) -> str:
    return f"cd {shell.quote(str(folder))}\n{shell.prompt}"


def homes(person: Person, result: ShellResult) -> str:
    """Return the number of the toolkit at each snap, `-` for none."""
    numbers = {str(kit.home): str(n) for n, kit in enumerate(person.kits, 1)}
    found = [result.snaps[str(n)].get("CUDA_HOME", "") for n in range(len(result.snaps))]
    return "".join(numbers.get(home, "-") for home in found)


def ask_instead(shell: Shell, program: Path) -> str:
    """Return a line after which the loaded integration asks `program`."""
    if shell is TCSH:  # where a shell variable takes precedence over an exported one
        return f"set _cudaswitch_program = {shell.quote(str(program))}"
    if shell is NU:
        return f"$env._cudaswitch_program = [{shell.quote(str(program))}]"
    return shell.set("_cudaswitch_program", str(program))
