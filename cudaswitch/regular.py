"""Regular files read within limits and without waiting, and written completely; what is where."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BASE = ".base"
"""In a toolkit that is laid over another one: a link to that one."""
_BLANKS = " \t\n\r"
"""The characters that are blanks in JSON."""


def without_waiting(path: str, flags: int) -> int:
    """Open a file for `open`: opening a FIFO must not wait for a writer that never comes."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_regular(path: str | os.PathLike[str], limit: int, *, head: bool = False) -> bytes:
    """Return the content of a regular file of at most `limit` bytes, links followed.

    With `head`, the first `limit` bytes of a longer one. Raises OSError, whose `strerror` says
    why in words even if the file is not a regular one, or is too long.
    """
    with open(path, "rb", opener=without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        is_long = status.st_size > limit and not head
        # The file may have grown since, and files in /proc have no size.
        content = b"" if is_long else file.read(limit + (not head))
        if is_long or len(content) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {_shown(limit)}", os.fspath(path))
        return content


def is_there(path: str | os.PathLike[str]) -> bool:
    """Tell whether something has that name, even a dangling link; OSError in a closed folder.

    There `os.path.lexists` says no, which is enough for code that only reads.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def names_of(folder: str | os.PathLike[str]) -> list[str]:
    """List what is in a folder by name, sorted; nothing if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def toolkit_is_there(home: str) -> bool:
    """Tell whether a toolkit is there; one that is laid over another is useless without that one.

    Shells go by the same link (`__cudaswitch_there`).
    """
    base = f"{home}/{BASE}"
    return os.path.isdir(home) and (not os.path.islink(base) or os.path.isdir(base))


def why_no_folder(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Say why nothing is found in what should be a folder, and what to do; None if it can be."""
    try:
        os.stat(os.path.join(path, "."))
    except FileNotFoundError:
        return "does not exist", "check the path"
    except NotADirectoryError:
        return "is not a directory", "name a directory"
    except OSError as error:
        return f"cannot be read ({error.strerror})", "check who owns it"
    return None


def opening(path: str | os.PathLike[str], instead: str, mode: str = "u+r") -> str:
    """Return the hint for a path that may not be read; `instead` is for another user's."""
    from shlex import quote  # noqa: PLC0415  # only refusals need it

    try:
        is_own = os.stat(path).st_uid == os.geteuid()
    except OSError:
        return f"check who owns the folder, or {instead}"
    return (
        f"chmod {mode} {quote(os.fspath(path))}"
        if is_own
        else f"it belongs to another user: {instead}"
    )


def _shown(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def read_json(path: str | os.PathLike[str], limit: int) -> Any:
    """Return what a regular file of at most `limit` bytes of JSON in UTF-8 holds.

    Raises OSError as `read_regular` does, and ValueError if it is not JSON.
    """
    text = read_regular(path, limit).decode().strip(_BLANKS)
    try:
        # The core of `json`: the rest of it takes longer to load than small files to read.
        from _json import make_scanner  # noqa: PLC0415

        value, end = make_scanner(_Plain)(text, 0)  # type: ignore[arg-type]  # any namespace
    except (ImportError, AttributeError, StopIteration, SystemError):
        # A Python other than CPython; or not JSON, for which `json` finds the words.
        import json  # noqa: PLC0415

        return json.loads(text)
    if end != len(text):
        raise ValueError("there is something behind it")
    return value


class _Plain:
    """Settings of a scanner that makes nothing but Python's own types of JSON."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = float


def write_out(descriptor: int, content: bytes | memoryview) -> None:
    """Write all of it into an open file, however little the system takes at a time."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
