"""Read what the dynamic loader reads of an ELF file: its headers and its dynamic section.

The format is that of the System V gABI, chapters 4 and 5; what is refused, and in which words,
is what glibc refuses (elf/dl-load.c, `open_verify`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cudaswitch.errors import CudaswitchError

Read = Callable[[int, int], bytes]
"""Return up to `size` bytes from `offset`, below 2**62, on; fewer or none past the file's end."""

MACHINES = {"x86_64": 62, "aarch64": 183, "ppc64le": 21}
"""`platform.machine()` → e_machine."""

EXECUTABLE, LIBRARY = 2, 3
"""e_type: ET_EXEC; ET_DYN, which position-independent programs are too."""

NODEFLIB = 0x800
"""The bit of `flags` with which a file forbids the default folders (`-z nodefaultlib`)."""

_MOST_SEGMENTS = 64 * 1024 // 56
"""The kernel starts no program with more than 64 KiB of program headers."""
_MOST_ENTRIES = 64 * 1024
_MOST_NEEDED = 4096
_LONGEST = 64 * 1024
"""Bytes of one string; an RPATH may list many folders."""
_STEP = 512
_FARTHEST = 1 << 62

_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NULL, _NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 0, 1, 5, 10, 14, 15, 29
_FLAGS_1 = 0x6FFFFFFB


class ElfError(CudaswitchError):
    """A file is not ELF, or is damaged; `reason` says how, without naming the file.

    `loads_like` is that of its header, if it has one.
    """

    def __init__(
        self, name: str, reason: str, loads_like: tuple[int, bool, int] | None = None
    ) -> None:
        super().__init__(f"`{name}` cannot be loaded: {reason}")
        self.reason = reason
        self.loads_like = loads_like


@dataclass(frozen=True)
class Elf:
    """What an ELF file says to the loader.

    `bits` is 32 or 64; `machine` and `kind` are e_machine and e_type, `flags` DT_FLAGS_1.
    Texts are as in the file, nothing expanded; bytes that are not UTF-8 come as surrogates,
    as in Python's file names. `rpath` is what the file holds even where `runpath` disables it.
    """

    bits: int
    big_endian: bool
    machine: int
    kind: int
    interpreter: str | None = None
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: str | None = None
    runpath: str | None = None
    flags: int = 0
    extent: int = 0
    """The least size in bytes, by the headers; the loader may not notice if the end is missing."""

    @property
    def loads_like(self) -> tuple[int, bool, int]:
        """Two files fit into one process only if this is the same."""
        return self.bits, self.big_endian, self.machine


@dataclass(frozen=True)
class _Segment:
    """A part of the file, and where it is loaded."""

    kind: int
    offset: int
    address: int
    size: int


def parse(read: Read, name: str) -> Elf:
    """Read an ELF file through `read`; `name` is what errors call it.

    Reads headers and single strings, never whole tables, so a library of gigabytes costs no
    more than a small one. Raises ElfError.
    """

    def within(offset: int, count: int) -> bytes:
        return read(offset, count) if offset < _FARTHEST else b""

    head = within(0, 64)
    if len(head) < 64:
        raise ElfError(name, "file too short")
    if head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise ElfError(name, "invalid ELF header")
    wide, order = head[4] == 2, ">" if head[5] == 2 else "<"
    header = struct.Struct(order + ("16xHHIQQQIHHHHH" if wide else "16xHHIIIIIHHHHH"))
    kind, machine, version, _, at, sections, _, _, size, count, each, number = header.unpack_from(
        head
    )
    elf = Elf(64 if wide else 32, order == ">", machine, kind)
    try:
        _refuse_odd(elf, version if head[6] == 1 else head[6], size, count)
        segments = list(_segments(within(at, size * count), count, wide, order))
        ends = (one.offset + one.size for one in segments if one.kind == _LOAD)
        extent = max(sections + each * number, *ends, 0)
        return _dynamic(within, elf, segments, extent)
    except _FaultError as error:
        raise ElfError(name, str(error), elf.loads_like) from None


class _FaultError(Exception):
    pass


def _refuse_odd(elf: Elf, version: int, size: int, count: int) -> None:
    if version != 1:
        raise _FaultError("ELF file version does not match current one")
    if elf.kind not in (EXECUTABLE, LIBRARY):
        raise _FaultError("only ET_DYN and ET_EXEC can be loaded")
    if size != (56 if elf.bits == 64 else 32) or count > _MOST_SEGMENTS:
        raise _FaultError("ELF file's phentsize not the expected size")


def _segments(table: bytes, count: int, wide: bool, order: str) -> Iterator[_Segment]:
    # p_type, p_offset, p_vaddr, p_filesz; the two classes have p_flags in different places.
    row = struct.Struct(order + ("I4xQQ8xQ16x" if wide else "III4xI12x"))
    if len(table) < row.size * count:
        raise _FaultError("cannot read file data")
    yield from (_Segment(*fields) for fields in row.iter_unpack(table[: row.size * count]))


def _dynamic(read: Read, elf: Elf, segments: list[_Segment], extent: int) -> Elf:
    values: dict[int, int] = {}
    needed: list[int] = []
    for tag, value in _entries(read, elf, segments):
        if tag == _NEEDED:
            needed.append(value)
        else:
            values[tag] = value
    if len(needed) > _MOST_NEEDED:
        raise _FaultError("its dynamic section is damaged: it lists too many libraries")
    interpreter = next((one for one in segments if one.kind == _INTERPRETER), None)
    wanted = [*needed, *(values[tag] for tag in (_SONAME, _RPATH, _RUNPATH) if tag in values)]
    start = _offset(segments, values.get(_STRTAB)) if wanted else 0
    size = values.get(_STRSZ, 0)

    def string(tag: int) -> str | None:
        return _string(read, start, size, values[tag]) if tag in values else None

    return replace(
        elf,
        interpreter=(
            _string(read, interpreter.offset, interpreter.size, 0) if interpreter else None
        ),
        soname=string(_SONAME),
        needed=tuple(_string(read, start, size, at) for at in needed),
        rpath=string(_RPATH),
        runpath=string(_RUNPATH),
        flags=values.get(_FLAGS_1, 0),
        extent=extent,
    )


def _entries(read: Read, elf: Elf, segments: list[_Segment]) -> Iterator[tuple[int, int]]:
    """Yield tag and value of the dynamic section; a program linked statically has none."""
    order = ">" if elf.big_endian else "<"
    row = struct.Struct(order + ("qQ" if elf.bits == 64 else "iI"))
    # As in the loader, the last of several counts.
    for segment in [one for one in segments if one.kind == _DYNAMIC][-1:]:
        table = read(segment.offset, min(segment.size, _MOST_ENTRIES * row.size))
        for tag, value in row.iter_unpack(table[: len(table) // row.size * row.size]):
            if tag == _NULL:
                return
            yield tag, value
        raise _FaultError("its dynamic section is damaged: it has no end")


def _offset(segments: list[_Segment], address: int | None) -> int:
    """Return the offset in the file of the byte that is loaded to an address."""
    for segment in segments:
        if (
            address is not None
            and segment.kind == _LOAD
            and 0 <= address - segment.address < segment.size
        ):
            return segment.offset + address - segment.address
    raise _FaultError("its dynamic section is damaged: its strings are not in the file")


def _string(read: Read, start: int, size: int, at: int) -> str:
    text = b""
    most = min(size - at, _LONGEST)
    while len(text) < most:
        step = read(start + at + len(text), min(max(_STEP, len(text)), most - len(text)))
        before, end, _ = step.partition(b"\0")
        text += before
        if end:
            return text.decode("utf-8", "surrogateescape")
        if not step:
            break
    raise _FaultError("its dynamic section is damaged: a string has no end")
