"""Archives that the readers' own tables (hostile_tars, hostile_packages) do not have: tars,
streams and bombs. packages.py has those whose metadata lie; reasons.py tells why each is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib

import raw_archives as raw
from abuse.arena import Arena, Make
from raw_archives import LIBRARY, ZEROS, folder, gnu_long, hard, link, member, pax, tar_bz2
from zstd_library import zstd

CANARY_UP = "../" * 4 + "canary"
"""The way from the tree of a package being staged up to `Arena.canary`."""


def chain(part: int) -> bytes:
    """Return links that lead through each other to a path that is longer than PATH_MAX."""
    here, there, steps = "", "d" * part, []
    out = b""
    for letter in "abcdefghijklmnop":
        out += gnu_long(f"{here}{there}/") + folder("x")
        out += gnu_long(f"{here}{letter}") + link("x", there)
        here += there + "/"
        steps.append(letter)
    far = "/".join(steps) + "/" + "l" * 254
    out += gnu_long(far) + link("x", "../" * len(steps))
    return out + gnu_long(f"{far}/../canary", b"K") + link("flag", "x") + member("flag", b"dead")


def with_dictionary(data: bytes, code: int) -> bytes:
    """Let the first block of an xz stream ask for another dictionary size (format, 3.2, 5.3.1)."""
    out = bytearray(data)
    size = (out[12] + 1) * 4
    out[16] = code
    struct.pack_into("<I", out, 12 + size - 4, zlib.crc32(out[12 : 12 + size - 4]))
    return bytes(out)


def bz2_bomb(count: int) -> bytes:
    """Return a package with `count` members of 64 MiB of zeros, in some KiB."""
    block = bytes(64 << 20)
    packed = bz2.compress(block, 9)
    out = bz2.compress(raw.index_member())
    for number in range(count):
        out += bz2.compress(raw.header(f"bomb{number}", len(block))) + packed
    return out + bz2.compress(ZEROS)


def gzip_bomb(count: int) -> bytes:
    packed = gzip.compress(bytes(64 << 20), 9)
    out = gzip.compress(raw.cudnn_tar(end=b""))
    for number in range(count):
        out += gzip.compress(raw.header(f"cuda/bomb{number}", 64 << 20)) + packed
    return out + gzip.compress(ZEROS)


def zstd_bomb(count: int) -> bytes:
    packed = zstd.compress(bytes(64 << 20))
    out = zstd.compress(raw.member(LIBRARY, b"cudart"))
    for number in range(count):
        out += zstd.compress(raw.header(f"bomb{number}", 64 << 20)) + packed
    name = "pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst"
    return raw.conda_zip(**{name: out + zstd.compress(ZEROS)})


def deflated(name: str, size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in raw.wheel_parts().items():
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
        with archive.open(name, "w") as file:
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))
    return out.getvalue()


def with_size(data: bytes, size: int) -> bytes:
    """Let a zip state, in both places, that its last member has `size` bytes unpacked."""
    out = bytearray(data)
    struct.pack_into("<I", out, out.rindex(b"PK\1\2") + 24, size)
    struct.pack_into("<I", out, out.rindex(b"PK\3\4") + 22, size)
    return bytes(out)


def flood(piece: bytes, count: int) -> bytes:
    """Repeat a piece of tar `count` times, in a few KiB of bz2."""
    packed = bz2.compress(piece * 1000)
    return bz2.compress(raw.index_member()) + packed * (count // 1000) + bz2.compress(ZEROS)


def bomb_of_json(count: int) -> bytes:
    return b'{"name": [' + b"[]," * count + b"[]]}"


def lists(line: str) -> bytes:
    """Return a wheel with one more line in its RECORD."""
    said = raw.wheel_parts()[f"{raw.WHEEL}/RECORD"].decode()
    return raw.wheel_of(record=(said + line).encode())


NAMES = dict.fromkeys(
    ("gzip, 4 GiB in some MiB", "gzip, half a second member"), "cudnn-10.1-linux-x64-v7.6.5.32.tgz"
)
"""Names for old cuDNN archives that are sound up to a point, so that their CUDA is needed."""


def archive(data: object, name: str = "package") -> Make:
    """Return what installs the archive that `data` makes, from the arena if it takes that."""

    def make(arena: Arena) -> list[str]:
        content = data(arena) if data.__code__.co_argcount else data()  # type: ignore[attr-defined, operator]  # a lambda of one of two forms
        return ["install", "--force", arena.write(content, name)]

    return make


_TAR = {
    "a chain of links longer than PATH_MAX": lambda: tar_bz2(chain(247)),
    "a chain of links just short of the longest name": lambda: tar_bz2(chain(50)),
    # The path of a tests' folder may be too long for a header, which has 100 bytes for it.
    "the absolute path of the canary": lambda arena: tar_bz2(
        gnu_long(str(arena.canary)), member("a", b"dead")
    ),
    "a hard link to the canary": lambda arena: tar_bz2(
        gnu_long(str(arena.canary), b"K"), hard("a", "lib")
    ),
    "a link to the canary, then a file of its name": lambda arena: tar_bz2(
        gnu_long(str(arena.canary), b"K"), link("a", "lib"), member("a", b"dead")
    ),
    "up from the staged tree": lambda: tar_bz2(member(CANARY_UP, b"dead")),
    "a link up, then a file below it": lambda: tar_bz2(
        link("up", "../" * 4), member("up/canary", b"dead")
    ),
    "a link to a link that leads out": lambda: tar_bz2(
        link("a", "b"), link("b", "../" * 4 + "canary")
    ),
    "a link out by a folder that becomes a link": lambda: tar_bz2(
        folder("d"), link("d", ".."), member("d/canary", b"dead")
    ),
    "a prefix that leads out": lambda: tar_bz2(member("canary", b"dead", prefix=b"../..")),
    "an absolute prefix": lambda: tar_bz2(member("canary", b"dead", prefix=b"/tmp")),
    "a long GNU name that leads out": lambda: tar_bz2(gnu_long(CANARY_UP), member("a", b"dead")),
    "a long GNU link that leads out": lambda: tar_bz2(gnu_long(CANARY_UP, b"K"), link("a", "lib")),
    "a PAX target of a hard link that leads out": lambda: tar_bz2(
        pax({"linkpath": CANARY_UP}), hard("a", LIBRARY)
    ),
    "a NUL in a long name": lambda: tar_bz2(gnu_long("a\0../../canary"), member("b", b"dead")),
    "dots of other scripts": lambda: tar_bz2(member("\uff0e\uff0e/canary\u202e", b"dead")),
    "a name of surrogates": lambda: tar_bz2(member(b"a\xed\xb3\xbfb", b"dead")),
    "an overlong dot": lambda: tar_bz2(member(b"\xc0\xae\xc0\xae/canary", b"dead")),
    "a sparse file by PAX 1.0": lambda: tar_bz2(
        pax({"GNU.sparse.major": "1", "GNU.sparse.name": "../canary"}), member("a", b"x")
    ),
    "a sparse file by PAX 0.1": lambda: tar_bz2(
        pax({"GNU.sparse.map": "0,1,1099511627776,1"}), member("a", b"x")
    ),
    "a PAX length of zero": lambda: tar_bz2(pax(b"0 path=a\n"), member("a", b"x")),
    "a PAX length below its own": lambda: tar_bz2(pax(b"3 path=a\n"), member("a", b"x")),
    "a PAX length of a thousand digits": lambda: tar_bz2(
        pax(b"9" * 1000 + b" path=a\n"), member("a", b"x")
    ),
    "a PAX key without an end": lambda: tar_bz2(pax(b"8 path=a"), member("a", b"x")),
    "a multi-volume member": lambda: tar_bz2(member("a", b"x", kind=b"M")),
    "a volume label": lambda: tar_bz2(member("a", kind=b"V")),
    "a member of a type that nobody has": lambda: tar_bz2(member("a", b"x", kind=b"\xff")),
    "a folder with a size in base 256": lambda: tar_bz2(
        header_of("d/", b"\x80" + bytes(10) + b"\1", b"5"), bytes(512)
    ),
    "a terabyte that does not come": lambda: tar_bz2(raw.header("a", 1 << 40), end=b""),
    "a file where a folder was": lambda: tar_bz2(member("lib", b"x")),
    "a file below a file": lambda: tar_bz2(member(f"{LIBRARY}/a", b"x")),
    "names that differ in sharp s": lambda: tar_bz2(member("strasse", b"x"), member("straße", b"")),
    "names that differ in a dotless i": lambda: tar_bz2(member("İ", b"x"), member("i̇", b"y")),
    "a library and its upper case": lambda: tar_bz2(member(LIBRARY.upper(), b"x")),
    "the name of our own record": lambda: tar_bz2(member("cudaswitch.json", b"{}")),
    "the name of our own list of files": lambda: tar_bz2(member("cudaswitch-files.json", b"{}")),
    "our own record as a link": lambda: tar_bz2(link("cudaswitch.json", "lib")),
}


def header_of(name: str, size: bytes, kind: bytes) -> bytes:
    return raw.header(name, size, kind=kind)


_STREAMS = {
    "bz2, a block flipped": lambda: flipped(tar_bz2(), 60),
    "bz2, the sum of the stream": lambda: flipped(tar_bz2(), -2),
    "bz2, an empty stream and nothing": lambda: bz2.compress(b""),
    "bz2, a level that is none": lambda: b"BZh0" + tar_bz2()[4:],
    "xz, a dictionary of 1 GiB": lambda: with_dictionary(lzma.compress(raw.cudnn_tar()), 36),
    "xz, the index flipped": lambda: flipped(lzma.compress(raw.cudnn_tar()), -20),
    "xz, the old format without checks": lambda: lzma.compress(
        raw.cudnn_tar(), format=lzma.FORMAT_ALONE
    ),
    "gzip, a name without end": lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 100_000,
    "gzip, reserved flags": lambda: b"\x1f\x8b\x08\xe0" + gzip.compress(raw.cudnn_tar())[4:],
    "gzip, another method": lambda: b"\x1f\x8b\x07" + gzip.compress(raw.cudnn_tar())[3:],
    "gzip, the size flipped": lambda: flipped(gzip.compress(raw.cudnn_tar()), -1),
    "gzip, half a second member": lambda: (
        gzip.compress(raw.cudnn_tar()) + gzip.compress(b"x" * 99)[:-5]
    ),
    "zstd, a window of 2 GiB": lambda: conda_of(b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"),
    "zstd, a dictionary that nobody has": lambda: conda_of(b"\x28\xb5\x2f\xfd\x21\x07\x01\x01\0\0"),
    "zstd, a skippable frame without end": lambda: conda_of(b"\x50\x2a\x4d\x18\xff\xff\xff\x7f"),
    "zstd, garbage behind": lambda: conda_of(zstd.compress(ZEROS) + b"garbage"),
}


def conda_of(packed: bytes) -> bytes:
    return raw.conda_zip(**{"pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": packed})


def flipped(data: bytes, at: int) -> bytes:
    out = bytearray(data)
    out[at] ^= 1
    return bytes(out)


_BOMBS = {
    "bz2, 16 GiB in some KiB": lambda: bz2_bomb(256),
    "gzip, 4 GiB in some MiB": lambda: gzip_bomb(64),
    "zstd, 16 GiB in some KiB": lambda: zstd_bomb(256),
    "deflate, more than it says": lambda: with_size(deflated("nvidia/cu13/lib/bomb", 32 << 20), 5),
    "deflate, 3 GiB by what it says": lambda: with_size(
        deflated("nvidia/cu13/lib/bomb", 1 << 20), 3 << 30
    ),
    "a million members": lambda: flood(folder("d"), 1_000_000),
    "a million headers of no member": lambda: flood(pax({"comment": "x"}, b"g"), 1_000_000),
    "zeros behind the end, 1 GiB": lambda: (
        bz2.compress(raw.conda_tar()) + bz2.compress(bytes(1 << 26), 9) * 16
    ),
    "a list of files of 250 MiB": lambda: (
        bz2.compress(raw.index_member() + raw.header("info/paths.json", 250 << 20))
        + bz2.compress(b" " * (50 << 20)) * 5
        + bz2.compress(raw.conda_tar(index=b""))
    ),
    "an index of millions of lists": lambda: tar_bz2(
        index=member("info/index.json", bomb_of_json(1_000_000))
    ),
    "an index of as many lists as it may be long": lambda: tar_bz2(
        index=member("info/index.json", bomb_of_json(600_000))
    ),
    "a list of files of millions of lists": lambda: tar_bz2(
        member("info/paths.json", b'{"paths": ' + bomb_of_json(3_000_000) + b"}")
    ),
    "a RECORD of a million rows": lambda: lists("a,sha256=x,1\n" * 1_000_000),
    "a RECORD of one row of 16 MiB": lambda: lists("a," * (8 << 20)),
    "a placeholder of two letters in 60 MiB of them": lambda: tar_bz2(
        raw.index_member(build="h_9"),
        raw.paths_member(
            raw.record(LIBRARY, b"cudart"),
            raw.record("bin/x", b"//" * (30 << 20), prefix_placeholder="//", file_mode="text"),
        ),
        member("bin/x", b"//" * (30 << 20)),
        index=b"",
    ),
    "deep folders, 200,000 of them": lambda: tar_bz2(
        *(gnu_long(f"{number}/" + "d/" * 58) + folder("x") for number in range(4000))
    ),
}

ARCHIVES = _TAR | _STREAMS | _BOMBS
