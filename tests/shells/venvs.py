"""Virtualenvs of every maker: how they are made and entered, and what they may change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from shells.driver import Environment, Shell, ShellResult
from shells.kits import STATE, Kit, foreign, switched


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


def with_venv(prefix: Path) -> Path:
    _run(sys.executable, "-m", "venv", "--without-pip", prefix)
    return prefix


def with_virtualenv(prefix: Path) -> None:
    _run(sys.executable, "-m", "virtualenv", "--no-seed", "--quiet", prefix)


def with_uv(prefix: Path) -> None:
    _run(sys.executable, "-m", "uv", "venv", "--quiet", "--offline", "-p", sys.executable, prefix)


MAKERS = {"venv": with_venv, "virtualenv": with_virtualenv, "uv": with_uv}
Maker = Callable[[Path], object]


def activate(shell: Shell, prefix: Path) -> str:
    suffix = "" if shell.suffix == "sh" else f".{shell.suffix}"
    return shell.source(prefix / "bin" / f"activate{suffix}")


def scripts(prefix: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (prefix / "bin").glob("*activate*")}


def bare(env: Environment) -> Environment:
    """Leave out our bookkeeping and what the makers' own scripts keep."""
    own = ("VIRTUAL_ENV", "_OLD_", "PS1", "PKG_CONFIG", "TCL_", "TK_", "OLDPWD")
    return {name: value for name, value in foreign(env).items() if not name.startswith(own)}


def assert_on(result: ShellResult, number: int, prefix: Path, kit: Kit) -> None:
    before, now = result.snaps["0"], result.snaps[str(number)]
    assert bare(now) == bare(switched(before | {"PATH": f"{prefix}/bin:{before['PATH']}"}, kit))


def assert_as_before(result: ShellResult, number: int) -> None:
    now = result.snaps[str(number)]
    assert bare(now) == bare(result.snaps["0"])
    assert not [name for name in now if name.startswith(STATE)]
