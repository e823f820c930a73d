"""A store with shims, and environments for them to decide by."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudaswitch import shims
from cudaswitch.adopting import adopt
from cudaswitch.changing import own_store
from cudaswitch.environments import Environment
from cudaswitch.versions import Version
from homes import Home
from tools import console_script, executable

_TOOL = '#!/bin/sh\nprintf "%s\\0" "$0" "$@"\n'
"""A tool that prints what it was called with."""


def echoing(path: Path) -> Path:
    return executable(path, _TOOL)


@dataclass
class Place:
    """A store with two toolkits and their shims: only 11.8 has `cuda-memcheck`."""

    home: Home
    old: Path
    new: Path
    asked: Path

    def call(
        self, tool: str, *arguments: str, cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Call a shim by its path."""
        return subprocess.run(
            [self.home.store / "shims" / tool, *arguments],
            env=self.env(**variables),
            cwd=cwd or self.home.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def env(self, **variables: str) -> dict[str, str]:
        path = f"{self.home.store}/shims:{self.home.env['PATH']}"
        return self.home.env | {"PATH": path} | variables

    @property
    def python_was_asked(self) -> bool:
        return self.asked.exists()


def made_place(home: Home, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Fill a home whose `cudaswitch` notes in `asked` that it was called, and use that home."""
    folder = home.path.parent
    monkeypatch.setenv("CUDASWITCH_HOME", str(home.store))
    monkeypatch.delenv("CUDASWITCH_STORES", raising=False)
    asked = folder / "asked"
    real = console_script()
    program = executable(
        folder / "it's" / "cudaswitch", f'#!/bin/sh\n: > "{asked}"\nexec {real} "$@"\n'
    )
    monkeypatch.setattr(sys, "argv", [str(program)])
    old, new = folder / "cuda-11.8", folder / "cuda-12.4"
    for kit in (old, new):
        echoing(kit / "bin" / "nvcc")
        (kit / "lib64").mkdir()
    echoing(old / "bin" / "cuda-memcheck")
    adopt(own_store(), old, Version("11.8"))
    adopt(own_store(), new, Version("12.4"))
    shims.install()
    return Place(home, old, new, asked)


def environment(prefix: Path, kind: str, pin: str | None) -> Path:
    """Make a folder that counts as an environment, pinned or not."""
    if kind == "C":
        (prefix / "conda-meta").mkdir(parents=True)
    else:
        prefix.mkdir()
        (prefix / "pyvenv.cfg").touch()
    if pin:
        file = Path(Environment(str(prefix), "C" if kind == "C" else "V").pin_file)
        file.parent.mkdir(parents=True)
        file.write_text(pin)
    return prefix
