"""Read what Windows' loader reads of a program or library to find others: headers and imports.

The format is that of Microsoft's "PE Format", sections "File Headers", "Section Table" and
"The .idata Section".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cudaswitch.elf import Read
from cudaswitch.errors import CudaswitchError

_MOST_SECTIONS = 96
"""Windows loads no file with more."""
_MOST_IMPORTS = 4096
_LONGEST = 1024
"""Bytes of a library's name."""

_WIDE, _NARROW = 0x20B, 0x10B
_DIRECTORIES = {_WIDE: 108, _NARROW: 92}
"""Magic number of the optional header → where in it the number of data directories stands."""
_IS_LIBRARY = 0x2000


class PeError(CudaswitchError):
    """A file is not a program or library for Windows, or is damaged; `reason` says how."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"`{name}` cannot be loaded: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Pe:
    """What a PE file says to the loader.

    `machine` is the number of its processor (0x8664 is x86-64), `is_library` tells a library
    from a program. `needed` are the libraries that are loaded with it, as it spells them.
    """

    machine: int
    is_library: bool
    needed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Section:
    """A part of the file, and where it is loaded."""

    address: int
    size: int
    offset: int


def parse(read: Read, name: str) -> Pe:
    """Read a PE file through `read`; `name` is what errors call it. Raises PeError."""
    try:
        return _parsed(read)
    except struct.error:
        raise PeError(name, "it ends before its headers do") from None
    except _FaultError as error:
        raise PeError(name, str(error)) from None


class _FaultError(Exception):
    pass


def _parsed(read: Read) -> Pe:
    if read(0, 2) != b"MZ":
        raise _FaultError("it is not a Windows program or library")
    (start,) = struct.unpack("<I", read(60, 4))
    if read(start, 4) != b"PE\0\0":
        raise _FaultError("it is not a Windows program or library")
    machine, count, size, flags = struct.unpack("<HH12xHH", read(start + 4, 20))
    optional = read(start + 24, size)
    (magic,) = struct.unpack_from("<H", optional)
    if magic not in _DIRECTORIES or count > _MOST_SECTIONS:
        raise _FaultError("its headers are damaged")
    sections = list(_sections(read(start + 24 + size, 40 * count), count))
    at = _DIRECTORIES[magic]
    (directories,) = struct.unpack_from("<I", optional, at)
    # The second directory is that of the imports; a file without any may end before it.
    table = struct.unpack_from("<I", optional, at + 12)[0] if directories > 1 else 0
    needed = tuple(_needed(read, sections, table)) if table else ()
    return Pe(machine, bool(flags & _IS_LIBRARY), needed)


def _sections(table: bytes, count: int) -> Iterator[_Section]:
    for number in range(count):
        size, address, stored, offset = struct.unpack_from("<8xIIII", table, 40 * number)
        yield _Section(address, min(size or stored, stored), offset)


def _needed(read: Read, sections: list[_Section], table: int) -> Iterator[str]:
    for number in range(_MOST_IMPORTS):
        name, thunk = struct.unpack("<12xII", read(_offset(sections, table + 20 * number), 20))
        if not (name and thunk):
            return
        text, end, _ = read(_offset(sections, name), _LONGEST).partition(b"\0")
        if not end:
            raise _FaultError("its table of imports is damaged")
        yield text.decode("utf-8", "surrogateescape")
    raise _FaultError("its table of imports has no end")


def _offset(sections: list[_Section], address: int) -> int:
    """Return the offset in the file of the byte that is loaded to an address."""
    for section in sections:
        if 0 <= address - section.address < section.size:
            return section.offset + address - section.address
    raise _FaultError("its table of imports is not in the file")
