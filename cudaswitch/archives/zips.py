"""A zip reader that takes nothing on trust.

The records of an archive must tile the file: every byte belongs to exactly one member, to the
directory or to the end record, and what a member says of itself must agree with what the
directory says of it. So no two readers can see different contents. Format: PKWARE APPNOTE 6.3.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from isal import isal_zlib

from cudaswitch.archives.faults import DamagedError, ForeignError, UnsafeError, shown
from cudaswitch.archives.members import Kind, Member, check_text, decode_name, safe_path
from cudaswitch.archives.streams import InflateDecoder, InflateError, Source
from cudaswitch.archives.threads import PIECE, ahead

LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
END64_LOCATOR = struct.Struct("<4sIQI")
END64 = struct.Struct("<4sQ2H2I4Q")

STORED, DEFLATED = 0, 8
DESCRIPTOR_FLAG = 1 << 3
UTF8_FLAG = 1 << 11
ALLOWED_FLAGS = DESCRIPTOR_FLAG | UTF8_FLAG | 0b110  # bits 1 and 2: how hard deflate tried
ZIP64_FIELD, UNICODE_PATH_FIELD = 0x0001, 0x7075
FULL32, FULL16 = 0xFFFFFFFF, 0xFFFF
MAX_DIRECTORY_BYTES = 256 << 20
MAX_LINK_BYTES = 1024
LARGE = 4 << 20
"""From this size (bytes) on, a member is decoded in a thread of its own."""


@dataclass(frozen=True)
class Record:
    """What the directory says of one member; `end` is where the next record starts."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    offset: int
    end: int = 0


class ZipDirectory:
    """The directory of the zip archive in `source`, checked as far as it alone allows."""

    def __init__(self, source: Source) -> None:
        self._source = source
        count, self.start, end = _find_directory(source)
        self._bytes = source.read_at(self.start, end - self.start)
        records = sorted(_central_records(self._bytes, count), key=lambda record: record.offset)
        if records and records[-1].offset >= self.start:
            raise UnsafeError("a member follows its zip directory")
        ends = [record.offset for record in records[1:]] + [self.start]
        if not records:
            raise ForeignError("holds nothing")
        if records[0].offset != 0:
            raise UnsafeError("data comes before its first member")
        self.records = [replace(record, end=end) for record, end in zip(records, ends, strict=True)]
        if len({record.name for record in records}) != len(records):
            raise UnsafeError("it holds two members of the same name")

    def contents(self, record: Record) -> Generator[bytes, None, None]:
        """Yield the content of a member, read from its own record, which must agree."""
        self._source.go_to(record.offset)
        yield from _contents(self._source, record)

    def walk(self) -> Generator[tuple[Record, Iterator[bytes]], None, None]:
        """Yield every member with its content in the order of the file, in one whole pass."""
        for record in self.records:
            content = _contents(self._source, record)
            with closing(ahead(content) if record.size >= LARGE else content) as unread:
                yield record, unread
                for _ in unread:
                    pass  # what the caller left
        if self._source.read(len(self._bytes)) != self._bytes:
            raise DamagedError("it changed while it was read")
        for _ in self._source.pieces():
            pass  # the end records, which only the hash still needs

    def look(self) -> Generator[Member, None, None]:
        """Yield every member; its content is read only when asked for."""
        for record in self.records:
            yield _member(record, self.contents(record))

    def members(self) -> Generator[Member, None, None]:
        """Yield every member in one whole pass."""
        with closing(self.walk()) as records:
            for record, content in records:
                yield _member(record, content)


def _member(record: Record, content: Iterator[bytes]) -> Member:
    kind: Kind = "directory" if record.name.endswith("/") else "file"
    form = stat.S_IFMT(record.mode)
    if form == stat.S_IFLNK and kind == "file":
        if record.size > MAX_LINK_BYTES:
            raise UnsafeError(f"{shown(record.name)} is a link that points too far")
        target = decode_name(b"".join(content))
        check_text(target)
        return Member(safe_path(record.name), "symlink", target=target)
    if form not in (0, stat.S_IFDIR if kind == "directory" else stat.S_IFREG):
        raise UnsafeError(f"{shown(record.name)} is neither a file, a folder nor a link")
    if kind == "directory" and record.size:
        raise UnsafeError(f"{shown(record.name)} is a folder with content")
    path = safe_path(record.name, kind == "directory")
    return Member(path, kind, record.size, bool(record.mode & 0o111), content=content)


def _find_directory(source: Source) -> tuple[int, int, int]:
    """Return how many members there are, and where the directory starts and ends."""
    tail_start = max(0, source.size - END.size - FULL16)
    tail = source.read_at(tail_start, source.size - tail_start)
    at = tail.rfind(b"PK\5\6")
    if at == -1 or len(tail) - at < END.size:
        raise DamagedError("it has no zip directory; it may be cut short")
    _, disk, first_disk, here, count, size, start, comment = END.unpack_from(tail, at)
    end = tail_start + at
    if at + END.size + comment != len(tail):
        raise UnsafeError("data follows its zip directory")
    if FULL32 in (size, start) or FULL16 in (here, count):
        located = source.read_at(max(0, end - END64_LOCATOR.size), END64_LOCATOR.size)
        if not located.startswith(b"PK\6\7"):
            raise DamagedError("its zip directory is broken")
        _, _, end64, _ = END64_LOCATOR.unpack(located)
        if end64 + END64.size + END64_LOCATOR.size != end:
            raise UnsafeError("data follows its zip directory")
        fields = END64.unpack(source.read_at(end64, END64.size))
        signature, length, _, _, disk, first_disk, here, count, size, start = fields
        if signature != b"PK\6\6" or length != END64.size - 12:
            raise DamagedError("its zip directory is broken")
        end = end64
    if disk or first_disk or here != count:
        raise UnsafeError("it is one of several volumes")
    if start + size != end or size > MAX_DIRECTORY_BYTES:
        raise UnsafeError("its zip directory is not where it says")
    return count, start, end


def _central_records(data: bytes, count: int) -> Iterator[Record]:
    position = 0
    for _ in range(count):
        if len(data) - position < CENTRAL.size:
            raise DamagedError("its zip directory is broken")
        fields = CENTRAL.unpack_from(data, position)
        signature, flags, method = fields[0], fields[3], fields[4]
        crc, packed, size, name_size, extra_size, comment_size = fields[7:13]
        disk, _, attributes, offset = fields[13:]
        name_at = position + CENTRAL.size
        extra_at = name_at + name_size
        position = extra_at + extra_size + comment_size
        if signature != b"PK\1\2" or position > len(data) or disk:
            raise DamagedError("its zip directory is broken")
        name = _name(data[name_at:extra_at], flags, data[extra_at : extra_at + extra_size])
        if flags & ~ALLOWED_FLAGS or method not in (STORED, DEFLATED):
            raise UnsafeError(f"{shown(name)} is encrypted or packed in an unknown way")
        size, packed, offset = _zip64(data[extra_at : extra_at + extra_size], size, packed, offset)
        # The upper half is the Unix mode; Python writes it whatever system the record names.
        yield Record(name, flags, method, crc, packed, size, attributes >> 16, offset)
    if position != len(data):
        raise UnsafeError("its zip directory holds more than it says")


def _extra_fields(extra: bytes) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    position = 0
    while position + 4 <= len(extra):
        key, size = struct.unpack_from("<HH", extra, position)
        position += 4 + size
        if position > len(extra) or key in fields:
            raise UnsafeError("a zip record is ambiguous")
        fields[key] = extra[position - size : position]
    return fields


def _zip64(extra: bytes, *values: int) -> tuple[int, ...]:
    """Return `values` (in the zip64 field's order), those that did not fit taken from the field."""
    field = _extra_fields(extra).get(ZIP64_FIELD, b"")
    position, resolved = 0, []
    for value in values:
        if value == FULL32 and len(field) >= position + 8:
            resolved.append(int.from_bytes(field[position : position + 8], "little"))
            position += 8
        else:
            resolved.append(value)
    return tuple(resolved)


def _name(raw: bytes, flags: int, extra: bytes) -> str:
    if not raw.isascii() and not flags & UTF8_FLAG:
        raise UnsafeError(f"{shown(ascii(raw)[2:-1])} is a name of unknown encoding")
    # Info-ZIP's second name: version (1), CRC of the first name (4), then UTF-8.
    second = _extra_fields(extra).get(UNICODE_PATH_FIELD)
    if second is not None and second[5:] != raw:
        raise UnsafeError(f"{shown(ascii(raw)[2:-1])} has a second name")
    return decode_name(raw)


def _contents(source: Source, record: Record) -> Generator[bytes, None, None]:
    """Yield the content of the record at the source's position, checking all of the record."""
    header = source.read(LOCAL.size)
    signature, _, flags, method, _, _, crc, packed, size, name_size, extra_size = LOCAL.unpack(
        header
    )
    if signature != b"PK\3\4" or source.position + name_size + extra_size > record.end:
        raise UnsafeError(f"{shown(record.name)} is not where the zip directory says")
    raw_name, extra = source.read(name_size), source.read(extra_size)
    size, packed = _zip64(extra, size, packed)
    stated = (_name(raw_name, flags, extra), flags, method)
    if stated != (record.name, record.flags, record.method):
        raise UnsafeError(f"{shown(record.name)} disagrees with the zip directory")
    sums = (crc, packed, size)
    expected = (record.crc, record.packed, record.size)
    if sums != expected and not (flags & DESCRIPTOR_FLAG and set(sums) <= {0}):
        raise UnsafeError(f"{shown(record.name)} disagrees with the zip directory")
    end = source.position + record.packed
    if end > record.end:
        raise UnsafeError(f"{shown(record.name)} overlaps another member")
    found_crc, found_size = 0, 0
    packed_pieces = source.pieces(end)
    for piece in _inflated(packed_pieces) if method == DEFLATED else packed_pieces:
        found_crc = isal_zlib.crc32(piece, found_crc)
        found_size += len(piece)
        if found_size > record.size:
            break
        yield piece
    if (found_crc, found_size) != (record.crc, record.size):
        raise DamagedError(f"{shown(record.name)} has a wrong checksum or size")
    if flags & DESCRIPTOR_FLAG:
        _check_descriptor(source.read(min(record.end - source.position, 25)), record)
    if source.position != record.end:
        raise UnsafeError(f"there is data between its members, after {shown(record.name)}")


def _inflated(packed: Iterator[bytes]) -> Iterator[bytes]:
    decoder = InflateDecoder(-15)
    for piece in packed:
        data = piece
        while not decoder.eof:
            try:
                output = decoder.decompress(data, PIECE)
            except InflateError as error:
                raise DamagedError("its zip data is broken") from error
            data = b""
            if output:
                yield output
            if decoder.needs_input:
                break
        if decoder.unused_data or (decoder.eof and next(packed, b"")):
            raise UnsafeError("a member is longer than its data")
    if not decoder.eof:
        raise DamagedError("its zip data is cut short")


def _check_descriptor(data: bytes, record: Record) -> None:
    sums = (record.crc, record.packed, record.size)
    if data.removeprefix(b"PK\7\10") not in (
        struct.pack("<3I", *(value & FULL32 for value in sums)),
        struct.pack("<I2Q", *sums),
    ):
        raise UnsafeError(f"{shown(record.name)} disagrees with the zip directory")
