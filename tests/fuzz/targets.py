"""Every parser of what others have written, with good inputs to start from.

A target takes bytes. What it may raise besides CudaswitchError is in its row: readers inside one
of our packages have errors of their own, which their callers turn into one line.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

import raw_archives as raw
from abuse.texts import GOOD_LOCK
from builders.binaries import pe_bytes
from cudaswitch import elf, pe
from cudaswitch.archives import unpacking
from cudaswitch.archives.faults import FaultError
from cudaswitch.archives.makeself import read_header
from cudaswitch.archives.streams import Source, decoded
from cudaswitch.bundled import bundles_cuda
from cudaswitch.contents import read_contents
from cudaswitch.detect.facts import facts_of
from cudaswitch.detect.reading import Reading
from cudaswitch.doctor.messages import messages
from cudaswitch.doctor.scripts import exit_in, settings_of
from cudaswitch.download.access import ANYBODY
from cudaswitch.download.failures import _retry_after, http_date
from cudaswitch.download.parts import Part, read_record
from cudaswitch.download.urls import file_name, redact
from cudaswitch.environments import environment_at, read_request
from cudaswitch.errors import CudaswitchError
from cudaswitch.loader.cache import parse_cache
from cudaswitch.lockfile import parse_lock
from cudaswitch.resolver import resolve
from cudaswitch.settings import asked, forget
from cudaswitch.sources.condarc import read_condarc
from cudaswitch.sources.pypi import parse_pins
from cudaswitch.sources.redist import FOLDERS, read_index
from cudaswitch.sources.repodata import read_records
from cudaswitch.sources.shards import read_shards
from cudaswitch.sources.system import version_of
from cudaswitch.store import read_package, read_toolkit
from cudaswitch.versions import Version, parse_request
from zstd_library import zstd

SECONDS = 2.0
"""Processor time that an input may take."""


XZ_IN_BLOCKS = base64.b64decode(
    "/Td6WFoAAAFpIt42AsAUECEBFgArh2kWAQAPc29tZSB0ZXh0LCBhbmQgcwAueHFFAsASDiEBFgDVTeAfAQANb21l"
    "IG1vcmUgb2YgaXQAAACzNuE9AAIkECIOAABdVMUOPjANiwIAAAAAAVla"
)
"""Two blocks of 16 bytes, as `xz -T2 --block-size=16` writes them."""


class Target(NamedTuple):
    """A parser, inputs that it accepts, and what it may raise besides CudaswitchError."""

    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    raises: tuple[type[Exception], ...] = ()


_WORK = Path(tempfile.mkdtemp(prefix="fuzz-"))


def in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a parser that gets the bytes in a file of that name."""
    path = _WORK / name
    path.parent.mkdir(parents=True, exist_ok=True)

    def parse(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return parse


def text(
    read: Callable[[str], object], errors: str = "surrogateescape"
) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", errors))


def unpacked(make: Callable[[bytes], bytes]) -> Callable[[bytes], object]:
    """Return a parser of archives; `make` puts the bytes into one."""

    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory(dir=_WORK) as folder:
            path, tree, info = (Path(folder, name) for name in ("package", "tree", "info"))
            path.write_bytes(make(data))
            tree.mkdir()
            info.mkdir()
            return unpacking.unpack(path, tree, info)

    return parse


def _headers(text: str) -> None:
    _retry_after(text, datetime.now(timezone.utc))
    http_date(text)
    file_name(f"https://h/{text}")


def _redacted(text: str) -> None:
    hidden = redact(f"see https://user:SECRET{text}@host/x and https://h/t/SECRET/x?SECRET")
    assert "/t/SECRET" not in hidden
    assert "?SECRET" not in hidden


def _messages(text: str) -> None:
    for message in messages():
        message.pattern.search(text[:2000])


def _xz(data: bytes) -> None:
    for _ in decoded(iter([data]), "xz"):
        """All of it."""


def _shards(path: Path) -> None:
    path.write_bytes(zstd.compress(path.read_bytes()))
    with Source(path) as source:
        found = read_shards(source, url="https://h/x", offline=True, access=ANYBODY)
        assert not list(found)


def _index(data: bytes) -> None:
    index = read_index(data, "cuda", Version("12.4.1"), "https://h/cuda/redist/x.json")
    for name in index.components:
        for platform in FOLDERS:
            if index.has(name, platform, 12):
                index.offer(name, platform, 12)


def _settings(path: Path) -> None:
    os.environ["CUDASWITCH_CONFIG"] = str(path)
    forget()
    asked("stores")


def _environment(site: str) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        prefix = path.parents[site.count("/")]
        (prefix / "conda-meta").mkdir(exist_ok=True)
        bundles_cuda(prefix)
        return resolve(facts_of(prefix, driver="610.43.02", cc="9.0", gcc="12"), [])

    return read


def _elf(data: bytes) -> None:
    elf.parse(lambda offset, size: data[offset : offset + size], "lib.so")


def _pe(data: bytes) -> None:
    pe.parse(lambda offset, size: data[offset : offset + size], "lib.dll")


def _library_with_imports() -> bytes:
    """Return a DLL whose second data directory points to a table placed after its exports."""
    made = bytearray(pe_bytes("a.dll", {"f": 1}))
    first, table = 0x1000, 256
    struct.pack_into("<I", made, 64 + 24 + 120, first + table)
    struct.pack_into("<I", made, 64 + 24 + 240 + 8, 512)
    struct.pack_into("<12xII", made, 512 + table, first + table + 60, first)
    made[512 + table + 60 : 512 + table + 66] = b"b.dll\0"
    return bytes(made)


def _toolkit(path: Path) -> object:
    (path.parent / "lib64").mkdir(exist_ok=True)
    (path.parent / "lib64/libcudart.so").touch()
    return version_of(path.parent)


_SITE = "lib/python3.8/site-packages"
_RECORD = {"name": "cudatoolkit", "version": "10.2.89", "build": "h_0", "depends": ["a >=1,<2"]}
_KIT = {
    "name": "10.1.243", "version": "10.1.243", "cudnn": None, "path": "/x", "source": "conda",
    "platform": "linux-64", "packages": ["a"],
}  # fmt: skip
_PACKAGE = {
    **dict.fromkeys(("name", "build", "component", "form", "root", "origin", "sha256"), "x"),
    **{"version": "1.2", "platform": "linux-64", "cuda": None, "source": "file", "size": 1},
    **{"date": "2024-01-01", "files": [{"path": "a", "size": 1, "sha256": "0" * 64}]},
}
_REDIST = {
    "cuda_nvcc": {
        "name": "x", "license": "CUDA", "version": "12.4.131",
        "linux-x86_64": {"relative_path": "a/b.tar.xz", "sha256": "0" * 64, "size": "12"},
    },
}  # fmt: skip
_SCRIPT = b'#!/bin/sh\n# Makeself 2.4.5\nlabel="CUDA"\nfilesizes="9"\nMD5="0"\nskip="6"\n\x1f\x8b'


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


TARGETS: dict[str, Target] = {
    "tar": Target(
        unpacked(raw.tar_bz2),
        (raw.member("a", b"x"), raw.pax({"path": "b"}) + raw.link("x", "lib"), raw.hard("a", "b")),
    ),
    "paths.json": Target(
        unpacked(lambda data: raw.tar_bz2(raw.member("info/paths.json", data))),
        (_json({"paths": [raw.record(raw.LIBRARY, b"cudart")], "paths_version": 1}),),
    ),
    "index.json": Target(
        unpacked(lambda data: raw.tar_bz2(index=raw.member("info/index.json", data))),
        (_json(raw.INDEX),),
    ),
    "has_prefix": Target(
        unpacked(lambda data: raw.tar_bz2(raw.member("info/has_prefix", data))),
        (f'"/opt/x" binary "{raw.LIBRARY}"\n'.encode(), raw.LIBRARY.encode()),
    ),
    "RECORD": Target(
        unpacked(lambda data: raw.wheel_of(record=data)),
        (raw.wheel_parts()[f"{raw.WHEEL}/RECORD"],),
    ),
    "METADATA of a wheel": Target(
        unpacked(lambda data: raw.wheel_of(METADATA=data)),
        (b"Name: nvidia-cuda-nvcc\nVersion: 13.0.88\n",),
    ),
    "WHEEL": Target(
        unpacked(lambda data: raw.wheel_of(WHEEL=data)),
        (b"Wheel-Version: 1.0\nTag: py3-none-manylinux2014_x86_64\n",),
    ),
    "zip": Target(unpacked(lambda data: data), (raw.wheel_of(), raw.conda_zip())),
    "compressed tar": Target(
        unpacked(lambda data: data), (raw.tar_bz2(), raw.gzip_of(raw.cudnn_tar()))
    ),
    "runfile": Target(lambda data: read_header(data, len(data)), (_SCRIPT,), (FaultError,)),
    "repodata": Target(
        lambda data: list(read_records(iter([data[:9], data[9:]]))),
        (_json({"info": {}, "packages": {"cudatoolkit-10.2.89-h_0.tar.bz2": _RECORD}}),),
        (ValueError, RecursionError),
    ),
    "redist": Target(_index, (_json(_REDIST),)),
    "METADATA of cuda-toolkit": Target(
        text(lambda said: parse_pins(said, "minimal", "linux-64", "13.0"), "replace"),
        (
            b"Provides-Extra: nvcc\nRequires-Dist: nvidia-cuda-nvcc==13.0.*; extra == 'nvcc'\n"
            b"Provides-Extra: cudart\nProvides-Extra: crt\nProvides-Extra: nvvm\n",
        ),
    ),
    "version file": Target(
        in_file(".cuda-version", read_request), (b"cuda 10.1\ncudnn 7.6 # x\n", b">=11.2,<12\n")
    ),
    "request": Target(text(parse_request), (b"10.1.243+cudnn7.6.5", b">=11.2,<12", b"latest")),
    "lock": Target(lambda data: parse_lock(data, Path("cuda.lock")), (GOOD_LOCK.encode(),)),
    "config": Target(
        in_file("config.toml", _settings), (b'stores = ["/a"]\n[mirrors]\nconda = ""\n',)
    ),
    "condarc": Target(
        in_file("condarc", lambda path: read_condarc({"HOME": "/nowhere", "CONDARC": str(path)})),
        (b"channels:\n - a\nssl_verify: no\nproxy_servers: {http: x}\ncustom_channels: {a: b}\n",),
    ),
    "condarc, a variable": Target(
        text(lambda said: read_condarc({"HOME": "/nowhere", "CONDA_SSL_VERIFY": said})),
        (b"false", b"/etc/ca.pem", b"!!int ''", b"2001-99-99", b"!!timestamp x"),
    ),
    "version.py": Target(
        in_file(f"torch/{_SITE}/torch/version.py", _environment(f"{_SITE}/torch/version.py")),
        (b"__version__ = '2.4.0'\ncuda: str = '12.4'\n",),
    ),
    "METADATA": Target(
        in_file(
            f"meta/{_SITE}/torch-2.4.0.dist-info/METADATA",
            _environment(f"{_SITE}/torch-2.4.0.dist-info/METADATA"),
        ),
        (b"Name: torch\nVersion: 2.4.0\nRequires-Dist: nvidia-cudnn-cu12 (==9.1.0.70)\n",),
    ),
    "build_info": Target(
        in_file(
            f"tf/{_SITE}/tensorflow/python/platform/build_info.py",
            _environment(f"{_SITE}/tensorflow/python/platform/build_info.py"),
        ),
        (b"build_info = collections.OrderedDict([('cuda_version', '11.2')])\n",),
    ),
    "conda-meta": Target(
        in_file(
            "conda/conda-meta/pytorch-2.4.0-py3.11_cuda12.4_0.json",
            _environment("conda-meta/pytorch-2.4.0-py3.11_cuda12.4_0.json"),
        ),
        (_json({"depends": ["pytorch-cuda >=12.4,<12.5"], "build": "cuda"}),),
    ),
    "pyvenv.cfg": Target(
        in_file("venv/pyvenv.cfg", lambda path: facts_of(Path(environment_at(path.parent).prefix))),
        (b"home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.2\n",),
    ),
    "Python values": Target(
        in_file("x.py", lambda path: Reading(_WORK).python_values(path)),
        (b"a = {'b': [1, -2j]}", b"a = " + b"9" * 400 + b" - 2j"),
    ),
    "JSON values": Target(
        in_file("x.json", lambda path: Reading(_WORK).json_values(path)), (b'{"a": {"b": 1}}',)
    ),
    "headers": Target(in_file("x", lambda path: Reading(_WORK).metadata(path)), (b"A: b\n c\n",)),
    "record of a toolkit": Target(
        in_file("10.1.243/cudaswitch.json", lambda path: read_toolkit(path.parent)), (_json(_KIT),)
    ),
    "record of a package": Target(
        in_file("x-1.2-x-linux-64/cudaswitch.json", lambda path: read_package(path.parent)),
        (_json(_PACKAGE),),
    ),
    "list of a toolkit": Target(
        in_file("kit/cudaswitch-files.json", lambda path: read_contents(path.parent)),
        (_json({"packages": [_PACKAGE], "files": [{"path": "a"}]}),),
    ),
    "version.json": Target(
        in_file("json/version.json", _toolkit), (_json({"cuda": {"version": "12.4.1"}}),)
    ),
    "version.txt": Target(in_file("txt/version.txt", _toolkit), (b"CUDA Version 10.1.243\n",)),
    "note of a download": Target(
        in_file("note.json", read_record),
        (
            _json({"url": "", "name": "", "size": 1, "sha256": "", "etag": "", "modified": ""}),
            b"[" * 2_000,
        ),
    ),
    "journal of ranges": Target(
        in_file("x.part.ranges", lambda path: Part(path.with_suffix("")).spans()),
        (b"0 10\n5 20\n", b"\n"),
    ),
    "HTTP's words": Target(text(_headers), (b"120", b"Fri, 31 Dec 1999 23:59:59 GMT")),
    "URL with secrets": Target(text(_redacted), (b"", b":x@y", b"/?#")),
    "ELF": Target(_elf, (Path(sys.executable).resolve().read_bytes()[:8192],)),
    "xz in blocks": Target(_xz, (XZ_IN_BLOCKS,), (FaultError,)),
    "index in shards": Target(
        in_file("shards", _shards),
        (msgpack.packb({"info": {"shards_base_url": "s"}, "shards": {"other": bytes(32)}}),),
        (ValueError, FaultError),
    ),
    "PE": Target(_pe, (_library_with_imports(),)),
    "cache of the loader": Target(
        parse_cache,
        (
            b"glibc-ld.so.cache1.1" + b"\1\0\0\0" + bytes(24) + bytes(24) + b"lib\0",
            b"ld.so-1.7.0\0" + b"\1\0\0\0" + bytes(12) + b"x\0",
        ),
    ),
    "pasted message": Target(
        text(_messages),
        (
            b"ImportError: libcudart.so.11.0: cannot open shared object file: No such file",
            b"The detected CUDA version (11.8) mismatches the version that was used (12.4)",
            b"nvcc fatal   : Unsupported gpu architecture 'compute_90'",
        ),
    ),
    "script": Target(
        in_file("x.sh", lambda path: (settings_of(path), exit_in(path))),
        (b"export PATH=/usr/local/cuda/bin:$PATH; exit\nset -gx A b\n",),
    ),
}  # fmt: skip


def attempt(name: str, data: bytes) -> None:
    """Read one input; anything but an answer or one of the parser's own refusals is a fault."""
    target = TARGETS[name]
    began = time.process_time()
    try:
        target.parse(data)
    except CudaswitchError as error:
        assert error.message.isprintable(), ascii(error.message)
        assert len(error.message) < 1000
    except target.raises:
        pass
    assert time.process_time() - began < SECONDS
