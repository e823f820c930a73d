"""What is slow to build: built once per test session, and shared by all its workers."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

VARIABLE = "BUILDERS_CACHE"
"""Names the cache folder. Set it by hand to keep what was built from one session to the next."""


def cache_folder() -> Path:
    """Return the cache of this session; without a session (a script), one for this process."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="builders-")
        atexit.register(shutil.rmtree, os.environ[VARIABLE], ignore_errors=True)
    return Path(os.environ[VARIABLE])


def cached(name: str, build: Callable[[Path], object]) -> Path:
    """Return the folder `name` of the cache, filled by `build(folder)` at its first use.

    It is shared: callers read it and never change what is in it.
    """
    folder = cache_folder() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            staging = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            build(staging)
            staging.rename(folder)
    return folder
