"""Running programs where they may mount file systems without others seeing them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NO_HOME = """
for file in /etc/passwd /etc/nsswitch.conf; do
    [ ! -e $file ] || mount --bind /dev/null $file
done
unset HOME
exec "$@"
"""
"""Runs a program for which neither HOME nor an account names a home folder."""


def in_own_mounts(
    script: str,
    *arguments: str | Path,
    cwd: Path,
    env: dict[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a shell script with mounts of its own; if that is forbidden, skip, or fail in CI."""
    options = ["-m"] if os.geteuid() == 0 else ["-r", "-m"]
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", *options, "true"], capture_output=True, check=False
        ).returncode
    ):
        if os.environ.get("CI"):
            pytest.fail("CI must let tests mount file systems")
        pytest.skip("needs to mount file systems")
    return subprocess.run(
        ["unshare", *options, "sh", "-ec", script, "sh", *arguments],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
