"""xz in blocks that state their sizes: decoded in threads, and compared with liblzma."""

from __future__ import annotations

import lzma
import random
import subprocess
import tracemalloc
from collections.abc import Iterator

import pytest

from cudaswitch.archives import threads, xz
from cudaswitch.archives.faults import DamagedError, FaultError, UnsafeError
from cudaswitch.archives.streams import decoded
from tools import require

TEXT = b"".join(random.Random(1).randbytes(40) + bytes(60) for _ in range(600))
SINGLE = lzma.compress(b"one block")


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xz, "cores", lambda: 4)
    monkeypatch.setattr(threads, "PIECE", 500)


def blocks(text: bytes = TEXT, size: int = 10_000, *options: str) -> bytes:
    """Return a text as `xz -T` writes it, in blocks of `size` bytes."""
    command = [require("xz"), "-T2", f"--block-size={size}", *options]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


def pieces(data: bytes, step: int = 777) -> Iterator[bytes]:
    return (data[at : at + step] for at in range(0, len(data), step))


def plain(data: bytes, step: int = 777) -> bytes:
    return b"".join(decoded(pieces(data, step), "xz"))


def in_threads(data: bytes) -> bytes:
    """Return what is decoded in threads alone, after checking that nothing else is left."""
    found = bytearray()
    walk = xz.decoded_blocks(pieces(data), lzma.LZMADecompressor)
    try:
        while True:
            found += next(walk)
    except StopIteration as end:
        assert not b"".join(end.value)
    return bytes(found)


@pytest.mark.parametrize("check", ["crc32", "crc64", "sha256"])
@pytest.mark.parametrize("size", [1, 99, 10_000, 60_000, 100_000])
def test_blocks(check: str, size: int) -> None:
    text = TEXT if size > 1 else b"a few bytes"
    assert in_threads(blocks(text, size, f"--check={check}")) == text


def test_streams_with_padding_between_them() -> None:
    assert in_threads(blocks() + bytes(8) + blocks()) == TEXT * 2


def test_blocks_of_very_different_sizes() -> None:
    """Blocks of very different sizes, lawful but used by nobody, would make memory unbounded."""
    large = xz.IN_FLIGHT + 1
    data = blocks(bytes(large + 1000), large, "-0", "--block-list=1000,0")
    with pytest.raises(UnsafeError, match="differ too much"):
        plain(data)


def test_memory_goes_by_each_block_and_not_by_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xz, "cores", lambda: 16)
    monkeypatch.setattr(xz, "IN_FLIGHT", 1 << 20)
    size = 1000 + 20 * 900_000
    data = blocks(bytes(size), 900_000, "-0", "--block-list=1000,0")
    tracemalloc.start()
    try:
        assert sum(map(len, decoded(pieces(data), "xz"))) == size
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("step", [1, 13, 4096, 1 << 20])
def test_however_they_arrive(step: int) -> None:
    assert plain(blocks(TEXT[:5000], 900), step) == TEXT[:5000]


def test_blocks_are_really_decoded_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    decode = xz._decode

    def watched(header: bytes, block: xz._Block, *rest: object) -> bytes:
        seen.append(block.plain)
        return decode(header, block, *rest)

    monkeypatch.setattr(xz, "_decode", watched)
    assert plain(blocks()) == TEXT
    assert seen == [10_000] * 6
    assert plain(lzma.compress(TEXT)) == TEXT
    assert len(seen) == 6


@pytest.mark.parametrize(
    "parts",
    [
        (blocks, SINGLE), (SINGLE, blocks), (blocks, blocks), (blocks, bytes(4), blocks, bytes(8)),
        (SINGLE, bytes(4), blocks), (blocks, bytes(400), SINGLE),
    ],
    ids=range(6),
)  # fmt: skip
def test_several_streams(parts: tuple[object, ...]) -> None:
    data = b"".join(part if isinstance(part, bytes) else blocks() for part in parts)
    held = {SINGLE: b"one block", blocks: TEXT}
    assert plain(data) == b"".join(held.get(part, b"") for part in parts)


def test_large_blocks_are_not_held_in_memory() -> None:
    data = blocks(bytes(xz.IN_FLIGHT + 1), xz.IN_FLIGHT, "-0")
    walk = xz.decoded_blocks(pieces(data), lzma.LZMADecompressor)
    with pytest.raises(StopIteration) as end:
        next(walk)
    assert b"".join(end.value.value) == data


def test_no_checksum() -> None:
    with pytest.raises(UnsafeError, match="no checksum"):
        plain(blocks(TEXT, 10_000, "--check=none"))


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_cut_short(cut: int) -> None:
    with pytest.raises(DamagedError):
        plain(blocks(TEXT[:9000], 3000)[:-cut])


def _accepted(data: bytes) -> bytes | None:
    try:
        return lzma.decompress(data, lzma.FORMAT_XZ)
    except (lzma.LZMAError, EOFError):
        return None


def test_what_is_accepted_is_what_liblzma_accepts() -> None:
    """With bytes changed, added, removed or moved, xz accepts a file only where liblzma does."""
    whole = blocks(TEXT[:1500], 400)
    chance = random.Random(7)
    damaged = []
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        damaged.append(bytes(flipped))
    for _ in range(600):
        at, end = sorted(chance.randrange(len(whole)) for _ in range(2))
        other = chance.choice([b"", whole[at:end] * 2, chance.randbytes(end - at), bytes(4)])
        damaged.append(whole[:at] + other + whole[end:])
    accepted = 0
    for data in damaged:
        expected = _accepted(data)
        try:
            found = plain(data)
        except FaultError:
            assert expected is None
        else:
            accepted += 1
            assert found == expected
    assert accepted < 50


def test_blocks_that_lie_about_their_length() -> None:
    """A length that no memory could hold is not read."""
    whole = blocks(TEXT[:3000], 1000)
    header = whole[12 : 12 + (whole[12] + 1) * 4]
    block = xz._stated(bytearray(header), whole[:12])
    assert block is not None
    assert block.plain == 1000
    claimed = bytearray(header)
    claimed[2:5] = b"\xff\xff\xff"
    assert xz._stated(claimed, whole[:12]) is None
    with pytest.raises(FaultError):
        plain(whole[:12] + bytes(claimed) + whole[12 + len(header) :])
