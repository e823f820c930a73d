"""Packages whose metadata lie: file lists, versions, directories of zips, scripts of runfiles."""

from __future__ import annotations

import gzip
import json
import struct

import raw_archives as raw
from abuse.archives import CANARY_UP, lists
from raw_archives import LIBRARY, ZEROS, gnu_long, hard, link, member, tar_bz2
from zstd_library import zstd


def with_offset(data: bytes, name: bytes, offset: int) -> bytes:
    """Let the directory of a zip place a member far beyond the end, by a zip64 field."""
    out = bytearray(data)
    at = out.rindex(name) - 46
    field = struct.pack("<HHQ", 1, 8, offset)
    struct.pack_into("<I", out, at + 42, 0xFFFFFFFF)
    struct.pack_into("<H", out, at + 30, len(field))
    out[at + 46 + len(name) : at + 46 + len(name)] = field
    end = out.rindex(b"PK\5\6")
    size = struct.unpack_from("<I", out, end + 12)[0]
    struct.pack_into("<I", out, end + 12, size + len(field))
    return bytes(out)


def central(data: bytes, name: bytes, at: int, form: str, value: int) -> bytes:
    """Change a field, `at` bytes into it, of a member's entry in the directory of a zip."""
    out = bytearray(data)
    struct.pack_into(form, out, out.rindex(name) - 46 + at, value)
    return bytes(out)


def overlapping() -> bytes:
    """Return a zip in which two members share one content: the directory refers to it twice."""
    data = raw.wheel_of({"nvidia/cu13/bin/ptxas": b"a" * 400, "nvidia/cu13/bin/ptxat": b"a" * 400})
    first = data.index(b"nvidia/cu13/bin/ptxas") - 30
    return central(data, b"nvidia/cu13/bin/ptxat", 42, "<I", first)


def runfile(tar: bytes, fields: dict[str, str | None] | None = None, script: str = "") -> bytes:
    """Return a runfile as makeself writes it; `fields` change what its script says."""
    packed = gzip.compress(tar)
    said: dict[str, str | None] = {"MD5": "0" * 32, "label": "CUDA Installer", "targetdir": "pkg"}
    said["filesizes"] = str(len(packed))
    said |= fields or {}
    lines = ["#!/bin/sh", "# This script was generated using Makeself 2.4.5", script]
    lines += [f'{name}="{value}"' for name, value in said.items() if value is not None]
    count = len(lines) + 2
    skip = said.get("skip", str(count))
    return "\n".join([*lines, f'skip="{skip}"', "exit 0", ""]).encode() + packed


def toolkit_tar(*more: bytes) -> bytes:
    elf = b"\x7fELF\2\1\1" + bytes(9) + b"\3\0" + b"\x3e\0" + bytes(44)
    said = json.dumps({"cuda": {"version": "12.4.1"}}).encode()
    return (
        member("builds/version.json", said)
        + member("builds/cuda_nvcc/bin/nvcc", elf, mode=0o755)
        + member("builds/cuda_cudart/lib64/libcudart.so.12.4.99", elf, mode=0o755)
        + b"".join(more)
        + ZEROS
    )


def redist(top: str, *more: bytes) -> bytes:
    return gzip.compress(member(f"{top}/bin/nvcc", b"x", mode=0o755) + b"".join(more) + ZEROS)


def wheel(**more: bytes) -> bytes:
    """Return a wheel with files besides its own; its RECORD has them all."""
    files = {"nvidia/cu13/bin/ptxas": b"ptxas"}
    return raw.wheel_of(files | {name.replace("__", "/"): data for name, data in more.items()})


def comment_in(data: bytes) -> bytes:
    """Return a zip whose comment is another zip, which readers that begin at the front find."""
    inner = raw.wheel_of({"nvidia/cu13/bin/evil": b"x"})
    out = bytearray(data)
    struct.pack_into("<H", out, out.rindex(b"PK\5\6") + 20, len(inner))
    return bytes(out) + inner


def zip64_sizes() -> bytes:
    """Return a zip whose directory gives a member another size in its zip64 field."""
    data = raw.wheel_of()
    name = b"nvidia/cu13/bin/ptxas"
    out = bytearray(with_offset(data, name, 0))
    at = out.rindex(name) - 46
    struct.pack_into("<I", out, at + 42, 0)
    struct.pack_into("<I", out, at + 24, 0xFFFFFFFF)
    struct.pack_into("<Q", out, at + 46 + len(name) + 4, 1 << 40)
    return bytes(out)


def paths(*records: dict[str, object]) -> bytes:
    return tar_bz2(raw.paths_member(*records))


def record_line(path: str, data: bytes = b"ptxas") -> str:
    return f"{path},{raw.wheel_hash(data)},{len(data)}\n"


_METADATA = {
    "version, ten thousand digits": lambda: tar_bz2(index=raw.index_member(version="1" * 10_000)),
    "version, a line break behind it": lambda: tar_bz2(index=raw.index_member(version="10.1\n")),
    "version, digits of another script": lambda: tar_bz2(
        index=raw.index_member(version="\u0661\u0660.\u0661")
    ),
    "name, letters of another script": lambda: tar_bz2(
        index=raw.index_member(name="cudat\u043e\u043elkit")
    ),
    "build, two dots": lambda: tar_bz2(index=raw.index_member(build="../../canary")),
    "platform that leads out": lambda: tar_bz2(index=raw.index_member(subdir="../linux-64")),
    "platform that is a list": lambda: tar_bz2(index=raw.index_member(subdir=["linux-64"])),
    "an index of surrogates": lambda: tar_bz2(
        index=member("info/index.json", json.dumps(raw.INDEX | {"name": "cuda\udcff"}).encode())
    ),
    "an index of UTF-16": lambda: tar_bz2(
        index=member("info/index.json", json.dumps(raw.INDEX).encode("utf-16"))
    ),
    "a number of a million digits": lambda: tar_bz2(
        index=member("info/index.json", b'{"name": ' + b"9" * 1_000_000 + b"}")
    ),
    "an index that is a hard link to a later file": lambda: tar_bz2(
        index=hard("info/index.json", "info/real")
    ),
    "a list of files that is a link": lambda arena: tar_bz2(
        gnu_long(str(arena.canary), b"K"), link("info/paths.json", "lib")
    ),
    "a listed absolute path": lambda arena: paths(raw.record(str(arena.canary), b"alive")),
    "a listed path up": lambda: paths(raw.record(CANARY_UP, b"alive")),
    "a listed size below zero": lambda: paths(raw.record(LIBRARY, b"cudart", size_in_bytes=-6)),
    "a listed size that is true": lambda: paths(raw.record(LIBRARY, b"c", size_in_bytes=True)),
    "a listed hash in capitals": lambda: paths(raw.record(LIBRARY, b"cudart", sha256="A" * 64)),
    "a placeholder with a line break": lambda: paths(
        raw.record(LIBRARY, b"cudart", prefix_placeholder="a\nb", file_mode="text")
    ),
    "a placeholder of one letter": lambda: paths(
        raw.record(LIBRARY, b"cudart", prefix_placeholder="c", file_mode="text")
    ),
    "a placeholder without a mode": lambda: paths(
        raw.record(LIBRARY, b"cudart", prefix_placeholder="/opt/placeholder")
    ),
    "has_prefix that leads out": lambda: tar_bz2(
        member("info/has_prefix", f"/opt/placeholder text {CANARY_UP}\n".encode())
    ),
    "no_link that leads out": lambda: tar_bz2(member("info/no_link", f"{CANARY_UP}\n".encode())),
    "files that lead out": lambda: tar_bz2(member("info/files", f"{CANARY_UP}\n".encode())),
    "RECORD, a path up": lambda: lists(record_line(CANARY_UP)),
    "RECORD, an absolute path": lambda arena: lists(record_line(str(arena.canary), b"alive")),
    "RECORD, the same row twice": lambda: lists(record_line("nvidia/cu13/bin/ptxas")),
    "RECORD, a hash of another kind": lambda: lists("a,sha512=" + "a" * 86 + ",1\n"),
    "RECORD, a size of a million digits": lambda: lists(
        f"a,{raw.wheel_hash(b'')},{'9' * 1_000_000}\n"
    ),
    "RECORD, a NUL": lambda: lists("a\0b,,\n"),
    "RECORD, not UTF-8": lambda: raw.wheel_of(record=b"\xff\xfe"),
    "wheel, a version that leads out": lambda: raw.wheel_of(
        METADATA=b"Name: nvidia-cuda-nvcc\nVersion: ../../canary\n"
    ),
    "wheel, a name that leads out": lambda: raw.wheel_of(
        METADATA=b"Name: ../../canary\nVersion: 13.0.88\n"
    ),
    "wheel, a platform that leads out": lambda: raw.wheel_of(
        WHEEL=b"Wheel-Version: 1.0\nTag: py3-none-../../canary\n"
    ),
    "redist, a top folder that leads out": lambda: redist(
        "cuda_nvcc-linux-x86_64-12.4.131-archive/.."
    ),
    "redist, two versions": lambda: redist(
        "cuda_nvcc-linux-x86_64-12.4.131-archive",
        member("cuda_nvcc-linux-x86_64-12.4.132-archive/bin/ptxas", b"x"),
    ),
    "redist, a version without end": lambda: redist(f"cuda_nvcc-linux-x86_64-{'1.' * 40}1-archive"),
    "cudnn, a header of many versions": lambda: gzip.compress(
        member("cuda/include/cudnn.h", b"#define CUDNN_MAJOR 99999\n" * 1000) + ZEROS
    ),
    "conda, parts that name another package": lambda: raw.zip_of(
        {
            name.replace("cudatoolkit-10.1.243", "../../canary"): data
            for name, data in raw.conda_parts().items()
        }
    ),
    "conda, metadata that is a list": lambda: raw.conda_zip(**{"metadata.json": b"[]"}),
    "conda, metadata of depth": lambda: raw.conda_zip(**{"metadata.json": b"[" * 100_000}),
    "conda, two infos": lambda: raw.zip_of(
        raw.conda_parts() | {"info-cudnn-7.6.5-0.tar.zst": zstd.compress(ZEROS)}
    ),
}

_ZIP = {
    "zip, a member behind all": lambda: with_offset(
        raw.wheel_of(), f"{raw.WHEEL}/METADATA".encode(), (1 << 64) - 1
    ),
    "zip, a member behind the end": lambda: with_offset(
        raw.wheel_of(), f"{raw.WHEEL}/METADATA".encode(), 1 << 40
    ),
    "zip, one content for two": overlapping,
    "zip, a size in zip64 that lies": zip64_sizes,
    "zip, another size in the directory": lambda: central(
        raw.wheel_of(), b"nvidia/cu13/bin/ptxas", 24, "<I", 6
    ),
    "zip, another checksum in the directory": lambda: central(
        raw.wheel_of(), b"nvidia/cu13/bin/ptxas", 16, "<I", 7
    ),
    "zip, packed in another way": lambda: central(
        raw.wheel_of(), b"nvidia/cu13/bin/ptxas", 10, "<H", 12
    ),
    "zip, an offset into another member": lambda: central(
        raw.wheel_of(), b"nvidia/cu13/bin/ptxas", 42, "<I", 3
    ),
    "zip, a device": lambda: central(
        raw.wheel_of(), b"nvidia/cu13/bin/ptxas", 38, "<I", 0o060644 << 16
    ),
    "zip, a comment that is a zip": lambda: comment_in(raw.wheel_of()),
    "zip, more members than it says": lambda: changed_count(raw.wheel_of(), 1),
    "zip, fewer members than it says": lambda: changed_count(raw.wheel_of(), 9),
    "zip, an absolute path": lambda arena: raw.wheel_of({str(arena.canary): b"dead"}),
    "zip, a NUL in a name": lambda: raw.wheel_of({"nvidia/cu13/lib/a": b"x"}).replace(
        b"nvidia/cu13/lib/a", b"nvidia/cu13/lib\0a"
    ),
    "zip, a folder with content": lambda: raw.wheel_of(
        {"nvidia/cu13/bin/ptxas": b"x", "nvidia/cu13/lib/": b"content"}
    ),
    "zip, a link that leads out": lambda: raw.zip_link("nvidia/cu13/lib/a", CANARY_UP),
    "zip, names that differ in case": lambda: raw.wheel_of(
        {"nvidia/cu13/bin/ptxas": b"x", "nvidia/cu13/BIN/ptxas": b"y"}
    ),
    "zip, of nothing but an end": lambda: b"PK\5\6" + bytes(18),
}


def changed_count(data: bytes, count: int) -> bytes:
    out = bytearray(data)
    struct.pack_into("<HH", out, out.rindex(b"PK\5\6") + 8, count, count)
    return bytes(out)


_RUNFILES = {
    "runfile, a path up": lambda: runfile(toolkit_tar(member(CANARY_UP, b"dead"))),
    "runfile, a path up below a component": lambda: runfile(
        toolkit_tar(member(f"builds/cuda_nvcc/{CANARY_UP}", b"dead"))
    ),
    "runfile, a link out": lambda: runfile(
        toolkit_tar(link("builds/cuda_nvcc/bin/x", "../" * 6 + "canary"))
    ),
    "runfile, a hard link that is out by its new place": lambda: runfile(
        toolkit_tar(hard("builds/cuda_nvcc/bin/x", "builds/nvidia_fs/x"))
    ),
    "runfile, a size of another file": lambda: runfile(toolkit_tar(), {"filesizes": "17"}),
    "runfile, sizes of several": lambda: runfile(toolkit_tar(), {"filesizes": "10 20"}),
    "runfile, a size below zero": lambda: runfile(toolkit_tar(), {"filesizes": "-1"}),
    "runfile, more lines than it has": lambda: runfile(toolkit_tar(), {"skip": "999999999999999"}),
    "runfile, no size": lambda: runfile(toolkit_tar(), {"filesizes": None}),
    "runfile, another md5": lambda: runfile(toolkit_tar(), {"MD5": "1" * 32}),
    "runfile, a label that drives a terminal": lambda: runfile(ZEROS, {"label": "\x1b[2J\x07"}),
    "runfile, a driver": lambda: runfile(toolkit_tar(), {"targetdir": "NVIDIA-Linux-x86_64-1"}),
    "runfile, a runfile in a runfile in a runfile": lambda: runfile(
        inner(runfile(inner(runfile(toolkit_tar()))))
    ),
    "runfile, a million lines": lambda: b"#!/bin/sh\n# Makeself 2.4\n" + b'skip="1"\n' * 1_000_000,
    "runfile, no version": lambda: runfile(
        member("builds/cuda_nvcc/bin/nvcc", b"x", mode=0o755) + ZEROS
    ),
    "runfile, a version.json of lists": lambda: runfile(
        member("builds/version.json", b"[" * 100_000) + ZEROS
    ),
}


def inner(content: bytes) -> bytes:
    return member("run_files/cuda-linux.12.4.run", content) + ZEROS


PACKAGES = _METADATA | _ZIP | _RUNFILES
