"""`conda activate` for tests: the emulator always, and the real conda where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import pytest

from shells.driver import TCSH, Shell

EMULATOR = Path(__file__).with_name("conda_emulator.py")
_SYSTEM_PATH = "/usr/bin:/bin"


class Conda(ABC):
    """Says in a shell's words what a user would type; every method returns script text."""

    name: str
    base_path: str
    """A PATH with nothing on it but the system's folders and what conda itself puts there."""

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def init(self, shell: Shell) -> str:
        """Define `conda` in this shell, with no environment active."""

    @abstractmethod
    def reactivate(self, shell: Shell) -> str:
        """Do what a `conda install` into the active environment does at its end."""

    @abstractmethod
    def run(self, shell: Shell, prefix: Path, *command: str) -> str:
        """Do `conda run` (after `init`); arguments are quoted for the shell."""

    def stacks(self, shell: Shell) -> bool:
        """Tell whether an environment can stay below another one in this shell."""
        return True

    def activate(self, shell: Shell, prefix: Path, *, stack: bool = False) -> str:
        return f"conda activate {'--stack ' if stack else ''}{shell.quote(str(prefix))}"

    def deactivate(self) -> str:
        return "conda deactivate"


@dataclass(frozen=True)
class Emulator(Conda):
    name: str = "emulated"
    base_path: str = _SYSTEM_PATH

    def variables(self, shell: Shell) -> str:
        """Set the variables that the emulator's functions need."""
        exe, python = ("CONDA_EXE", str(EMULATOR)), ("CONDA_PYTHON_EXE", sys.executable)
        return f"{shell.set(*exe)}\n{shell.set(*python)}"

    def init(self, shell: Shell) -> str:
        return f"{self.variables(shell)}\n{shell.source(EMULATOR.with_suffix(f'.{shell.suffix}'))}"

    def reactivate(self, shell: Shell) -> str:
        return "conda reactivate"

    def run(self, shell: Shell, prefix: Path, *command: str) -> str:
        words = [shell.quote(word) for word in (str(prefix), *command)]
        return f"conda run -p {' '.join(words)}"


@dataclass(frozen=True)
class RealConda(Conda):
    """The conda on PATH. Its base is not activated."""

    exe: str
    base_path: str
    name: str = "real"

    def init(self, shell: Shell) -> str:
        # The older name of the setting, which newer versions read too.
        setting = {"CONDA_AUTO_ACTIVATE_BASE": "false"}
        lines = [shell.set(*pair) for pair in setting.items()]
        exe = shell.quote(self.exe)
        if shell.suffix == "csh":
            lines += [shell.set("_CONDA_EXE", self.exe), "unalias conda"]
            hook = [self.exe, "shell.csh", "hook"]
            done = subprocess.run(hook, env=os.environ | setting, capture_output=True, check=True)
            lines.append(done.stdout.decode())
        elif shell.suffix == "fish":
            lines.append(f"{exe} shell.fish hook | source")
        elif shell.name == "xonsh":
            lines.append(f"execx($({exe} shell.xonsh hook))")
        else:
            lines.append(f'eval "$({exe} shell.posix hook)"')
        return "\n".join(lines)

    def stacks(self, shell: Shell) -> bool:
        return shell.name != "xonsh"

    def activate(self, shell: Shell, prefix: Path, *, stack: bool = False) -> str:
        words = super().activate(shell, prefix, stack=stack and self.stacks(shell))
        # In xonsh, conda warns about each environment that is named by its path.
        return f"{words} e>/dev/null" if shell.name == "xonsh" else words

    def reactivate(self, shell: Shell) -> str:
        if shell.name == "xonsh":
            return "conda activate $CONDA_PREFIX e>/dev/null"
        return 'conda activate "$CONDA_PREFIX"'

    def run(self, shell: Shell, prefix: Path, *command: str) -> str:
        words = [shell.quote(word) for word in (str(prefix), *command)]
        return f"conda run --no-capture-output -p {' '.join(words)}"


def real_conda() -> RealConda | None:
    """Return the conda on PATH, if one is there; tests then try both."""
    exe = shutil.which("conda")
    if exe is None:
        return None
    # A first activation adds this folder if it is missing.
    condabin = Path(exe).resolve().parent.parent / "condabin"
    return RealConda(exe, f"{condabin}:{_SYSTEM_PATH}")


CONDAS: list[Conda] = [Emulator(), *filter(None, [real_conda()])]


def conda_prefix(path: Path) -> Path:
    """Make an empty conda environment at `path`, with folders for hooks; it may exist already."""
    for name in ("bin", "conda-meta", "etc/conda/activate.d", "etc/conda/deactivate.d"):
        (path / name).mkdir(parents=True, exist_ok=True)
    (path / "conda-meta" / "history").touch()
    return path


def write_hook(prefix: Path, kind: str, name: str, text: str) -> None:
    """Write a script `name` that conda runs when it activates or deactivates (`kind`)."""
    (prefix / "etc" / "conda" / f"{kind}.d" / name).write_text(text)


def skip_conda_s_own_tcsh(shell: Shell, conda: Conda) -> None:
    if shell is TCSH and isinstance(conda, RealConda):
        pytest.skip("conda's alias for tcsh expands its words again, and wants a prompt")
