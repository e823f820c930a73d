"""The platforms that there are packages for, under conda's names, and which one this is."""

from __future__ import annotations

import os
import sys

PLATFORMS = ("linux-64", "linux-aarch64", "win-64")


def current_platform() -> str:
    """Name this machine's platform as conda does."""
    if sys.platform == "win32":
        return "win-64"
    return "linux-aarch64" if os.uname().machine in ("aarch64", "arm64") else "linux-64"
