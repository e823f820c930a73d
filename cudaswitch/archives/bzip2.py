"""bzip2 on all cores: a stream is taken apart at its blocks, each decoded by libbz2 in a thread.

A block begins with a 48-bit magic number at any bit and depends on nothing before it. Shifted to
a byte boundary, between a header and an end marker, it is a complete stream. libbz2 accepts that
stream only if the block ends exactly where the next one begins and its checksum holds; the
checksum over all blocks of the real stream is then compared here. So this decoder accepts exactly
the files that libbz2 accepts. Format: J. Tsai, "BZIP2: Format Specification" (2016).
"""

from __future__ import annotations

import bz2
from bisect import bisect_left
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cudaswitch.archives.faults import DamagedError, FaultError
from cudaswitch.archives.threads import cores, sliced

BLOCK, END = 0x314159265359, 0x177245385090
MAGIC_BITS = 48
HEADER = b"BZh"
LEVELS = b"123456789"
MOST_BLOCK_BYTES = 3 << 20
"""More than a packed block can take: 900,000 symbols of 20 bits each, and the tables."""
MOST_CANDIDATES = 16
"""Possible ends of one block that are tried. By chance, one bit in 2^48 looks like an end."""
OUTPUT_AT_ONCE = 1 << 20
"""Bytes that a thread decodes ahead; a block may hold 45 MiB of zeros."""

_BROKEN = "its bzip2 data is broken"
_CUT = "its bzip2 data is cut short"


def _patterns(magic: int) -> tuple[bytes, ...]:
    """Return the five whole bytes of a magic number that follow its first 7, 6, ... 0 bits."""
    return tuple((magic >> shift & (1 << 40) - 1).to_bytes(5, "big") for shift in range(1, 9))


_PATTERNS = {magic: _patterns(magic) for magic in (BLOCK, END)}


class _Bits:
    """The bytes read but not yet decoded; positions are bits from the start of the file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.data = bytearray()
        self.base = 0
        self._blocks: list[int] = []
        self._searched = 0

    @property
    def end(self) -> int:
        return self.base + len(self.data) * 8

    def more(self) -> bool:
        """Read on; False at the end of the file."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self.data += piece
        return True

    def has(self, at: int, count: int) -> bool:
        """Read until `count` bits from `at` are available; False if the file ends before that."""
        while self.end < at + count:
            if not self.more():
                return False
        return True

    def number(self, at: int, count: int) -> int:
        """Return bits as a number; they must have been read."""
        first, last = (at - self.base) // 8, (at + count - self.base + 7) // 8
        value = int.from_bytes(self.data[first:last], "big")
        return value >> (last * 8 - (at + count - self.base)) & (1 << count) - 1

    def is_magic(self, at: int, magic: int) -> bool:
        return self.has(at, MAGIC_BITS) and self.number(at, MAGIC_BITS) == magic

    def is_header(self, at: int) -> bool:
        header = self.number(at, 32).to_bytes(4, "big")
        return header[:3] == HEADER and header[3] in LEVELS

    def positions(self, magic: int, start: int, end: int) -> list[int]:
        """Return, in order, where `magic` occurs between `start` and `end`."""
        first, last = max(0, start - self.base) // 8, (end - self.base + 7) // 8
        found = []
        for shift, pattern in enumerate(_PATTERNS[magic], 1):
            at = self.data.find(pattern, first, last)
            while at != -1:
                position = self.base + at * 8 - (8 - shift)
                if (
                    start <= position
                    and position + MAGIC_BITS <= end
                    and self.number(position, MAGIC_BITS) == magic
                ):
                    found.append(position)
                at = self.data.find(pattern, at + 1, last)
        return sorted(found)

    def next_block(self, start: int) -> int | None:
        """Return where the first block at or after `start` begins, None if none has been read."""
        self._blocks += self.positions(BLOCK, self._searched, self.end)
        self._searched = max(self._searched, self.end - MAGIC_BITS + 1)
        at = bisect_left(self._blocks, start)
        return self._blocks[at] if at < len(self._blocks) else None

    def forget(self, before: int) -> None:
        """Drop the whole bytes before a position."""
        count = (before - self.base) // 8
        del self.data[:count]
        del self._blocks[: bisect_left(self._blocks, before)]
        self.base += count * 8


class _Decoding:
    """One block, decoded in a thread as far as OUTPUT_AT_ONCE, and further when asked to."""

    def __init__(self, raw: bytes, skip: int, count: int, level: bytes, checksum: int) -> None:
        """Decode `count` bits of `raw`, after the first `skip`, as a block of a `level` stream."""
        bits = int.from_bytes(raw, "big") >> (len(raw) * 8 - skip - count) & (1 << count) - 1
        ending = (END << 32 | checksum, MAGIC_BITS + 32)
        padding = -(count + ending[1]) % 8
        whole = (bits << ending[1] | ending[0]) << padding
        stream = HEADER + level + whole.to_bytes((count + ending[1] + padding) // 8, "big")
        self._decoder = bz2.BZ2Decompressor()
        self.first = b""
        try:
            # libbz2 reads all of a block before it returns a byte of it.
            self.first = self._decoder.decompress(stream, OUTPUT_AT_ONCE)
        except OSError:
            self.fits = False
        else:
            self.fits = bool(self.first) and self._is_sound()

    def _is_sound(self) -> bool:
        if self._decoder.eof:
            return not self._decoder.unused_data
        return not self._decoder.needs_input

    def pieces(self) -> Iterator[bytes]:
        yield from sliced(self.first)
        while not self._decoder.eof:
            try:
                piece = self._decoder.decompress(b"", OUTPUT_AT_ONCE)
            except OSError:
                raise DamagedError(_BROKEN) from None
            if not self._is_sound():
                raise DamagedError(_BROKEN)
            yield from sliced(piece)


@dataclass(frozen=True)
class _Block:
    """A block that was found, from its magic number to the next one (bits)."""

    start: int
    end: int
    level: bytes
    checksum: int
    job: Future[_Decoding]


@dataclass(frozen=True)
class _StreamEnd:
    checksum: int


_Found = _Block | _StreamEnd | FaultError | None
"""None means the end of the file, at a place where it may end."""


class _Scanner:
    """Walks from one magic number to the next and hands the blocks between to the threads."""

    def __init__(self, bits: _Bits, threads: ThreadPoolExecutor) -> None:
        self.bits = bits
        self._threads = threads
        self.at = 0
        self.level = b""
        """The level of the current stream; empty until its header has been read."""

    def next(self) -> _Found:
        try:
            return self._next()
        except FaultError as error:
            return error

    def _next(self) -> _Found:
        if not self.level and not self._header():
            return None
        if self.bits.is_magic(self.at, END):
            if not self.bits.has(self.at, MAGIC_BITS + 32):
                raise DamagedError(_CUT)
            checksum = self.bits.number(self.at + MAGIC_BITS, 32)
            self.at, self.level = (self.at + MAGIC_BITS + 32 + 7) // 8 * 8, b""
            return _StreamEnd(checksum)
        if not self.bits.has(self.at, MAGIC_BITS + 32):
            raise DamagedError(_CUT)
        if not self.bits.is_magic(self.at, BLOCK):
            raise DamagedError(_BROKEN)
        end = self._end_of_block()
        checksum = self.bits.number(self.at + MAGIC_BITS, 32)
        cut = self._cut_out(self.at, end)
        job = self._threads.submit(_Decoding, *cut, self.level, checksum)
        block = _Block(self.at, end, self.level, checksum, job)
        self.at = end
        return block

    def _header(self) -> bool:
        if not self.bits.has(self.at, 8):
            return False
        if not self.bits.has(self.at, 32):
            raise DamagedError(_CUT)
        if not self.bits.is_header(self.at):
            raise DamagedError(_BROKEN)
        self.level = self.bits.number(self.at + 24, 8).to_bytes(1, "big")
        self.at += 32
        return True

    def _end_of_block(self) -> int:
        """Return where the next magic number most likely is; the decoder finds out for sure."""
        start = self.at + MAGIC_BITS + 32
        while True:
            found = self.bits.next_block(start)
            if found is not None:
                return self._before_header(start, found)
            if self.bits.end - start > MOST_BLOCK_BYTES * 8:
                raise DamagedError(_BROKEN)
            if not self.bits.more():
                break
        ends = self.bits.positions(END, start, self.bits.end)
        if not ends:
            raise DamagedError(_CUT)
        return self._before_header(start, ends[-1])

    def _before_header(self, start: int, magic: int) -> int:
        """Return where the block before `magic` ends: a new stream may begin between the two.

        If a header comes right before `magic`, this is the end of the stream before that, and the
        first of several ends if there are empty streams in between; otherwise it is `magic`.
        """
        while True:
            header = magic - 32
            if magic % 8 or header < start or not self.bits.is_header(header):
                return magic
            ends = self.bits.positions(END, max(start, header - MAGIC_BITS - 32 - 7), header)
            if not ends:
                return magic
            magic = ends[0]

    def _cut_out(self, start: int, end: int) -> tuple[bytes, int, int]:
        """Return the bytes that hold the bits from `start` to `end`, bits to skip, and a count."""
        first, last = (start - self.bits.base) // 8, (end - self.bits.base + 7) // 8
        return bytes(self.bits.data[first:last]), start % 8, end - start

    def mended(self, block: _Block) -> _Decoding:
        """Decode a block whose end was misjudged, and continue from its real end.

        Raises DamagedError if none of the candidates is its end.
        """
        start = block.start + MAGIC_BITS + 32
        self.bits.has(start, MOST_BLOCK_BYTES * 8)
        limit = min(self.bits.end, start + MOST_BLOCK_BYTES * 8)
        ends = sorted(
            position
            for magic in (BLOCK, END)
            for position in self.bits.positions(magic, start, limit)
            if position != block.end
        )
        for end in ends[:MOST_CANDIDATES]:
            cut = self._cut_out(block.start, end)
            decoding = _Decoding(*cut, block.level, block.checksum)
            if decoding.fits:
                self.at, self.level = end, block.level
                return decoding
        raise DamagedError(_BROKEN)


def decoded_blocks(pieces: Iterator[bytes]) -> Generator[bytes, None, None]:
    """Yield the decoded bytes of one or more concatenated bzip2 streams.

    Raises DamagedError unless the last one is complete, every checksum holds, and nothing but
    further streams follows. Memory does not grow with the file, nor with what a block holds.
    """
    count = cores()
    threads = ThreadPoolExecutor(count, "bzip2")
    scanner = _Scanner(_Bits(pieces), threads)
    waiting: deque[_Found] = deque()
    combined, window = 0, 1
    try:
        while True:
            while len(waiting) < window and (not waiting or _goes_on(waiting[-1])):
                waiting.append(scanner.next())
            found = waiting.popleft()
            if found is None:
                return
            if isinstance(found, FaultError):
                raise found
            if isinstance(found, _StreamEnd):
                if found.checksum != combined:
                    raise DamagedError(_BROKEN)
                combined = 0
                continue
            decoding = found.job.result()
            if not decoding.fits:
                _abandon(waiting)
                decoding = scanner.mended(found)
            yield from decoding.pieces()
            scanner.bits.forget(found.start + MAGIC_BITS)
            combined = (combined << 1 | combined >> 31) & 0xFFFFFFFF ^ found.checksum
            # Start small: a caller that reads only a file's start should not pay for more blocks.
            window = min(window + 1, count + 2)
    finally:
        _abandon(waiting)
        threads.shutdown()


def _goes_on(found: _Found) -> bool:
    return isinstance(found, _Block | _StreamEnd)


def _abandon(waiting: deque[_Found]) -> None:
    for found in waiting:
        if isinstance(found, _Block):
            found.job.cancel()
    waiting.clear()
