"""`.ci/run` on a machine that lacks everything and cannot install it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools import require

RUN = Path(__file__).parents[1] / ".ci/run"
SAYS = """E: Failed to fetch http://mirror.example/x.deb  No space left on device
W: Could not resolve 'mirror.example'"""


def test_why_apt_fails_is_told_and_not_where_packages_come_from(tmp_path: Path) -> None:
    for name in ("bash", "dirname", "mktemp", "rm", "sed", "tail"):
        (tmp_path / name).symlink_to(require(name))
    for name, text in {
        "sudo": 'exec "$@"',
        "apt-get": f'echo "{SAYS}" >&2; exit 100',
        "apt-cache": "exit 0",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [RUN], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    first, *rest = done.stderr.splitlines()
    assert first.startswith("apt-get cannot install ")
    assert set(rest) == {
        "E: Failed to fetch ...  No space left on device",
        "W: Could not resolve ...",
    }
