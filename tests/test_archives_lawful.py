"""Archives: the odd but lawful ones, which must keep working, and how files are placed."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import stat
import struct
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import raw_archives as raw
from archive_checks import LINUX_TAG, Unpack, by_path, checked_unpack, write
from builders import (
    File,
    Link,
    cudatoolkit_10_1,
    wheel,
    write_tree,
)
from cudaswitch.archives import unpacking
from cudaswitch.errors import ArchiveError
from zstd_library import zstd


@pytest.fixture
def unpack(tmp_path: Path) -> Unpack:
    return partial(checked_unpack, tmp_path)


def test_a_streamed_wheel(tmp_path: Path, unpack: Unpack) -> None:
    """A wheel that was written to a pipe, where sizes follow the data, is lawful."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.data += bytes(data)  # type: ignore[call-overload]  # any buffer
            return len(bytes(data))  # type: ignore[call-overload]  # any buffer

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        for name, data in raw.wheel_parts().items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    assert unpack(write(tmp_path, bytes(pipe.data))).component == "nvcc"


def test_a_zip_with_a_comment(tmp_path: Path, unpack: Unpack) -> None:
    path = write(tmp_path, raw.wheel_of())
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"built by hand"
    assert unpack(path).component == "nvcc"


@pytest.mark.parametrize("lies", [False, True])
def test_a_zip_whose_directory_ends_as_in_one_of_4_gib(
    tmp_path: Path, unpack: Unpack, lies: bool
) -> None:
    """The end record of zip64 counts where the old one says that its fields are too small."""
    data = raw.wheel_of()
    at = data.rindex(b"PK\5\6")
    count, size, start = struct.unpack_from("<HII", data, at + 10)
    sizes = count, count + lies, size, start
    end = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, *sizes)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    full = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path = write(tmp_path, data[:at] + end + locator + full)
    assert zipfile.ZipFile(path).testzip() is None
    if lies:
        with pytest.raises(ArchiveError, match="one of several volumes"):
            unpack(path)
    else:
        assert unpack(path).component == "nvcc"


def tar_of(form: int, *names: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = 4, 1.5  # type: ignore[assignment]  # PAX keeps fractions
            tar.addfile(info, io.BytesIO(b"data"))
    return out.getvalue().rstrip(b"\0")


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


LONG = "lib/" + "deep/" * 30 + "n" * 90
ODD: dict[str, tuple[bytes, set[str]]] = {
    "dot prefix": (raw.folder("./") + raw.folder(".") + raw.member("./a/b", b"x"), {"a/b"}),
    "two dots in a name": (raw.member("..a", b"x") + raw.member("b/..c.", b"x"), {"..a", "b/..c."}),
    "GNU long names": (padded(tar_of(tarfile.GNU_FORMAT, LONG)), {LONG}),
    "PAX long names": (padded(tar_of(tarfile.PAX_FORMAT, LONG, "caf\u00e9")), {LONG, "caf\u00e9"}),
    "ustar prefix": (raw.member("b", b"x", prefix=b"lib/a"), {"lib/a/b"}),
    "v7": (raw.member("a/", magic=b"\0" * 8) + raw.member("a/b", b"x", magic=b"\0" * 8), {"a/b"}),
    "GNU times": (raw.member("a", b"x", magic=b"ustar  \0", prefix=b"15000000000\0"), {"a"}),
    "old file type": (raw.member("a", b"x", kind=b"\0"), {"a"}),
    "global header": (raw.pax({"comment": "of git"}, b"g") + raw.member("a", b"x"), {"a"}),
    "GNU long link": (
        raw.gnu_long("lib/" * 40 + "x", b"K") + raw.link("a", "lib"),
        {"a"},
    ),
    "inner link with dots": (raw.folder("d/e") + raw.link("d/e/l", "../../lib"), {"d/e/l"}),
    "link through a link": (raw.link("l", "lib") + raw.link("m", "l/x"), {"l", "m"}),
    "link to the top": (raw.link("d/l", ".."), {"d/l"}),
    "link that dangles": (raw.link("l", "elsewhere/x"), {"l"}),
    "the same link twice": (raw.link("l", "lib") * 2, {"l"}),
    "the same folder often": (
        raw.folder("d") * 3 + raw.member("d/a", b"x") + raw.folder("d/"),
        {"d/a"},
    ),
    "hard link": (raw.hard("lib/same", raw.LIBRARY), {"lib/same"}),
    "hard link to a hard link": (raw.hard("a", raw.LIBRARY) + raw.hard("b", "a"), {"a", "b"}),
    "setuid": (raw.member("bin/su", b"x", mode=0o6755), {"bin/su"}),
    "world-writable": (raw.member("bin/w", b"x", mode=0o666), {"bin/w"}),
    "no permission": (raw.member("bin/n", b"x", mode=0), {"bin/n"}),
    "size in base 256": (raw.member("a", b"xy", size=b"\x80" + bytes(10) + b"\2"), {"a"}),
    "empty file": (raw.member("a"), {"a"}),
    "blanks and more": (raw.member("a b,'c'\"d$e;f", b"x"), {"a b,'c'\"d$e;f"}),
    "1024 bytes": (
        raw.gnu_long("a/" * 20 + "b" * 200) + raw.member("a", b""),
        {"a/" * 20 + "b" * 200},
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_lawful_oddities(tmp_path: Path, unpack: Unpack, case: str) -> None:
    members, paths = ODD[case]
    package = unpack(write(tmp_path, raw.tar_bz2(members)))
    assert {entry.path for entry in package.entries} == paths | {raw.LIBRARY}


def streams(data: bytes, compress: Callable[[bytes], bytes], between: bytes = b"") -> bytes:
    return between.join(compress(part) for part in (data[:700], data[700:])) + between


PACKINGS: dict[str, bytes] = {
    "bz2 in two streams": streams(raw.conda_tar(), bz2.compress),
    "bz2 with an empty stream": bz2.compress(b"") + raw.tar_bz2(),
    "gzip in two members": streams(raw.cudnn_tar(), gzip.compress),
    "xz in two streams": streams(raw.cudnn_tar(), lzma.compress),
    "xz with padding": streams(raw.cudnn_tar(), lzma.compress, bytes(8)),
    "xz with sha256": lzma.compress(raw.cudnn_tar(), check=lzma.CHECK_SHA256),
    "40 MiB of zeros behind": bz2.compress(raw.conda_tar(end=bytes(40 << 20)), 9),
    "zstd in frames": raw.conda_zip(
        **{
            "pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": b"\x50\x2a\x4d\x18\4\0\0\0skip"
            + streams(raw.member(raw.LIBRARY, b"x") + raw.ZEROS, zstd.compress)
        }
    ),
    ".conda, deflated": raw.zip_of(raw.conda_parts(), zipfile.ZIP_DEFLATED),
    ".conda, info first": raw.zip_of(dict(reversed(raw.conda_parts().items()))),
}


@pytest.mark.parametrize("case", PACKINGS)
def test_lawful_packings(tmp_path: Path, unpack: Unpack, case: str) -> None:
    assert unpack(write(tmp_path, PACKINGS[case])).entries


def test_large_members_in_every_format(tmp_path: Path, unpack: Unpack) -> None:
    """Members large enough for several pieces, queues and threads are unpacked unchanged."""
    noise = os.urandom(1 << 20) * 6 + b"odd"
    tree = {"nvidia/cu13/lib/big": noise, "nvidia/cu13/bin/zeros": bytes(5 << 20)}
    package = unpack(wheel(tmp_path, "nvidia-cublas", "13.1.0.3", LINUX_TAG, tree=tree))
    assert (tmp_path / "tree/nvidia/cu13/lib/big").read_bytes() == noise
    assert by_path(package)["nvidia/cu13/bin/zeros"].size == 5 << 20


@pytest.mark.parametrize("own", ["cccl", "cuda_cccl"])
def test_a_wheel_with_a_folder_of_its_own(tmp_path: Path, unpack: Unpack, own: str) -> None:
    """CCCL's wheels from 13.3 and from 13.2 have two folders with `lib`; the outer is the root."""
    tree = {"nvidia/cu13/include/cccl/a.h": b"", f"nvidia/cu13/{own}/lib/cmake/a.cmake": b""}
    package = unpack(wheel(tmp_path, "nvidia-cuda-cccl", "13.2.86", LINUX_TAG, tree=tree))
    assert package.root == "nvidia/cu13"


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_are_the_same_under_every_umask(tmp_path: Path, unpack: Unpack, umask: int) -> None:
    path = cudatoolkit_10_1(tmp_path / "in")
    before = os.umask(umask)
    try:
        unpack(path)
    finally:
        os.umask(before)


def test_hard_links_share_their_bytes(tmp_path: Path, unpack: Unpack) -> None:
    unpack(write(tmp_path, raw.tar_bz2(raw.hard("lib/same", raw.LIBRARY))))
    assert (tmp_path / "tree/lib/same").samefile(tmp_path / "tree" / raw.LIBRARY)


def test_a_hard_link_across_file_systems_becomes_a_copy(tmp_path: Path) -> None:
    other = Path("/dev/shm")  # noqa: S108  # a file system of its own
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    info = other / f"cudaswitch-test-{os.getpid()}"
    info.mkdir()
    (tmp_path / "tree").mkdir()
    try:
        data = raw.tar_bz2(raw.member("a", b"text", mode=0o755), raw.hard("info/licence", "a"))
        unpacking.unpack(write(tmp_path, data), tmp_path / "tree", info)
        assert (info / "licence").read_bytes() == b"text"
        assert stat.S_IMODE((info / "licence").stat().st_mode) == 0o755
    finally:
        subprocess.run(["rm", "-r", str(info)], check=True)


def test_a_tar_written_by_tar(tmp_path: Path, unpack: Unpack) -> None:
    """GNU tar with its own defaults: read-only folders, links, an empty folder."""
    top = "cuda_nvcc-linux-x86_64-12.4.131-archive"
    tree = {"bin/nvcc": File(b"x", executable=True), "bin/alias": Link("nvcc"), "lib/a": b"y"}
    write_tree(tmp_path / "src" / top, tree)
    (tmp_path / "src" / top / "empty").mkdir()
    os.link(tmp_path / "src" / top / "lib/a", tmp_path / "src" / top / "lib/b")
    (tmp_path / "src" / top / "bin").chmod(0o555)
    path = tmp_path / "x.tar.xz"
    subprocess.run(["tar", "-C", str(tmp_path / "src"), "-cJf", str(path), top], check=True)
    (tmp_path / "src" / top / "bin").chmod(0o755)
    package = unpack(path)
    assert len(package.entries) == 4
    assert (tmp_path / "tree" / top / "empty").is_dir()


def test_hash_of_a_file(tmp_path: Path) -> None:
    data = os.urandom(700_000)
    assert unpacking.sha256_of(write(tmp_path, data)) == hashlib.sha256(data).hexdigest()
