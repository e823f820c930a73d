"""The cache that `ldconfig` writes, read as glibc reads it (elf/dl-cache.c, dl-cache.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_OLD, _NEW = b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"
_OLD_HEADER, _OLD_ENTRY = struct.Struct("12sI"), struct.Struct("iII")
_HEADER = struct.Struct("20sIIB3xI12x")
_ENTRY = struct.Struct("iIIIQ")
_EXTENSION, _SECTION = struct.Struct("II"), struct.Struct("IIII")
_EXTENSION_MAGIC = 0xEAA42174
_HWCAPS_SECTION = 1

_KINDS = {62: 0x0303, 183: 0x0A03, 21: 0x0503}
"""e_machine → the flags of an entry for a 64-bit library of that machine and libc.so.6."""

_NAMED = 1 << 62
"""The bit of `hwcap` that makes its lower half the number of a glibc-hwcaps folder."""

_LONGEST = 4096


class Entry(NamedTuple):
    """A library in the cache; `hwcaps` names the glibc-hwcaps folder that it is in, if any."""

    path: str
    flags: int
    hwcaps: str | None


class Cache:
    """Where libraries are, by SONAME; in the cache's own order, which is that of preference."""

    def __init__(self, entries: Sequence[tuple[str, Entry]] = ()) -> None:
        self._entries: dict[str, list[Entry]] = {}
        for name, entry in entries:
            self._entries.setdefault(name, []).append(entry)

    def find(self, name: str, machine: int, hwcaps: Sequence[str]) -> list[str]:
        """List the files for a SONAME, beginning with the one that the loader takes.

        `hwcaps` are the glibc-hwcaps folders that this processor can use, the best first.
        """
        fit = [one for one in self._entries.get(name, ()) if one.flags == _KINDS.get(machine)]
        special = [one for one in fit if one.hwcaps in hwcaps]
        special.sort(key=lambda one: hwcaps.index(one.hwcaps or ""))
        return [one.path for one in special] + [one.path for one in fit if one.hwcaps is None]


def parse_cache(data: bytes) -> Cache:
    """Read `/etc/ld.so.cache`. One that is damaged counts as empty, as it does for the loader."""
    start = _start(data)
    try:
        return Cache(list(_old(data) if start is None else _new(data[start:])))
    except (struct.error, _DamagedError):
        return Cache()


class _DamagedError(Exception):
    pass


def _start(data: bytes) -> int | None:
    """Return where the part in the new format starts: at 0, or after a part in the old format."""
    if not data.startswith(_OLD):
        return 0
    if len(data) < _OLD_HEADER.size:
        return None
    _, count = _OLD_HEADER.unpack_from(data)
    behind = -(-(_OLD_HEADER.size + count * _OLD_ENTRY.size) // 8) * 8
    return behind if data[behind : behind + len(_NEW)] == _NEW else None


def _old(data: bytes) -> Iterator[tuple[str, Entry]]:
    _, count = _OLD_HEADER.unpack_from(data)
    strings = _OLD_HEADER.size + count * _OLD_ENTRY.size
    if strings > len(data):
        raise _DamagedError
    for flags, key, value in _OLD_ENTRY.iter_unpack(data[_OLD_HEADER.size : strings]):
        yield _text(data, strings + key), Entry(_text(data, strings + value), flags, None)


def _new(data: bytes) -> Iterator[tuple[str, Entry]]:
    magic, count, _, _, extensions = _HEADER.unpack_from(data)
    end = _HEADER.size + count * _ENTRY.size
    if magic != _NEW or end > len(data):
        raise _DamagedError
    names = _hwcaps(data, extensions)
    for flags, key, value, _, hwcap in _ENTRY.iter_unpack(data[_HEADER.size : end]):
        if hwcap & _NAMED:
            number = hwcap & 0xFFFFFFFF
            if number >= len(names):
                continue
            hwcaps = names[number]
        elif hwcap:
            continue  # for `tls`, `haswell` and the like, which glibc 2.37 has given up
        else:
            hwcaps = None
        yield _text(data, key), Entry(_text(data, value), flags, hwcaps)


def _hwcaps(data: bytes, start: int) -> list[str]:
    if not start:
        return []
    magic, count = _EXTENSION.unpack_from(data, start)
    table = start + _EXTENSION.size
    if magic != _EXTENSION_MAGIC or table + count * _SECTION.size > len(data):
        raise _DamagedError
    for tag, _, offset, size in _SECTION.iter_unpack(data[table : table + count * _SECTION.size]):
        if tag == _HWCAPS_SECTION:
            numbers = data[offset : offset + size // 4 * 4]
            return [_text(data, at) for (at,) in struct.iter_unpack("I", numbers)]
    return []


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start, start + _LONGEST)
    if end < 0:
        raise _DamagedError
    return data[start:end].decode("utf-8", "surrogateescape")
