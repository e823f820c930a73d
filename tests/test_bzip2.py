"""bzip2 on all cores gives what libbz2 gives for the whole, or refuses, in bounded memory."""

from __future__ import annotations

import bz2
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cudaswitch.archives.bzip2 import BLOCK, END, MOST_BLOCK_BYTES, decoded_blocks
from cudaswitch.archives.faults import DamagedError
from raw_archives import ZEROS, conda_tar, header

MAGIC = BLOCK.to_bytes(6, "big")


def decoded(data: bytes, step: int = 1 << 18) -> bytes:
    return b"".join(decoded_blocks(data[at : at + step] for at in range(0, len(data), step)))


def libbz2(data: bytes) -> bytes | None:
    """Decompress all streams with libbz2, in one thread; return None where it refuses."""
    whole = b""
    while data:
        decoder = bz2.BZ2Decompressor()
        try:
            whole += decoder.decompress(data)
        except OSError:
            return None
        if not decoder.eof:
            return None
        data = decoder.unused_data
    return whole


def made(random_: random.Random) -> list[bytes]:
    kinds = (
        lambda: b"",
        lambda: random_.randbytes(random_.randrange(1, 300_000)),
        lambda: bytes(random_.randrange(1, 3_000_000)),
        lambda: b"abc" * random_.randrange(1, 100_000),
    )
    return [random_.choice(kinds)() for _ in range(random_.randrange(1, 4))]


@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_the_library(seed: int) -> None:
    """Streams of all levels, joined, whole or damaged, in any chunks, give what libbz2 gives."""
    random_ = random.Random(seed)
    parts = made(random_)
    data = b"".join(bz2.compress(part, random_.randrange(1, 10)) for part in parts)
    assert decoded(data, random_.choice((1 << 18, 1000, 65536))) == b"".join(parts)
    flipped, behind = bytearray(data), data + random_.randbytes(random_.randrange(1, 30))
    flipped[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
    # The last bit is usually padding, and not of the stream.
    other_end = data[:-1] + bytes([data[-1] ^ 1])
    for damaged in (bytes(flipped), data[: random_.randrange(len(data))], behind, other_end):
        expected = libbz2(damaged)
        if expected is None:
            with pytest.raises(DamagedError):
                decoded(damaged)
        else:
            assert decoded(damaged) == expected


def test_an_end_that_is_taken_for_another_is_found_after_all() -> None:
    """A stream's end is found though an empty stream after it hides that end from the scanner."""
    first, last = random.Random(1).randbytes(50_000), b"x" * 50_000
    for between in (bz2.compress(b""), bz2.compress(b"") * 3):
        data = bz2.compress(first) + between + bz2.compress(last)
        assert decoded(data) == first + last


def test_the_checksum_over_all_blocks_counts() -> None:
    data = bytearray(bz2.compress(random.Random(2).randbytes(250_000), 1))
    tail = int.from_bytes(data[-12:], "big")
    shift = next(at for at in range(8) if tail >> (at + 32) & (1 << 48) - 1 == END)
    data[-12:] = (tail ^ 1 << (shift + 5)).to_bytes(12, "big")
    assert libbz2(bytes(data)) is None
    with pytest.raises(DamagedError):
        decoded(bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        b"BZh9" + MAGIC + bytes(MOST_BLOCK_BYTES + (1 << 20)),
        b"BZh9" + (MAGIC + bytes(50)) * 100_000,
        b"BZh9" + MAGIC * 500_000,
        (b"BZh9" + MAGIC + bytes(4) + END.to_bytes(6, "big") + bytes(4)) * 100_000,
        b"BZh9" + MAGIC + bytes(4) + END.to_bytes(6, "big") * 400_000,
        b"BZh0" + MAGIC,
        b"BZh9" + b"no magic",
        b"BZ",
    ],
    ids=("no end", "ends everywhere", "nothing else", "streams", "ends", "level", "magic", "cut"),
)
def test_what_is_made_to_cost_time_is_refused_soon(data: bytes) -> None:
    began = time.process_time()
    with pytest.raises(DamagedError):
        decoded(data)
    assert time.process_time() - began < 3


def test_a_look_at_the_start_ends_soon() -> None:
    """Closing the reader ends its threads, and not much was read ahead until then."""
    taken = 0
    data = bz2.compress(random.Random(3).randbytes(2_000_000), 1)

    def pieces() -> Iterator[bytes]:
        nonlocal taken
        for at in range(0, len(data), 50_000):
            taken += 1
            yield data[at : at + 50_000]

    stream = decoded_blocks(pieces())
    assert next(stream)
    stream.close()
    assert taken <= 8


MEASURED = """
import re, sys
from pathlib import Path
from cudaswitch.archives import unpacking
info = Path(f"{sys.argv[2]}-info")
info.mkdir()
package = unpacking.unpack(Path(sys.argv[1]), Path(sys.argv[2]), info)
print(sum(entry.size for entry in package.entries))
# Not ru_maxrss, which exec hands down from the process that this one was forked from.
print(re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1])
"""
PART, PARTS = 64 << 20, 8


def large_tar(compress: Callable[[bytes], bytes]) -> bytes:
    """A conda tar with a file of 512 MiB, as joined streams, of which each is made once."""
    whole = conda_tar(header("lib/libcublas.so.10", PART * PARTS))
    at = len(whole) - len(ZEROS)
    # A file of nothing but zeros would be refused as a bomb.
    part = random.Random(0).randbytes(2 << 20).ljust(PART, b"\0")
    return compress(whole[:at]) + compress(part) * PARTS + compress(whole[at:])


def test_memory_does_not_grow_with_the_archive(tmp_path: Path) -> None:
    path, tree = tmp_path / "package", tmp_path / "tree"
    tree.mkdir()
    path.write_bytes(large_tar(bz2.compress))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), str(tree)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    size, kibibytes = map(int, done.stdout.split())
    assert size >= PART * PARTS
    assert kibibytes < 150 << 10
