"""Files and folders deleted, however deep a folder is."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from pathlib import Path

DOOMED = ".cudaswitch-removed"
"""A file that marks a folder as being deleted in place: what a kill leaves is known by it."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_TRIES = 5
"""Attempts to remove a folder that another process removes too, or that NFS keeps files in."""
_PAUSE = 0.02
"""Seconds between these tries."""


def sweep(path: Path) -> None:
    """Delete a file or folder, if it is there. Raises OSError that names it."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        path.unlink(missing_ok=True)
        return
    # The mark goes last: without it, nobody would know what the rest is.
    for name in os.listdir(path) if os.path.lexists(path / DOOMED) else ():
        if name != DOOMED:
            sweep(path / name)
    for left in reversed(range(_TRIES)):
        try:
            _delete(path)
        except FileNotFoundError:
            if not os.path.lexists(path):
                return
        except OSError as error:
            # Over NFS, a file that is still open stays under another name until it is closed.
            if not left:
                error.filename = str(path)
                raise
        else:
            return
        time.sleep(_PAUSE)


def _delete(folder: Path) -> None:
    """Delete a folder with all that is in it; a deep part may have no path that the system takes.

    Folders that are closed to their owner are opened by that. One is open at a time, and is left
    by its `..`. (shutil.rmtree recurses before Python 3.13, and in all versions has as many open
    as the deepest one has above it.)
    """
    above: list[tuple[os.stat_result, list[str], str]] = []
    here = _opened(folder)
    try:
        inside = _left_in(here)
        while inside or above:
            if inside:
                above.append((os.fstat(here), inside, inside.pop()))
                here = _instead_of(here, above[-1][2])
                inside = _left_in(here)
            else:
                status, inside, name = above.pop()
                here = _instead_of(here, "..")
                # If somebody moves the folder meanwhile, what is above it is not ours.
                if not os.path.samestat(os.fstat(here), status):
                    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
                os.rmdir(name, dir_fd=here)
    finally:
        os.close(here)
    folder.rmdir()


def _left_in(folder: int) -> list[str]:
    """Delete the files and links in an open folder; return the folders in it."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=folder)
    return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def _instead_of(folder: int, name: str) -> int:
    """Open what is in an open folder, and close that one."""
    opened = _opened(name, folder)
    os.close(folder)
    return opened


def _opened(name: str | Path, folder: int | None = None) -> int:
    """Open a folder, and give its owner what deleting requires."""
    try:
        opened = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        with contextlib.suppress(OSError):
            os.chmod(name, stat.S_IRWXU, dir_fd=folder)
        opened = os.open(name, _FOLDER, dir_fd=folder)
    if os.fstat(opened).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with contextlib.suppress(OSError):
            os.fchmod(opened, stat.S_IRWXU)
    return opened
