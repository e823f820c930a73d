"""Whose a store is: never everybody's, and never root's by accident.

The rule is in SECURITY.md. A folder that a group may write is that group's: whoever made it so
trusts its members. Nothing here makes one.
"""

from __future__ import annotations

import errno
import os
import stat

from cudaswitch.environments import sudo_caller
from cudaswitch.errors import StoreError, SudoError
from cudaswitch.talk import hint, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_told: set[str] = set()
"""Stores that `warn_of_world_writable` has looked at."""


def refuse_world_writable(folder: str) -> None:
    """Raise StoreError if everybody could replace what is in `folder`."""
    for place in _spellings(folder):
        if _is_world_writable(place):
            raise StoreError(f"the store `{place}` is writable by everyone", _closing(place))


def warn_of_world_writable(folder: str) -> None:
    """Warn once if everybody could replace a folder above `folder`, and thus `folder`.

    This is not refused: volumes of rented machines are often so, and nobody else is there.
    """
    if folder in _told:
        return
    _told.add(folder)
    for place in dict.fromkeys(above for one in _spellings(folder) for above in _above(one)):
        if _is_world_writable(place):
            say(f"`{place}` is writable by everyone, who could thus replace the store `{folder}`")
            hint(_closing(place))
            return


def _closing(place: str) -> str:
    """Return the hint for a folder that everybody may write."""
    from shlex import quote  # noqa: PLC0415  # only refusals need it

    return f"chmod o-w {quote(place)}, or set CUDASWITCH_HOME to a folder elsewhere"


def _spellings(folder: str) -> Iterable[str]:
    return dict.fromkeys((os.path.realpath(folder), folder))


def _above(folder: str) -> Iterator[str]:
    """Yield the folders above one, the nearest first."""
    above = os.path.dirname(folder)
    while above != folder:
        yield above
        folder, above = above, os.path.dirname(above)


def _is_world_writable(place: str) -> bool:
    try:
        mode = os.stat(place).st_mode
    except OSError:
        return False
    # In a sticky folder, such as /tmp or a fresh tmpfs, users can replace only their own files.
    return stat.S_ISDIR(mode) and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def is_open_as(store: int, mode: int) -> bool:
    """Tell whether all readers of a store may read a file or folder in it, and only writers write.

    Both arguments are modes, the first that of the store's own folder.
    """
    needed = stat.S_IRUSR | store & (0o055 if stat.S_ISDIR(mode) else 0o044)
    return mode & needed == needed and not mode & 0o022 & ~(store & stat.S_IWGRP)


def is_another_users(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path, links followed, exists and is another user's."""
    return os.path.exists(path) and os.stat(path).st_uid != os.geteuid()


def refuse_sudo(folder: str) -> None:
    """Raise SudoError if `sudo` would leave root's files in a folder of its caller."""
    caller = sudo_caller()
    if not caller:
        return
    folder = os.path.abspath(folder)
    there = next(filter(os.path.exists, (folder, *_above(folder))))
    if os.stat(there).st_uid == caller:
        raise SudoError(
            errno.EPERM,
            "it does not belong to root, and `sudo` would leave root's files in it",
            there,
        )
