"""Bytes from the file to the tar reader: one pass, hashed, decoded to the very end.

Every decoder here raises DamagedError unless the last compressed stream is complete, its
checksum holds, and nothing but further streams follows it.
"""

from __future__ import annotations

import errno
import lzma
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from isal import isal_zlib

from cudaswitch.archives import bzip2, xz
from cudaswitch.archives.faults import DamagedError, ForeignError, UnsafeError
from cudaswitch.archives.threads import PIECE, Hash

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_WINDOW_LOG = 27
"""128 MiB: the largest window or dictionary that a decoder may be told to keep."""
_GZIP_MAGIC = b"\x1f\x8b"
_PACKINGS = {
    _GZIP_MAGIC: "gzip",
    bzip2.HEADER: "bzip2",
    xz.MAGIC: "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_GZIP_START, _GZIP_RESERVED = 4, 0xE0


class Source:
    """An open regular file, read from front to back and hashed on the way.

    Opening never blocks on a fifo and never touches a device. `read_at` looks ahead without
    hashing; `position` tells how far the pass has come, as does each call of `seen`.
    """

    def __init__(self, path: Path, seen: Callable[[int], object] | None = None) -> None:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENODEV):
                raise ForeignError("is not a regular file") from error
            raise
        status = os.fstat(self._fd)
        refusal = None
        if not stat.S_ISREG(status.st_mode):
            folder = stat.S_ISDIR(status.st_mode)
            refusal = "is a folder, not an archive" if folder else "is not a regular file"
        elif status.st_size == 0:
            refusal = "is empty"
        if refusal:
            os.close(self._fd)
            raise ForeignError(refusal)
        self._path = path
        self._seen = seen
        self.size = status.st_size
        self.position = 0
        self._hash = Hash()
        self._gaps = False

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._hash.stop()
        os.close(self._fd)

    def read_at(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`."""
        pieces = []
        while count > 0:
            try:
                piece = os.pread(self._fd, count, offset)
            except OSError as error:
                # The name tells callers that reading failed, not writing what is unpacked.
                error.filename = str(self._path)
                raise
            if not piece:
                raise DamagedError("it is cut short")
            pieces.append(piece)
            offset += len(piece)
            count -= len(piece)
        return b"".join(pieces)

    def read(self, count: int) -> bytes:
        """Return exactly the next `count` bytes of the pass."""
        data = self.read_at(self.position, count)
        self.position += count
        if not self._gaps:
            self._hash.add(data)
        if self._seen:
            self._seen(self.position)
        return data

    def pieces(self, end: int | None = None) -> Iterator[bytes]:
        """Yield the bytes of the pass from here to `end` (default: the end of the file)."""
        end = self.size if end is None else end
        while self.position < end:
            yield self.read(min(PIECE, end - self.position))

    def go_to(self, offset: int) -> None:
        """Continue from `offset`; from now on only parts are read, and there is no hash."""
        self._gaps = True
        self.position = offset

    def rewind(self) -> None:
        """Begin the pass anew."""
        self._hash.stop()
        self._gaps, self.position, self._hash = False, 0, Hash()

    @property
    def sha256(self) -> str:
        """The hash of the whole file, once the pass has reached its end."""
        if self._gaps or self.position != self.size:
            raise ValueError("the pass has not read every byte")
        return self._hash.hexdigest()


class Decoder(Protocol):
    """What bz2, lzma and zstd agree upon; one object decodes one compressed stream."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class InflateDecoder:
    """ISA-L's inflate, with the interface of the other decoders.

    `wbits` 31 is gzip, -15 bare deflate.
    """

    def __init__(self, wbits: int) -> None:
        # ISA-L waits for a whole header before it looks at the first byte.
        self._start: bytes | None = b"" if wbits == 31 else None
        self._inflate = isal_zlib.decompressobj(wbits)
        self._full = False

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._start is not None:
            self._start += data[: _GZIP_START - len(self._start)]
            if not _is_gzip(self._start):
                raise ValueError("no gzip header")
            if len(self._start) == _GZIP_START:
                self._start = None
        output = self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)
        self._full = len(output) == max_length
        return output

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


def _is_gzip(start: bytes) -> bool:
    """Tell whether `start` can begin a header (RFC 1952, 2.3); ISA-L does not check all of it."""
    magic, flags = _GZIP_MAGIC + b"\x08", start[3:]
    return magic.startswith(start[:3]) and not (flags and flags[0] & _GZIP_RESERVED)


def _lzma_decoder() -> lzma.LZMADecompressor:
    # liblzma needs a little more memory than its dictionary.
    memory = (1 << MAX_WINDOW_LOG) + (16 << 20)
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory)


class XzDecoder:
    """lzma for xz that insists on a checksum: without one a flipped bit goes unseen."""

    def __init__(self) -> None:
        self._lzma = _lzma_decoder()

    def decompress(self, data: bytes, max_length: int) -> bytes:
        output = self._lzma.decompress(data, max_length)
        if self._lzma.eof and self._lzma.check not in xz.CHECKS:
            raise UnsafeError("its xz stream has no checksum")
        return output

    @property
    def eof(self) -> bool:
        return self._lzma.eof

    @property
    def needs_input(self) -> bool:
        return self._lzma.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._lzma.unused_data


def _zstd_decoder() -> Decoder:
    decoder: Decoder = zstd.ZstdDecompressor(
        options={int(zstd.DecompressionParameter.window_log_max): MAX_WINDOW_LOG}
    )
    return decoder


DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: InflateDecoder(31),
    "xz": XzDecoder,
    "zstd": _zstd_decoder,
}
# isal's type stub declares an instance, not the class.
InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # see above
DECODE_ERRORS = (OSError, ValueError, EOFError, InflateError, lzma.LZMAError, zstd.ZstdError)


def packing_of(start: bytes) -> str | None:
    """Return how something is packed, by its first bytes, as `decoded` takes it; None if not."""
    return next((form for magic, form in _PACKINGS.items() if start.startswith(magic)), None)


def decoded(pieces: Iterator[bytes], form: str) -> Iterator[bytes]:
    """Yield the decoded bytes of one or more concatenated streams of `form`.

    That is `bzip2`, or one of DECODERS.
    """
    if form == "bzip2":
        yield from bzip2.decoded_blocks(pieces)
        return
    if form == "xz":
        pieces = yield from xz.decoded_blocks(pieces, _lzma_decoder)
    decoder: Decoder | None = None
    padding = 0
    for piece in pieces:
        data = piece
        while True:
            if decoder is None:
                data, padding = _without_padding(data, padding, form)
                if not data:
                    break
                decoder = DECODERS[form]()
            try:
                output = decoder.decompress(data, PIECE)
            except DECODE_ERRORS as error:
                raise DamagedError(f"its {form} data is broken") from error
            data = b""
            if output:
                yield output
            if decoder.eof:
                data, decoder, padding = decoder.unused_data, None, 0
            elif decoder.needs_input:
                break
    if decoder is not None or padding % 4:
        raise DamagedError(f"its {form} data is cut short")


def _without_padding(data: bytes, padding: int, form: str) -> tuple[bytes, int]:
    # The xz format, 1.2: streams may be followed by null bytes, in multiples of four.
    if form != "xz":
        return data, 0
    rest = data.lstrip(b"\0")
    padding += len(data) - len(rest)
    if rest and padding % 4:
        raise DamagedError("its xz data is broken")
    return rest, padding
