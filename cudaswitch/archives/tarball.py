"""A tar reader that takes nothing on trust.

It reads a stream from front to back and either yields members or raises: a header whose
checksum fails, a record that two readers could understand differently, or an end that is not
two zero blocks followed by zeros is never taken for the end of the archive. It understands
v7, ustar, GNU long names and PAX, the dialects in which packages are written.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import NamedTuple

from cudaswitch.archives.faults import DamagedError, UnsafeError, shown
from cudaswitch.archives.members import Kind, Member, check_text, decode_name, safe_path
from cudaswitch.archives.threads import ahead

BLOCK = 512
ZERO_BLOCK = bytes(BLOCK)
LONG_NAME_BYTES = 64 << 10
PAX_BYTES = 1 << 20
MAX_PADDING = 64 << 20
"""Zeros that may follow the end; writers pad to their record size, a few KiB."""
OCTAL_LIMIT = 0o77777777777
"""The largest size (8 GiB less a byte) that a ustar header can hold."""

KINDS: dict[bytes, Kind] = {
    b"0": "file",
    b"\0": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"5": "directory",
}
PAX_NAMING_KEYS = ("path", "linkpath", "size")
_PAX_LENGTH = re.compile(rb"([1-9][0-9]{0,8}) ")
_PAX_SIZE = re.compile(r"[0-9]{1,20}", re.ASCII)
_OCTAL = re.compile(rb" *([0-7]*)[ \0]*\Z")


class Pieces:
    """A stream of byte pieces from which exact counts can be taken."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._current = memoryview(b"")

    def spans(self, count: int) -> Iterator[memoryview]:
        """Yield the next `count` bytes as they come."""
        while count > 0:
            if not self._current:
                piece = next(self._pieces, None)
                if piece is None:
                    raise DamagedError("it is cut short")
                self._current = memoryview(piece)
            span = self._current[:count]
            self._current = self._current[len(span) :]
            count -= len(span)
            yield span

    def take(self, count: int) -> bytes:
        return b"".join(self.spans(count))

    def rest(self) -> Iterator[bytes]:
        """Yield everything up to the end of the stream."""
        yield bytes(self._current)
        self._current = memoryview(b"")
        yield from self._pieces


class Extension(NamedTuple):
    """What the extra headers before a member's own say about it; None = nothing."""

    path: str | None = None
    target: str | None = None
    size: int | None = None


class TarReader:
    """Iterates over the members of a tar stream; has what `tar_generator` asks of a tar file."""

    def __init__(self, stream: Pieces) -> None:
        self._stream = stream

    @classmethod
    def open(cls, fileobj: Pieces, mode: str = "r|", encoding: str = "utf-8") -> TarReader:
        if (mode, encoding) != ("r|", "utf-8"):
            raise ValueError("this reader only reads streams, in UTF-8")
        return cls(fileobj)

    def __enter__(self) -> TarReader:
        return self

    def __exit__(self, *_: object) -> None:
        pass  # the stream belongs to the caller

    def __iter__(self) -> Iterator[Member]:
        extension = Extension()
        while True:
            header = self._stream.take(BLOCK)
            if header == ZERO_BLOCK:
                if extension != Extension():
                    raise DamagedError("it ends after a header without a member")
                return self._expect_only_zeros()
            _check_sum(header)
            kind = header[156:157]
            if kind in (b"L", b"K", b"x", b"g"):
                extension = self._extended(extension, kind, _number(header[124:136]))
                # A stand-in that places nothing, so that endless headers reach the member limit.
                yield Member("", "directory")
                continue
            member = self._member(header, extension)
            extension = Extension()
            padding = -member.size % BLOCK
            content = self._stream.spans(member.size)
            member.content = content
            yield member
            for _ in content:
                pass  # what the caller left unread
            self._stream.take(padding)

    def _expect_only_zeros(self) -> None:
        left = MAX_PADDING
        if self._stream.take(BLOCK) != ZERO_BLOCK:
            raise DamagedError("data follows a zero block")
        for piece in self._stream.rest():
            left -= len(piece)
            if piece.count(0) != len(piece):
                raise DamagedError("data follows its end")
            if left < 0:
                raise UnsafeError("zeros without end follow its end")

    def _extended(self, so_far: Extension, kind: bytes, size: int) -> Extension:
        limit = LONG_NAME_BYTES if kind in (b"L", b"K") else PAX_BYTES
        if size > limit:
            raise UnsafeError("a header of its tar is too large")
        data = self._stream.take(size)
        self._stream.take(-size % BLOCK)
        if kind in (b"L", b"K"):
            text = decode_name(data.rstrip(b"\0"))
            new = Extension(path=text) if kind == b"L" else Extension(target=text)
        else:
            records = _pax_records(data)
            named = [key for key in PAX_NAMING_KEYS if key in records]
            if kind == b"g":
                if named:
                    raise UnsafeError(f"a global header sets {shown(named[0])} of every member")
                return so_far
            pax_size = records.get("size")
            if pax_size is not None and not _PAX_SIZE.fullmatch(pax_size):
                raise DamagedError("a PAX header has an invalid size")
            new = Extension(
                records.get("path"), records.get("linkpath"), int(pax_size) if pax_size else None
            )
        if any(old is not None and more is not None for old, more in zip(so_far, new, strict=True)):
            raise UnsafeError("two headers name the same member")
        return Extension(
            path=new.path if so_far.path is None else so_far.path,
            target=new.target if so_far.target is None else so_far.target,
            size=new.size if so_far.size is None else so_far.size,
        )

    def _member(self, header: bytes, extension: Extension) -> Member:
        try:
            kind = KINDS[header[156:157]]
        except KeyError:
            name = shown(_field_name(header))
            raise UnsafeError(f"{name} is neither a file, a folder nor a link") from None
        name = _field_name(header) if extension.path is None else extension.path
        # v7 had no type for folders: a file whose name ends in a slash is a folder.
        if kind == "file" and name.endswith("/"):
            kind = "directory"
        target = ""
        if kind in ("symlink", "hardlink"):
            plain = header[157:257].partition(b"\0")[0]
            target = decode_name(plain) if extension.target is None else extension.target
            check_text(target)
            target = safe_path(target) if kind == "hardlink" else target
        size = _size(_number(header[124:136]), extension.size)
        if size and kind != "file":
            raise UnsafeError(f"{shown(name)} is a {kind} with content")
        executable = bool(_number(header[100:108]) & 0o111)
        return Member(safe_path(name, kind == "directory"), kind, size, executable, target)


def tar_members(tar: Iterator[bytes]) -> Generator[Member, None, None]:
    """Yield the members of a tar, which is produced in a thread of its own."""
    with closing(ahead(tar)) as stream:
        yield from TarReader(Pieces(stream))


def _field_name(header: bytes) -> str:
    name = header[:100].partition(b"\0")[0]
    # Only headers with POSIX's magic have a prefix field; GNU keeps times there.
    if header[257:263] == b"ustar\0" and header[345]:
        name = header[345:500].partition(b"\0")[0] + b"/" + name
    return decode_name(name)


def _check_sum(header: bytes) -> None:
    stated = _number(header[148:156])
    blanked = header[:148] + b" " * 8 + header[156:]
    # Some old writers summed the bytes as signed numbers.
    signed = (
        sum(byte - 256 if byte > 127 else byte for byte in blanked) if max(blanked) > 127 else 0
    )
    if stated not in (sum(blanked), signed or None):
        raise DamagedError("a header of its tar has a wrong checksum")


def _number(field: bytes) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    match = _OCTAL.match(field)
    if match is None:
        raise DamagedError("a header of its tar has an invalid number")
    return int(match[1] or b"0", 8)


def _size(plain: int, extended: int | None) -> int:
    if extended is None or extended == plain:
        return plain
    # A size too large for the ustar field is only in the PAX header.
    if extended > OCTAL_LIMIT and plain in (0, OCTAL_LIMIT):
        return extended
    raise UnsafeError("two headers disagree about the size of a member")


def _pax_records(data: bytes) -> dict[str, str]:
    records: dict[str, str] = {}
    position = 0
    while position < len(data):
        length = _PAX_LENGTH.match(data, position)
        end = position + int(length[1]) if length else 0
        if length is None or end > len(data) or data[end - 1 : end] != b"\n":
            raise DamagedError("a PAX header is broken")
        raw_key, equals, raw_value = data[length.end() : end - 1].partition(b"=")
        position = end
        key = decode_name(raw_key)
        if not equals or key in records or key.startswith("GNU.sparse") or key == "hdrcharset":
            raise UnsafeError("a PAX header is ambiguous")
        # The other keys (times, owners, extended attributes) are not used, nor always text.
        records[key] = decode_name(raw_value) if key in PAX_NAMING_KEYS else ""
    return records
