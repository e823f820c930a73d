"""What every archive format is read into: members, with names that are safe to join."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cudaswitch.archives.faults import UnsafeError, shown

Kind = Literal["file", "directory", "symlink", "hardlink"]
Content = Iterator[bytes | memoryview]

MAX_PATH_BYTES = 1024
MAX_DEPTH = 60


@dataclass
class Member:
    """One member of an archive.

    `path` is relative, uses `/` and has passed `safe_path`; "" is the top folder itself.
    `size` (bytes) and `content` belong to files: content can be read once, before the next
    member is asked for, and raises DamagedError when it is not what the archive promised.
    `target` is where a symbolic link points, as written, or the earlier member (a safe path)
    that a hard link repeats.
    """

    path: str
    kind: Kind
    size: int = 0
    executable: bool = False
    target: str = ""
    content: Content = field(default_factory=lambda: iter(()))


def decode_name(raw: bytes) -> str:
    """Return a member's name or target as text; every format here uses UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsafeError(f"{shown(ascii(raw)[2:-1])} is not a UTF-8 name") from error


def check_text(name: str) -> None:
    """Refuse what terminals, shells or file systems treat differently: controls, `\\`, length."""
    if not name.isprintable() or "\\" in name:
        raise UnsafeError(f"{shown(ascii(name)[1:-1])} has characters that are unsafe in a name")
    if len(name.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        raise UnsafeError(f"{shown(name)} is longer than {MAX_PATH_BYTES} bytes")


def safe_path(name: str, directory: bool = False) -> str:
    """Return the path that a member's name means, or raise UnsafeError.

    Accepted: `a/b`, `./a/b`, `..a`; `a/` and `.` for directories. Refused: anything that two
    readers could understand differently, or that leaves the folder.
    """
    check_text(name)
    path = name
    while path.startswith("./"):
        path = path[2:]
    if directory:
        if name and path in ("", "."):
            return ""
        path = path.removesuffix("/")
    parts = path.split("/")
    if not all(parts) or any(part in (".", "..") for part in parts):
        raise UnsafeError(f"{shown(name)} is not a path inside the archive")
    if len(parts) > MAX_DEPTH:
        raise UnsafeError(f"{shown(name)} is more than {MAX_DEPTH} folders deep")
    return path
