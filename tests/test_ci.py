"""`.ci/run` on a machine that lacks everything and cannot install it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools import executable, require

RUN = Path(__file__).parents[1] / ".ci/run"
SAYS = """E: Failed to fetch http://mirror.example/x.deb  No space left on device
W: Could not resolve 'mirror.example'"""
HEARD = {"E: Failed to fetch ...  No space left on device", "W: Could not resolve ..."}


def test_why_apt_fails_is_told_and_not_where_packages_come_from(tmp_path: Path) -> None:
    first, rest = told(tmp_path, {"apt-get": f'echo "{SAYS}" >&2; exit 100', "apt-cache": "exit 0"})
    assert first.startswith("apt-get cannot install ")
    assert rest == HEARD


def test_why_npm_fails_is_told_and_not_where_packages_come_from(tmp_path: Path) -> None:
    first, rest = told(tmp_path, {"apt-get": "exit 0", "npm": f'echo "{SAYS}" >&2; exit 1'})
    assert first.startswith("npm cannot install nushell@")
    assert rest == HEARD


def told(folder: Path, tools: Mapping[str, str]) -> tuple[str, set[str]]:
    """Run `.ci/run` with these tools alone; return the first line of its error, and the others."""
    for name in ("bash", "dirname", "mktemp", "rm", "sed", "tail"):
        (folder / name).symlink_to(require(name))
    for name, text in {"sudo": 'exec "$@"', **tools}.items():
        executable(folder / name, f"#!/bin/sh\n{text}\n")
    done = subprocess.run(
        [RUN], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    first, *rest = done.stderr.splitlines()
    return first, set(rest)
