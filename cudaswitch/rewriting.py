"""Somebody's file with other content: its names, mode, group and mount stay."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from io import FileIO
from pathlib import Path

from cudaswitch.durable import sweep_beside, write_all, write_atomically
from cudaswitch.regular import write_out


def rewrite(path: Path, content: bytes) -> None:
    """Write a file whole, as it was in everything but its content. Raises OSError."""
    # A killed run may have left a second name of it, which would count as one of the user's.
    sweep_beside([path])
    try:
        before = path.stat()
    except FileNotFoundError:
        write_atomically(path, content)
        return
    # The file's other hard links must change too, and its folder may not permit a new file.
    if before.st_nlink > 1 or not os.access(path.parent, os.W_OK):
        _overwrite(path, content)
        return
    try:
        write_all({path: content}, kept=True)
    except OSError as error:
        # It may be mounted into a container: then no other file can take its place.
        if error.errno != errno.EBUSY:
            raise
        _overwrite(path, content)


def write_where_named(path: str | Path, content: bytes) -> None:
    """Write where the user says: links are followed; anything but a regular file is just opened.

    Raises OSError.
    """
    if not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode):
        rewrite(Path(os.path.realpath(path)), content)
        return
    # No O_CREAT: what was there may be gone by now.
    with open(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb") as file:
        file.write(content)


def _overwrite(path: Path, content: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        before = file.read()
        try:
            _put(file, content)
        except OSError:
            with contextlib.suppress(OSError):
                _put(file, before)
            raise


def _put(file: FileIO, content: bytes) -> None:
    file.seek(0)
    write_out(file.fileno(), content)
    file.truncate(len(content))
    os.fsync(file.fileno())
