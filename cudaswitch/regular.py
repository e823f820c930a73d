"""Read a regular file with bounds: nothing is waited for, and no device has an end."""

from __future__ import annotations

import errno
import os
import stat


def read_regular(path: str | os.PathLike[str], limit: int, *, head: bool = False) -> bytes:
    """Return the bytes of a regular file of at most `limit` ones, links followed.

    With `head` the first `limit` bytes of a longer one. Raises OSError, whose `strerror` tells
    why in words also where the file is none, or too long.
    """
    # O_NONBLOCK: opening a FIFO must not wait for a writer that never comes.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as file:  # noqa: PTH123  # from a descriptor
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if status.st_size > limit and not head:
            raise OSError(errno.EFBIG, f"it is larger than {_shown(limit)}")
        return file.read(limit)


def _shown(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
