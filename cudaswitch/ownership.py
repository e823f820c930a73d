"""Whose a store is: never everybody's, whatever the umask, and never root's by accident.

The rule is in SECURITY.md. A folder that a group may write is that group's: whoever made it so
trusts its members. Nothing here makes one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.errors import StoreError


def refuse_everybodys(folder: Path) -> None:
    """Raise StoreError where anybody could replace what lies in `folder`.

    That is when everybody may write it, or a folder above it that is not sticky.
    """
    if os.name == "nt":  # has other rights than modes
        return
    real = Path(os.path.realpath(folder))
    for place in dict.fromkeys((real, folder, *real.parents, *folder.parents)):
        try:
            mode = place.stat().st_mode
        except OSError:
            continue
        harmless = mode & stat.S_ISVTX and place not in (real, folder)
        if mode & stat.S_IWOTH and not harmless:
            store = "" if place == folder else f", and so change what is in the store `{folder}`"
            raise StoreError(
                f"everybody may write `{place}`{store}",
                f"chmod o-w '{place}', or set CUDASWITCH_HOME to a folder elsewhere",
            )


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
