"""Packages, zips, compressed streams and other files that must be refused: reason → files."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable

from raw_archives import (
    INDEX,
    LIBRARY,
    WHEEL,
    ZEROS,
    changed,
    conda_zip,
    cudnn_tar,
    deep_json,
    header,
    index_member,
    link,
    member,
    paths_member,
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
from zstd_library import zstd

PACKAGES: dict[str, dict[str, Callable[[], bytes]]] = {
    "is not a path inside the archive": {
        "file list that names a folder above": lambda: tar_bz2(
            paths_member(record("../canary", b""))
        ),
        "conda, name out": lambda: conda_zip(member("../canary", b"x")),
        "zip, path out": lambda: wheel_of({"../canary": b"x", "nvidia/cu13/lib/a": b"x"}),
    },
    "unsafe in a name": {
        "zip, backslash": lambda: wheel_of({"nvidia\\cu13": b"x", "nvidia/cu13/lib/a": b"x"}),
    },
    "makes it larger": {
        "size beyond the limit": lambda: tar_bz2(header("a", b"\x80" + b"\x7f" + bytes(10))),
    },
    "wrong checksum": {
        "zip, wrong checksum": lambda: changed(zip_of(wheel_parts()), b"ptxas", b"PTXAS", nth=1),
    },
    "is cut short": {
        "xz, garbage behind": lambda: lzma.compress(cudnn_tar()) + b"garbage!",
        "xz, padding of three": lambda: lzma.compress(cudnn_tar()) + bytes(3),
        "no tar in it": lambda: gzip.compress(b"hello"),
        "conda, zstd cut": lambda: conda_zip(
            **{
                "pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": zstd.compress(
                    member(LIBRARY, b"cudart") + ZEROS
                )[:-3]
            }
        ),
        "only a magic": lambda: b"BZh9",
    },
    "data follows its end": {
        "data after the end": lambda: tar_bz2(end=ZEROS + b"x" * 512),
        "a member after the end": lambda: tar_bz2(end=ZEROS + member("a", b"x") + ZEROS),
        "bz2, half a second stream": lambda: tar_bz2() + bz2.compress(b"x" * 100)[:-3],
        "xz, a hidden second stream": lambda: (
            lzma.compress(cudnn_tar()) + bytes(4) + lzma.compress(member("cuda/a", b"x"))
        ),
    },
    "no info/index.json": {
        "no index": lambda: bz2.compress(member(LIBRARY, b"x") + ZEROS),
        "index is a link": lambda: tar_bz2(index=link("info/index.json", "other")),
    },
    "`info/index.json` is not valid JSON": {
        "index is no JSON": lambda: tar_bz2(index=member("info/index.json", b"{")),
    },
    "`info/index.json` is not a JSON object": {
        "index is a list": lambda: tar_bz2(index=member("info/index.json", b"[]")),
    },
    "lists more files than any CUDA package has": {
        "index of endless depth": lambda: tar_bz2(index=deep_json()),
    },
    "larger than metadata can be": {
        "index of 17 MiB": lambda: tar_bz2(index=member("info/index.json", b" " * (17 << 20))),
    },
    "`info/index.json` is ambiguous": {
        "index with a key twice": lambda: tar_bz2(
            index=member("info/index.json", json.dumps(INDEX).encode()[:-1] + b', "name": "x"}')
        ),
    },
    "is not a package name or build": {
        "name with a path": lambda: tar_bz2(index=index_member(name="../cuda")),
        "name with a blank": lambda: tar_bz2(index=index_member(name="cuda toolkit")),
        "hidden name": lambda: tar_bz2(index=index_member(name=".cuda")),
        "build with a path": lambda: tar_bz2(index=index_member(build="a/b")),
        "build with a newline": lambda: tar_bz2(index=index_member(build="h_0\n")),
    },
    "states no name": {
        "name that is a number": lambda: tar_bz2(index=index_member(name=3)),
    },
    "is not a version": {
        "version that is none": lambda: tar_bz2(index=index_member(version="new")),
    },
    "states no version": {
        "version missing": lambda: tar_bz2(index=index_member(version=None)),
    },
    "is for osx-64": {
        "platform that CUDA is not for": lambda: tar_bz2(index=index_member(subdir="osx-64")),
    },
    "holds neither a CUDA toolkit nor cuDNN": {
        "another package": lambda: bz2.compress(
            index_member(name="zlib") + member("lib/libz.so", b"x") + ZEROS
        ),
        "a name without end": lambda: bz2.compress(index_member(name="z" * 100_000) + ZEROS),
        "metapackage": lambda: bz2.compress(index_member(name="cuda-toolkit") + ZEROS),
        "a redist archive of nothing": lambda: gzip.compress(
            member("zlib-linux-x86_64-1.3-archive/lib/libz.so", b"x") + ZEROS
        ),
        "a program that brings its own runtime": lambda: bz2.compress(
            index_member(name="lammps", version="2023.1")
            + member("lib/libcudart.so.11.0", b"x")
            + ZEROS
        ),
        "a framework that brings its own cuDNN": lambda: bz2.compress(
            index_member(name="pytorch", version="1.1.0")
            + member("lib/python3.7/site-packages/torch/lib/libcudnn.so.7", b"x")
            + ZEROS
        ),
    },
    "lists no paths": {
        "file list is no list": lambda: tar_bz2(member("info/paths.json", b'{"paths": 3}')),
    },
    "is broken where it lists": {
        "file list with an unknown type": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart", path_type="junction"))
        ),
        "file list with a strange type": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart", path_type=["hardlink"]))
        ),
        "file list with a placeholder that is none": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart", prefix_placeholder=3))
        ),
    },
    "in its file list but not in the package": {
        "file missing": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart"), record("lib/more", b"x"))
        ),
        "older list, file missing": lambda: tar_bz2(
            member("info/files", f"{LIBRARY}\nlib/more\n".encode())
        ),
    },
    "is not in its file list": {
        "file too many": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart")), member("lib/more", b"x")
        ),
        "file too many, listed late": lambda: tar_bz2(
            member("lib/more", b"x"), paths_member(record(LIBRARY, b"cudart"))
        ),
        "link too many": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart")), link("lib/more", "libcudart.so.10.1.243")
        ),
    },
    "that its file list states": {
        "file with other content": lambda: tar_bz2(paths_member(record(LIBRARY, b"cudarT"))),
        "file of another size": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart", size_in_bytes=7))
        ),
        "conda, not what the list says": lambda: conda_zip(
            info=paths_member(record(LIBRARY, b"x"))
        ),
    },
    "its file list says": {
        "file that should be a link": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart", path_type="softlink"))
        ),
    },
    "twice": {
        "listed twice": lambda: tar_bz2(
            paths_member(record(LIBRARY, b"cudart"), record(LIBRARY, b"cudart"))
        ),
        "wheel, two names": lambda: wheel_of(
            METADATA=b"Name: nvidia-cuda-nvcc\nName: x\nVersion: 13.0.88\n"
        ),
    },
    "which is not one of its files": {
        "prefix in a missing file": lambda: tar_bz2(member("info/has_prefix", b"lib/more\n")),
    },
    "an invalid line": {
        "prefix line of two words": lambda: tar_bz2(
            member("info/has_prefix", f"text {LIBRARY}\n".encode())
        ),
        "prefix line with an open quote": lambda: tar_bz2(member("info/has_prefix", b'"lib/a\n')),
    },
    "data is broken": {
        "bz2, garbage behind": lambda: tar_bz2() + b"garbage",
        "bz2, zeros behind": lambda: tar_bz2() + ZEROS,
        "gzip, garbage behind": lambda: gzip.compress(cudnn_tar()) + b"garbage",
        "gzip, wrong checksum": lambda: gzip.compress(cudnn_tar())[:-8] + bytes(8),
        "conda, broken zstd": lambda: conda_zip(
            **{"pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": b"nonsense"}
        ),
    },
    "no checksum": {
        "xz, without checksum": lambda: xz_without_check(cudnn_tar()),
    },
    "outside its top-level folder": {
        "cudnn, two top folders": lambda: gzip.compress(cudnn_tar(member("other/a", b"x"))),
    },
    "does not state its platform": {
        "cudnn, no version": lambda: gzip.compress(member("cuda/lib64/libcudnn.so", b"x") + ZEROS),
    },
    "lacks a top-level folder such as": {
        "unknown top folder": lambda: gzip.compress(member("project-1.0/a", b"x") + ZEROS),
        "no top folder": lambda: gzip.compress(member("a", b"x") + ZEROS),
    },
    "is for linux-ppc64le": {
        "a redist archive for ppc64le": lambda: gzip.compress(
            member("cuda_nvcc-linux-ppc64le-12.4.131-archive/bin/nvcc", b"x") + ZEROS
        ),
    },
    "members that a .conda": {
        "conda, a member too many": lambda: conda_zip(extra=b"x"),
    },
    "format that cudaswitch does not know": {
        "conda, format 3": lambda: conda_zip(
            **{"metadata.json": b'{"conda_pkg_format_version": 3}'}
        ),
        "conda, no format": lambda: conda_zip(**{"metadata.json": b"{}"}),
    },
    "in the wrong part": {
        "conda, info in the other part": lambda: conda_zip(
            member(LIBRARY, b"cudart") + member("info/a", b"x")
        ),
        "conda, files in info": lambda: conda_zip(info=member("lib/a", b"x")),
    },
    "is not where it says": {
        "zip, data before": lambda: b"PK\3\4" + conda_zip(),
    },
    "data follows its zip": {
        "zip, data behind": lambda: wheel_of() + b"x",
    },
    "there is data between": {
        "zip, data between": lambda: with_gap(wheel_of()),
    },
    "disagrees with the zip directory": {
        "zip, two names for one member": lambda: changed(wheel_of(), b"ptxas", b"ptxaz"),
    },
    "is encrypted": {
        "zip, encrypted": lambda: with_flag(wheel_of(), 1),
    },
    "two members of the same name": {
        "zip, the same name twice": zip_twice,
    },
    "no zip directory": {
        "zip, directory cut": lambda: wheel_of()[:-30],
    },
    "holds nothing": {
        "zip, holds nothing": lambda: zip_of({}),
    },
    "several volumes": {
        "zip, several volumes": lambda: with_volume(wheel_of()),
    },
    "a wheel cannot hold": {
        "wheel, a link": lambda: zip_link("nvidia/cu13/lib64", "lib"),
    },
    "it has no `": {
        "wheel, no RECORD": lambda: zip_of(
            {k: v for k, v in wheel_parts().items() if not k.endswith("RECORD")}
        ),
        "wheel, RECORD of nothing": lambda: wheel_of(record=b""),
    },
    "states no sha256": {
        "wheel, RECORD without hash": lambda: wheel_of(
            record=wheel_parts()[f"{WHEEL}/RECORD"].replace(b",sha256", b",md5")
        ),
    },
    "RECORD states": {
        "wheel, RECORD with another hash": lambda: wheel_of(
            record=wheel_parts({"nvidia/cu13/bin/ptxas": b"ptxaS"})[f"{WHEEL}/RECORD"]
        ),
    },
    "is not in its RECORD": {
        "wheel, a file too many": lambda: wheel_of(
            {"nvidia/cu13/bin/ptxas": b"ptxas", "nvidia/cu13/bin/more": b"x"},
            record=wheel_parts()[f"{WHEEL}/RECORD"],
        ),
    },
    "in its RECORD but not": {
        "wheel, RECORD with a file too many": lambda: wheel_of(
            record=wheel_parts()[f"{WHEEL}/RECORD"] + f"a,{wheel_hash(b'')},0\n".encode()
        ),
    },
    "RECORD cannot be read": {
        "wheel, RECORD with an open quote": lambda: wheel_of(record=b'"a'),
    },
    "name different packages": {
        "wheel, METADATA of another": lambda: wheel_of(
            METADATA=b"Name: nvidia-nvvm\nVersion: 13.0.88\n"
        ),
    },
    "states no platform": {
        "wheel, no platform": lambda: wheel_of(WHEEL=b"Wheel-Version: 1.0\n"),
    },
    "more than one dist-info": {
        "wheel, two dist-info folders": lambda: wheel_of(
            {"nvidia/cu13/bin/a": b"x", "other-1.0.dist-info/METADATA": b"Name: other\n"}
        ),
    },
    "no files of CUDA": {
        "wheel, no CUDA folder": lambda: wheel_of({"nvidia/cu13/readme": b"x"}),
    },
    "more than one CUDA folder": {
        "wheel, two CUDA folders": lambda: wheel_of(
            {"nvidia/a/lib/x": b"x", "nvidia/b/lib/x": b"x"}
        ),
    },
    "is a web page": {
        "web page": lambda: b"<!DOCTYPE html><title>Sign in</title>",
        "web page after a newline": lambda: b"\n\n<html></html>",
    },
    "is a JSON file": {
        "JSON": lambda: b'{"message": "Not Found"}',
    },
    "not a kind of archive": {
        "text": lambda: b"hello\n",
        "one byte": lambda: b"B",
    },
    "is a Debian package": {
        "Debian package": lambda: b"!<arch>\ndebian-binary   1700000000  0     0     100644  4",
    },
    "is a script, but not one of NVIDIA's runfiles": {
        "script": lambda: b"#!/bin/sh\n# Makeself\n",
    },
    "is a program": {
        "program": lambda: b"\x7fELF" + bytes(60),
    },
    "is empty": {
        "nothing": lambda: b"",
    },
}
