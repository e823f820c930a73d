"""Whose a store is: never everybody's, whatever the umask, and never root's by accident.

The rule is in SECURITY.md. A folder that a group may write is that group's: whoever made it so
trusts its members. Nothing here makes one.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from cudaswitch.errors import StoreError
from cudaswitch.talk import hint, say


def refuse_everybodys(folder: Path) -> None:
    """Raise StoreError where everybody could replace what lies in `folder`."""
    for place in _spellings(folder):
        if _is_everybodys(place):
            raise StoreError(
                f"everybody may write the store `{place}`",
                f"chmod o-w '{place}', or set CUDASWITCH_HOME to a folder elsewhere",
            )


@functools.cache
def tell_of_everybodys(folder: Path) -> None:
    """Say so, once, where everybody could replace a folder above `folder`, and so this.

    Volumes of rented machines are often such, where nobody else is: it is not refused.
    """
    for place in dict.fromkeys(above for one in _spellings(folder) for above in one.parents):
        if _is_everybodys(place):
            say(f"everybody may write `{place}`, and so replace the store `{folder}`")
            hint(f"chmod o-w '{place}', or set CUDASWITCH_HOME to a folder elsewhere")
            return


def _spellings(folder: Path) -> Iterable[Path]:
    return dict.fromkeys((Path(os.path.realpath(folder)), folder))


def _is_everybodys(place: Path) -> bool:
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    # In a sticky folder, such as /tmp or a fresh tmpfs, each may replace their own alone.
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def refuse_sudo(folder: Path) -> None:
    """Raise PermissionError where `sudo` would leave root's files in the folders of its caller."""
    caller = os.environ.get("SUDO_UID", "")
    if not caller.isdecimal() or int(caller) == 0 or os.geteuid() != 0:
        return
    with contextlib.suppress(StopIteration):
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if there.stat().st_uid == int(caller):
            raise PermissionError(
                errno.EPERM, "it is not root's, and `sudo` would leave files of root", str(there)
            )


@contextlib.contextmanager
def plain_modes(root: Path) -> Iterator[None]:
    """Let folders have the mode 0755 and files 0644, whatever the umask.

    In a store that its group may write, the group may write what is made, too.
    """
    groups = root.is_dir() and root.stat().st_mode & stat.S_IWGRP
    before = os.umask(0o002 if groups else 0o022)
    try:
        yield
    finally:
        os.umask(before)
