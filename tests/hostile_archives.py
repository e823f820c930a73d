"""A table of archives that must be refused: a name, and a function that returns the bytes.

Each differs in one thing from a good archive of raw_archives. Paths that lead out aim at a
`canary` beside the folder that is unpacked into.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable

from backports import zstd

from raw_archives import (
    INDEX,
    LIBRARY,
    WHEEL,
    ZEROS,
    changed,
    conda_zip,
    cudnn_tar,
    deep_json,
    folder,
    gnu_long,
    hard,
    header,
    index_member,
    link,
    member,
    paths_member,
    pax,
    record,
    tar_bz2,
    wheel_hash,
    wheel_of,
    wheel_parts,
    with_flag,
    with_gap,
    with_volume,
    xz_without_check,
    zip_link,
    zip_of,
    zip_twice,
)

TAR: dict[str, Callable[[], bytes]] = {
    "absolute name": lambda: tar_bz2(member("/tmp/x", b"x")),
    "parent in the name": lambda: tar_bz2(member("../canary", b"x")),
    "parent deep in the name": lambda: tar_bz2(member("a/../../canary", b"x")),
    "only a parent": lambda: tar_bz2(folder("..")),
    "two slashes": lambda: tar_bz2(member("a//b", b"x")),
    "dot in the middle": lambda: tar_bz2(member("a/./b", b"x")),
    "dot as a file": lambda: tar_bz2(member(".", b"x")),
    "no name": lambda: tar_bz2(member("", b"x")),
    "backslash": lambda: tar_bz2(member("..\\canary", b"x")),
    "newline in a name": lambda: tar_bz2(member("a\nb", b"x")),
    "escape in a name": lambda: tar_bz2(member("\x1b[2Ja", b"x")),
    "right-to-left override": lambda: tar_bz2(member("a\u202eb", b"x")),
    "not UTF-8": lambda: tar_bz2(member(b"caf\xe9", b"x")),
    "61 folders deep": lambda: tar_bz2(gnu_long("a/" * 60 + "x"), member("a", b"x")),
    "1025 bytes long": lambda: tar_bz2(gnu_long("a/" * 20 + "b" * 985), member("a", b"x")),
    "the same file twice": lambda: tar_bz2(member("a", b"x"), member("a", b"x")),
    "file, then folder": lambda: tar_bz2(member("a", b"x"), folder("a/")),
    "folder, then file": lambda: tar_bz2(folder("a/"), member("a", b"x")),
    "through a file": lambda: tar_bz2(member("a", b"x"), member("a/b", b"x")),
    "through a link": lambda: tar_bz2(link("a", "lib"), member("a/b", b"x")),
    "through a link that leads out": lambda: tar_bz2(link("a", ".."), member("a/canary", b"x")),
    "link, then file": lambda: tar_bz2(link("a", "../canary"), member("a", b"x")),
    "file, then link": lambda: tar_bz2(member("a", b"x"), link("a", "lib")),
    "link with two targets": lambda: tar_bz2(link("a", "lib"), link("a", "bin")),
    "link to an absolute path": lambda: tar_bz2(link("a", "/etc/passwd")),
    "link out": lambda: tar_bz2(link("a", "../canary")),
    "link out, deep": lambda: tar_bz2(link("a/b", "c/../../../canary")),
    "link back through a link": lambda: tar_bz2(
        folder("d/e"), link("in", "d/e"), link("out", "in/../../../canary")
    ),
    "link back through what is missing": lambda: tar_bz2(link("a", "missing/../../canary")),
    "link to nothing": lambda: tar_bz2(link("a", "")),
    "link with a newline": lambda: tar_bz2(link("a", "b\nc")),
    "link in info that leaves it": lambda: tar_bz2(link("info/a", "../lib")),
    "info is a link": lambda: tar_bz2(link("info", "lib"), index=b""),
    "info is a file": lambda: tar_bz2(member("info", b"x"), index=b""),
    "hard link out": lambda: tar_bz2(hard("a", "../canary")),
    "hard link to an absolute path": lambda: tar_bz2(hard("a", "/etc/passwd")),
    "hard link to a later file": lambda: tar_bz2(hard("a", "b"), member("b", b"x")),
    "hard link to a link": lambda: tar_bz2(link("b", "lib"), hard("a", "b")),
    "hard link to a folder": lambda: tar_bz2(hard("a", "lib")),
    "hard link to itself": lambda: tar_bz2(hard("a", "a")),
    "hard link over a file": lambda: tar_bz2(member("a", b"x"), hard("a", LIBRARY)),
    "hard link with content": lambda: tar_bz2(member("a", b"x", kind=b"1", target=LIBRARY)),
    "link with content": lambda: tar_bz2(member("a", b"x", kind=b"2", target="lib")),
    "folder with content": lambda: tar_bz2(member("a/", b"x", kind=b"5")),
    "character device": lambda: tar_bz2(member("a", kind=b"3")),
    "block device": lambda: tar_bz2(member("a", kind=b"4")),
    "fifo": lambda: tar_bz2(member("a", kind=b"6")),
    "contiguous file": lambda: tar_bz2(member("a", b"x", kind=b"7")),
    "GNU sparse file": lambda: tar_bz2(member("a", b"x", kind=b"S", magic=b"ustar  \0")),
    "PAX sparse file": lambda: tar_bz2(pax({"GNU.sparse.major": "1"}), member("a", b"x")),
    "PAX size that disagrees": lambda: tar_bz2(pax({"size": "512"}), member("a", b"x")),
    "PAX size that is no number": lambda: tar_bz2(pax({"size": "-1"}), member("a", b"x")),
    "PAX size beyond all": lambda: tar_bz2(pax({"size": "9" * 20}), header("a")),
    "PAX path out": lambda: tar_bz2(pax({"path": "../canary"}), member("a", b"x")),
    "PAX link out": lambda: tar_bz2(pax({"linkpath": "../canary"}), link("a", "b")),
    "PAX of another charset": lambda: tar_bz2(pax({"hdrcharset": "BINARY"}), member("a")),
    "PAX path with NUL": lambda: tar_bz2(pax({"path": "a\0b"}), member("a", b"x")),
    "PAX record too long": lambda: tar_bz2(pax(b"99 path=a\n"), member("a", b"x")),
    "PAX record without length": lambda: tar_bz2(pax(b"path=a\n"), member("a", b"x")),
    "PAX path twice": lambda: tar_bz2(
        pax(b"8 path=a\n8 path=b\n".replace(b"8", b"9")), member("a")
    ),
    "global PAX path": lambda: tar_bz2(pax({"path": "a"}, b"g"), member("b", b"x")),
    "PAX and GNU name one member": lambda: tar_bz2(gnu_long("a"), pax({"path": "b"}), member("c")),
    "PAX for nothing": lambda: tar_bz2(pax({"path": "a"})),
    "long name of a mebibyte": lambda: tar_bz2(gnu_long("a" * (1 << 20)), member("c")),
    "PAX header of many MiB": lambda: tar_bz2(pax(bytes(2 << 20)), member("c")),
    "wrong header checksum": lambda: tar_bz2(member("a", b"x", checksum=1), member("b", b"x")),
    "header of garbage": lambda: tar_bz2(b"\xff" * 512, member("b", b"x")),
    "negative size": lambda: tar_bz2(header("a", b"\xff" * 12)),
    "size that is no number": lambda: tar_bz2(header("a", b"12x45678901\0")),
    "size beyond the limit": lambda: tar_bz2(header("a", b"\x80" + b"\x7f" + bytes(10))),
    "one zero block": lambda: tar_bz2(end=bytes(512)),
    "one zero block, then more": lambda: tar_bz2(bytes(512), member("a", b"x")),
    "no end": lambda: tar_bz2(end=b""),
    "half a block at the end": lambda: tar_bz2(end=bytes(1023)),
    "data after the end": lambda: tar_bz2(end=ZEROS + b"x" * 512),
    "a member after the end": lambda: tar_bz2(end=ZEROS + member("a", b"x") + ZEROS),
    "cut in a file": lambda: tar_bz2(header("a", 4096), b"x" * 512, end=b""),
    "names that differ in case": lambda: tar_bz2(member("a", b"x"), member("A", b"x")),
    "folders that differ in case": lambda: tar_bz2(member("d/a", b"x"), member("D/b", b"x")),
    "names that differ in composition": lambda: tar_bz2(
        member("caf\u00e9", b"x"), member("cafe\u0301", b"x")
    ),
}

CONDA: dict[str, Callable[[], bytes]] = {
    "no index": lambda: bz2.compress(member(LIBRARY, b"x") + ZEROS),
    "index is no JSON": lambda: tar_bz2(index=member("info/index.json", b"{")),
    "index is a list": lambda: tar_bz2(index=member("info/index.json", b"[]")),
    "index of endless depth": lambda: tar_bz2(index=deep_json()),
    "index is a link": lambda: tar_bz2(index=link("info/index.json", "other")),
    "index of 17 MiB": lambda: tar_bz2(index=member("info/index.json", b" " * (17 << 20))),
    "index with a key twice": lambda: tar_bz2(
        index=member("info/index.json", json.dumps(INDEX).encode()[:-1] + b', "name": "x"}')
    ),
    "name with a path": lambda: tar_bz2(index=index_member(name="../canary")),
    "name with a blank": lambda: tar_bz2(index=index_member(name="cuda toolkit")),
    "name that is a number": lambda: tar_bz2(index=index_member(name=3)),
    "hidden name": lambda: tar_bz2(index=index_member(name=".cuda")),
    "build with a path": lambda: tar_bz2(index=index_member(build="a/b")),
    "build with a newline": lambda: tar_bz2(index=index_member(build="h_0\n")),
    "version that is none": lambda: tar_bz2(index=index_member(version="new")),
    "version missing": lambda: tar_bz2(index=index_member(version=None)),
    "platform that CUDA is not for": lambda: tar_bz2(index=index_member(subdir="osx-64")),
    "another package": lambda: bz2.compress(
        index_member(name="zlib") + member("lib/libz.so", b"x") + ZEROS
    ),
    "metapackage": lambda: bz2.compress(index_member(name="cuda-toolkit") + ZEROS),
    "file list is no list": lambda: tar_bz2(member("info/paths.json", b'{"paths": 3}')),
    "file list that names a folder above": lambda: tar_bz2(paths_member(record("../canary", b""))),
    "file list with a strange type": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart", path_type=["hardlink"]))
    ),
    "file list with a placeholder that is none": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart", prefix_placeholder=3))
    ),
    "file missing": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart"), record("lib/more", b"x"))
    ),
    "file too many": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart")), member("lib/more", b"x")
    ),
    "file too many, listed late": lambda: tar_bz2(
        member("lib/more", b"x"), paths_member(record(LIBRARY, b"cudart"))
    ),
    "link too many": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart")), link("lib/more", "libcudart.so.10.1.243")
    ),
    "file with other content": lambda: tar_bz2(paths_member(record(LIBRARY, b"cudarT"))),
    "file of another size": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart", size_in_bytes=7))
    ),
    "file that should be a link": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart", path_type="softlink"))
    ),
    "listed twice": lambda: tar_bz2(
        paths_member(record(LIBRARY, b"cudart"), record(LIBRARY, b"cudart"))
    ),
    "older list, file missing": lambda: tar_bz2(
        member("info/files", f"{LIBRARY}\nlib/more\n".encode())
    ),
    "prefix in a missing file": lambda: tar_bz2(member("info/has_prefix", b"lib/more\n")),
    "prefix line of two words": lambda: tar_bz2(
        member("info/has_prefix", f"text {LIBRARY}\n".encode())
    ),
    "prefix line with an open quote": lambda: tar_bz2(member("info/has_prefix", b'"lib/a\n')),
}

PACKED: dict[str, Callable[[], bytes]] = {
    "bz2, garbage behind": lambda: tar_bz2() + b"garbage",
    "bz2, zeros behind": lambda: tar_bz2() + ZEROS,
    "bz2, half a second stream": lambda: tar_bz2() + bz2.compress(b"x" * 100)[:-3],
    "gzip, garbage behind": lambda: gzip.compress(cudnn_tar()) + b"garbage",
    "gzip, wrong checksum": lambda: gzip.compress(cudnn_tar())[:-8] + bytes(8),
    "xz, garbage behind": lambda: lzma.compress(cudnn_tar()) + b"garbage!",
    "xz, padding of three": lambda: lzma.compress(cudnn_tar()) + bytes(3),
    "xz, without checksum": lambda: xz_without_check(cudnn_tar()),
    "xz, a hidden second stream": lambda: (
        lzma.compress(cudnn_tar()) + bytes(4) + lzma.compress(member("cuda/a", b"x"))
    ),
    "cudnn, two top folders": lambda: gzip.compress(cudnn_tar(member("other/a", b"x"))),
    "cudnn, no version": lambda: gzip.compress(member("cuda/lib64/libcudnn.so", b"x") + ZEROS),
    "unknown top folder": lambda: gzip.compress(member("project-1.0/a", b"x") + ZEROS),
    "no top folder": lambda: gzip.compress(member("a", b"x") + ZEROS),
    "no tar in it": lambda: gzip.compress(b"hello"),
    "a redist archive of nothing": lambda: gzip.compress(
        member("zlib-linux-x86_64-1.3-archive/lib/libz.so", b"x") + ZEROS
    ),
    "a redist archive for ppc64le": lambda: gzip.compress(
        member("cuda_nvcc-linux-ppc64le-12.4.131-archive/bin/nvcc", b"x") + ZEROS
    ),
    "conda, a member too many": lambda: conda_zip(extra=b"x"),
    "conda, format 3": lambda: conda_zip(**{"metadata.json": b'{"conda_pkg_format_version": 3}'}),
    "conda, no format": lambda: conda_zip(**{"metadata.json": b"{}"}),
    "conda, info in the other part": lambda: conda_zip(
        member(LIBRARY, b"cudart") + member("info/a", b"x")
    ),
    "conda, files in info": lambda: conda_zip(info=member("lib/a", b"x")),
    "conda, not what the list says": lambda: conda_zip(info=paths_member(record(LIBRARY, b"x"))),
    "conda, name out": lambda: conda_zip(member("../canary", b"x")),
    "conda, broken zstd": lambda: conda_zip(
        **{"pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": b"nonsense"}
    ),
    "conda, zstd cut": lambda: conda_zip(
        **{
            "pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": zstd.compress(
                member(LIBRARY, b"cudart") + ZEROS
            )[:-3]
        }
    ),
    "zip, data before": lambda: b"PK\3\4" + conda_zip(),
    "zip, data behind": lambda: wheel_of() + b"x",
    "zip, data between": lambda: with_gap(wheel_of()),
    "zip, two names for one member": lambda: changed(wheel_of(), b"ptxas", b"ptxaz"),
    "zip, wrong checksum": lambda: changed(zip_of(wheel_parts()), b"ptxas", b"PTXAS", nth=1),
    "zip, encrypted": lambda: with_flag(wheel_of(), 1),
    "zip, the same name twice": zip_twice,
    "zip, directory cut": lambda: wheel_of()[:-30],
    "zip, path out": lambda: wheel_of({"../canary": b"x", "nvidia/cu13/lib/a": b"x"}),
    "zip, backslash": lambda: wheel_of({"nvidia\\cu13": b"x", "nvidia/cu13/lib/a": b"x"}),
    "zip, holds nothing": lambda: zip_of({}),
    "zip, several volumes": lambda: with_volume(wheel_of()),
    "wheel, a link": lambda: zip_link("nvidia/cu13/lib64", "lib"),
    "wheel, no RECORD": lambda: zip_of(
        {k: v for k, v in wheel_parts().items() if not k.endswith("RECORD")}
    ),
    "wheel, RECORD of nothing": lambda: wheel_of(record=b""),
    "wheel, RECORD without hash": lambda: wheel_of(
        record=wheel_parts()[f"{WHEEL}/RECORD"].replace(b",sha256", b",md5")
    ),
    "wheel, RECORD with another hash": lambda: wheel_of(
        record=wheel_parts({"nvidia/cu13/bin/ptxas": b"ptxaS"})[f"{WHEEL}/RECORD"]
    ),
    "wheel, RECORD with a file too many": lambda: wheel_of(
        record=wheel_parts()[f"{WHEEL}/RECORD"] + f"a,{wheel_hash(b'')},0\n".encode()
    ),
    "wheel, RECORD with an open quote": lambda: wheel_of(record=b'"a'),
    "wheel, METADATA of another": lambda: wheel_of(
        METADATA=b"Name: nvidia-nvvm\nVersion: 13.0.88\n"
    ),
    "wheel, two names": lambda: wheel_of(
        METADATA=b"Name: nvidia-cuda-nvcc\nName: x\nVersion: 13.0.88\n"
    ),
    "wheel, no platform": lambda: wheel_of(WHEEL=b"Wheel-Version: 1.0\n"),
    "wheel, two dist-info folders": lambda: wheel_of(
        {"nvidia/cu13/bin/a": b"x", "other-1.0.dist-info/METADATA": b"Name: other\n"}
    ),
    "wheel, no CUDA folder": lambda: wheel_of({"nvidia/cu13/readme": b"x"}),
    "wheel, two CUDA folders": lambda: wheel_of({"nvidia/a/lib/x": b"x", "nvidia/b/lib/x": b"x"}),
    "web page": lambda: b"<!DOCTYPE html><title>Sign in</title>",
    "web page after a newline": lambda: b"\n\n<html></html>",
    "JSON": lambda: b'{"message": "Not Found"}',
    "text": lambda: b"hello\n",
    "runfile": lambda: b"#!/bin/sh\n# Makeself\n",
    "program": lambda: b"\x7fELF" + bytes(60),
    "one byte": lambda: b"B",
    "only a magic": lambda: b"BZh9",
    "nothing": lambda: b"",
}

HOSTILE = TAR | CONDA | PACKED
