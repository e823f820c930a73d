"""What a project of these tests asks for, and what a home then has of it."""

from __future__ import annotations

from pathlib import Path

import builders
from cudaswitch.platforms import current_platform
from homes import Home

KIT = "10.1.243+cudnn7.6.5"
FOLDER = {"linux-64": "linux-x86_64", "linux-aarch64": "linux-sbsa"}[current_platform()]


def manifests(home: Home) -> dict[str, str]:
    """Return each toolkit's list of its files with their hashes."""
    found = (home.store / "toolkits").glob("*/cudaswitch-files.json")
    return {path.parent.name: path.read_text() for path in found}


def archive(folder: Path, name: str, version: str) -> Path:
    top = f"{name}-{FOLDER}-{version}-archive"
    tree = {f"bin/{name}": f"{name} {version}".encode(), "LICENSE": b"NVIDIA license\n"}
    return builders.tar_archive(folder / f"{top}.tar.xz", top, tree)
