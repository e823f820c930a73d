"""The emulated conda without a process per transition, for histories by the thousand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shells.conda import Conda, Emulator, real_conda
from shells.driver import Shell

_QUICK = Path(__file__).with_name("quick_conda.sh")


@dataclass(frozen=True)
class QuickConda(Emulator):
    """Transitions done by the shell, if there is a file for that; `conda run` is a process."""

    name: str = "quick"

    def init(self, shell: Shell) -> str:
        defined = super().init(shell).splitlines()[:-1]
        quick = _QUICK.with_suffix(f".{shell.suffix}")
        return "\n".join([*defined, shell.source(quick)]) if quick.exists() else super().init(shell)


CONDAS: list[Conda] = [QuickConda(), *filter(None, [real_conda()])]
