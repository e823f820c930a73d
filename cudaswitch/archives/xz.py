"""xz on several cores: in streams whose blocks state their sizes, each block has a thread.

`xz -T` writes such streams. Between its stream's header and an index and footer of its own, a
block is a complete stream, which liblzma accepts only if all of it is right. The real index and
footer are compared with those that the blocks imply. Format: "The .xz File Format", version 1.2.1.
"""

from __future__ import annotations

import lzma
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple
from zlib import crc32

from cudaswitch.archives.faults import DamagedError, UnsafeError
from cudaswitch.archives.threads import cores, sliced

MAGIC, END = b"\xfd7zXZ\0", b"YZ"
CHECKS = {lzma.CHECK_CRC32: 4, lzma.CHECK_CRC64: 8, lzma.CHECK_SHA256: 32}
"""Bytes of each kind of checksum. A stream without a checksum is left to `streams.XzDecoder`."""
IN_FLIGHT = 64 << 20
"""Decoded bytes of all blocks in progress; packed, the blocks may take about as many again."""
_HEADER = 12
_MOST_BLOCK_HEADER = 1024
_HAS_PACKED, _HAS_PLAIN = 0x40, 0x80
_BROKEN, _CUT = "its xz data is broken", "its xz data is cut short"


class _Block(NamedTuple):
    """The sizes (bytes) that a block states: in all, without its padding, and decoded."""

    length: int
    unpadded: int
    plain: int


class _Bytes:
    """The bytes read but not yet taken."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.data = bytearray()

    def has(self, count: int) -> bool:
        """Read until there are `count` bytes; False if the file ends before that."""
        while len(self.data) < count:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self.data += piece
        return True

    def take(self, count: int) -> bytes:
        if not self.has(count):
            raise DamagedError(_CUT)
        taken = bytes(self.data[:count])
        del self.data[:count]
        return taken

    def rest(self) -> Iterator[bytes]:
        return chain([bytes(self.data)], self._pieces) if self.data else self._pieces


def decoded_blocks(
    pieces: Iterator[bytes], decoder: Callable[[], lzma.LZMADecompressor]
) -> Generator[bytes, None, Iterator[bytes]]:
    """Yield the content of the first streams, while they can be split; return the packed rest.

    `decoder` makes a decoder for one stream.
    """
    source = _Bytes(pieces)
    while source.has(_HEADER + _MOST_BLOCK_HEADER) or source.has(_HEADER + 2):
        header = bytes(source.data[:_HEADER])
        first = _stated(source.data[_HEADER:], header)
        count = min(cores(), IN_FLIGHT // max(first.plain, 1)) if first else 0
        if count < 2:
            break
        source.take(_HEADER)
        for plain in _stream(source, header, decoder, count):
            yield from sliced(plain)
        while source.has(4) and source.data[:4] == bytes(4):
            source.take(4)
    return source.rest()


def _stream(
    source: _Bytes, header: bytes, decoder: Callable[[], lzma.LZMADecompressor], count: int
) -> Iterator[bytes]:
    """Yield the content of one stream's blocks, in order; its header has been taken."""
    blocks: list[_Block] = []
    waiting: deque[tuple[int, Future[bytes]]] = deque()
    held = 0
    threads = ThreadPoolExecutor(count, "xz")
    try:
        while source.has(1) and source.data[0]:
            source.has(_MOST_BLOCK_HEADER)
            block = _stated(source.data, header)
            if block is None or block.plain > IN_FLIGHT:
                raise UnsafeError("its xz blocks do not all state their sizes, or differ too much")
            blocks.append(block)
            # The first block says nothing about the sizes of those that follow.
            while waiting and (len(waiting) == count or held + block.plain > IN_FLIGHT):
                size, decoding = waiting.popleft()
                yield decoding.result()
                held -= size
            packed = source.take(block.length)
            decoding = threads.submit(_decode, header, block, packed, decoder())
            waiting.append((block.plain, decoding))
            held += block.plain
        while waiting:
            yield waiting.popleft()[1].result()
    finally:
        threads.shutdown(cancel_futures=True)
    index = _index(blocks)
    if source.take(len(index) + _HEADER) != index + _footer(index, header):
        raise DamagedError(_BROKEN)


def _stated(data: bytearray, header: bytes) -> _Block | None:
    """Read the header of a block; None if it is not one, or does not state its sizes."""
    check = CHECKS.get(header[7])
    if not data or not data[0] or check is None or not header.startswith(MAGIC):
        return None
    length = (data[0] + 1) * 4
    fields = bytes(data[2 : length - 4])
    if len(data) < length or ~data[1] & (_HAS_PACKED | _HAS_PLAIN):
        return None
    packed, at = _number(fields, 0)
    plain, _ = _number(fields, at)
    unpadded = length + packed + check
    # Incompressible data is stored, with three more bytes for each 64 KiB.
    if not 0 < packed <= plain + plain // 1024 + _MOST_BLOCK_HEADER:
        return None
    return _Block(unpadded + -packed % 4, unpadded, plain)


def _decode(header: bytes, block: _Block, packed: bytes, decoder: lzma.LZMADecompressor) -> bytes:
    index = _index([block])
    try:
        plain = decoder.decompress(
            header + packed + index + _footer(index, header), block.plain + 1
        )
    except lzma.LZMAError as error:
        raise DamagedError(_BROKEN) from error
    if not decoder.eof:
        raise DamagedError(_BROKEN)
    return plain


def _index(blocks: list[_Block]) -> bytes:
    """Encode the index of a stream of these blocks."""
    records = b"".join(_spelled(block.unpadded) + _spelled(block.plain) for block in blocks)
    index = b"\0" + _spelled(len(blocks)) + records
    index += bytes(-len(index) % 4)
    return index + crc32(index).to_bytes(4, "little")


def _footer(index: bytes, header: bytes) -> bytes:
    fields = (len(index) // 4 - 1).to_bytes(4, "little") + header[6:8]
    return crc32(fields).to_bytes(4, "little") + fields + END


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Decode a number that has seven bits in each byte; return it and the offset of its end."""
    value = 0
    for shift in range(0, 63, 7):
        byte = data[at] if at < len(data) else 0
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return value, at


def _spelled(value: int) -> bytes:
    spelled = bytearray()
    while value >= 0x80:
        spelled.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*spelled, value])
