"""Which running processes use a toolkit's files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def users_of(folders: Iterable[Path]) -> list[str]:
    """List the processes that run, or have mapped, a file below one of the folders.

    Other users' processes cannot be looked into and are not told of.
    """
    places = [f"{folder}{os.sep}" for folder in folders]
    users = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mapped = (process / "maps").read_text(encoding="utf-8", errors="replace")
            name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if any(place in mapped for place in places):
            users.append(f"{name} (process {process.name})")
    return sorted(users)
