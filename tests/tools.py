"""Finding the programs that a test needs, and making some."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cudaswitch.platforms import current_platform


def require(tool: str) -> str:
    """Return the path of `tool`; without it, skip the test at home and fail it in CI.

    A shell that is silently not tested is a broken promise, so CI must have them all.
    """
    path = shutil.which(tool)
    if path is not None:
        return path
    if os.environ.get("CI"):
        pytest.fail(f"CI must have `{tool}`")
    pytest.skip(f"needs `{tool}`")


def console_script() -> Path:
    """Return the installed `cudaswitch` of the interpreter that runs the tests."""
    script = Path(sys.executable).parent / "cudaswitch"
    if not script.is_file():
        pytest.fail(f"`{script}` is not there: install the package into this environment first")
    return script


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """Write a program: by default, a script that does nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
"""For tests in which something belongs to another user."""
only_linux_64 = pytest.mark.skipif(current_platform() != "linux-64", reason="made for linux-64")
"""For tests with packages for that platform."""


def as_plain_user(*command: str | Path) -> list[str | Path]:
    """Return a command that may not do what modes forbid, even when root runs tests."""
    if os.geteuid() != 0:
        return list(command)
    return [require("setpriv"), "--bounding-set=-all", "--inh-caps=-all", *command]


@contextmanager
def closed(path: Path) -> Iterator[None]:
    """Let nobody but root read, write or enter a file or a folder."""
    before = path.stat().st_mode
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(before)
