"""Archives written byte by byte, so that they can break every rule of their format."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

from zstd_library import zstd

ZEROS = bytes(1024)
INDEX = {
    "name": "cudatoolkit",
    "version": "10.1.243",
    "build": "h6bb024c_0",
    "subdir": "linux-64",
    "depends": [],
}
LIBRARY = "lib/libcudart.so.10.1.243"


def raw(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def header(
    name: str | bytes,
    size: int | bytes = 0,
    kind: bytes = b"0",
    target: str | bytes = b"",
    mode: int = 0o644,
    magic: bytes = b"ustar\x0000",
    prefix: bytes = b"",
    checksum: int | None = None,
) -> bytes:
    """Return one 512-byte tar header; `size` as bytes and `checksum` are written as given."""
    field = size if isinstance(size, bytes) else b"%011o\0" % size
    head = struct.pack(
        "100s8s8s8s12s12s8s1s100s8s32s32s16s155s12x",
        *(raw(name), b"%07o\0" % mode, b"0000000\0", b"0000000\0", field, b"00000000000\0"),
        *(b" " * 8, kind, raw(target), magic, b"root", b"root", b"", prefix),
    )
    total = sum(head) if checksum is None else checksum
    return head[:148] + b"%06o\0 " % total + head[156:]


def member(name: str | bytes, data: bytes = b"", **fields: Any) -> bytes:
    """Return a header and its padded content."""
    return header(name, fields.pop("size", len(data)), **fields) + data + bytes(-len(data) % 512)


def link(name: str, target: str | bytes) -> bytes:
    return member(name, kind=b"2", target=target)


def hard(name: str, target: str) -> bytes:
    return member(name, kind=b"1", target=target)


def folder(name: str) -> bytes:
    return member(name, kind=b"5", mode=0o555)


def pax(records: Mapping[str, str] | bytes, kind: bytes = b"x") -> bytes:
    if isinstance(records, bytes):
        return member("pax", records, kind=kind)
    lines = b""
    for key, value in records.items():
        body = f" {key}={value}\n".encode()
        length = len(body) + 1
        while len(str(length)) + len(body) != length:
            length += 1
        lines += str(length).encode() + body
    return member("pax", lines, kind=kind)


def gnu_long(name: str | bytes, kind: bytes = b"L") -> bytes:
    return member("././@LongLink", raw(name) + b"\0", kind=kind, magic=b"ustar  \0")


def index_member(**changes: Any) -> bytes:
    return member("info/index.json", json.dumps(INDEX | changes).encode())


def paths_member(*records: Mapping[str, Any]) -> bytes:
    return member("info/paths.json", json.dumps({"paths": records, "paths_version": 1}).encode())


def record(path: str, data: bytes, **changes: Any) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {
        "_path": path,
        "path_type": "hardlink",
        "sha256": digest,
        "size_in_bytes": len(data),
    } | changes


def conda_tar(*members: bytes, index: bytes | None = None, end: bytes = ZEROS) -> bytes:
    """Return the uncompressed tar of a small cudatoolkit, with further `members`."""
    first = index_member() if index is None else index
    return first + member(LIBRARY, b"cudart") + b"".join(members) + end


def tar_bz2(*members: bytes, **how: Any) -> bytes:
    return bz2.compress(conda_tar(*members, **how), 1)


def cudnn_tar(*members: bytes, end: bytes = ZEROS) -> bytes:
    text = b"#define CUDNN_MAJOR 7\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 5\n"
    elf = b"\x7fELF\2\1\1" + bytes(9) + b"\3\0" + b"\x3e\0" + bytes(44)
    return (
        member("cuda/include/cudnn.h", text)
        + member("cuda/lib64/libcudnn.so.7.6.5", elf, mode=0o755)
        + link("cuda/lib64/libcudnn.so.7", "libcudnn.so.7.6.5")
        + b"".join(members)
        + end
    )


def zip_of(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def conda_parts(
    package: bytes = member(LIBRARY, b"cudart"), info: bytes = b"", **more: bytes
) -> dict[str, bytes]:
    """Return the members of a small `.conda`; `more` replaces or adds some."""
    stem = "cudatoolkit-10.1.243-h6bb024c_0.tar.zst"
    return {
        "metadata.json": b'{"conda_pkg_format_version": 2}',
        f"pkg-{stem}": zstd.compress(package + ZEROS),
        f"info-{stem}": zstd.compress(index_member() + info + ZEROS),
    } | {name.replace("__", "-"): data for name, data in more.items()}


def conda_zip(*arguments: bytes, **more: bytes) -> bytes:
    return zip_of(conda_parts(*arguments, **more))


WHEEL = "nvidia_cuda_nvcc-13.0.88.dist-info"


def wheel_parts(
    files: Mapping[str, bytes] | None = None, record: bytes | None = None, **more: bytes
) -> dict[str, bytes]:
    """Return the members of a small wheel with a correct RECORD; `more` changes its dist-info."""
    texts = {
        "METADATA": b"Metadata-Version: 2.1\nName: nvidia-cuda-nvcc\nVersion: 13.0.88\n\n",
        "WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-manylinux2014_x86_64\n",
    } | more
    found = dict(files or {"nvidia/cu13/bin/ptxas": b"ptxas"})
    found |= {f"{WHEEL}/{name}": text for name, text in texts.items() if text}
    lines = [f"{name},{wheel_hash(data)},{len(data)}" for name, data in found.items()]
    listed = "\n".join([*lines, f"{WHEEL}/RECORD,,\n"]).encode()
    return found | {f"{WHEEL}/RECORD": listed if record is None else record}


def wheel_hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + digest.rstrip(b"=").decode()


def wheel_of(*arguments: Any, **more: Any) -> bytes:
    return zip_of(wheel_parts(*arguments, **more), zipfile.ZIP_DEFLATED)


def changed(data: bytes, old: bytes, new: bytes, nth: int = 0) -> bytes:
    """Replace the nth occurrence of `old` by `new` of the same length."""
    at = -1
    for _ in range(nth + 1):
        at = data.index(old, at + 1)
    assert len(old) == len(new)
    return data[:at] + new + data[at + len(old) :]


def xz_without_check(data: bytes) -> bytes:
    return lzma.compress(data, check=lzma.CHECK_NONE)


def zip_link(name: str, target: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, data in wheel_parts().items():
            archive.writestr(path, data)
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o120777 << 16
        archive.writestr(info, target)
    return out.getvalue()


def deep_json() -> bytes:
    return member("info/index.json", b'{"name":' + b"[" * 200_000)


def with_gap(data: bytes) -> bytes:
    """Put eight bytes between the last member and the directory, and correct the end record."""
    end = data.rindex(b"PK\5\6")
    start = struct.unpack_from("<I", data, end + 16)[0]
    tail = bytearray(data[end:])
    struct.pack_into("<I", tail, 16, start + 8)
    return data[:start] + b"hidden!!" + data[start:end] + bytes(tail)


def with_flag(data: bytes, flag: int) -> bytes:
    out = bytearray(data)
    out[6] |= flag
    out[data.index(b"PK\1\2") + 8] |= flag
    return bytes(out)


def with_volume(data: bytes) -> bytes:
    out = bytearray(data)
    out[data.rindex(b"PK\5\6") + 4] = 1
    return bytes(out)


def zip_twice() -> bytes:
    data = wheel_of({"nvidia/cu13/bin/ptxas": b"a", "nvidia/cu13/bin/ptxaz": b"a"})
    return data.replace(b"ptxaz", b"ptxas")


def gzip_of(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)
