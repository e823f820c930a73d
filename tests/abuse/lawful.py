"""What looks like an attack but is lawful: it is accepted, and does no harm."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import raw_archives as raw
from abuse.packages import runfile, toolkit_tar
from abuse.texts import TRAP
from raw_archives import LIBRARY, ZEROS, folder, hard, link, member, pax, tar_bz2
from zstd_library import zstd

_SCRIPT = f"#!/bin/sh\n{TRAP}\ntouch canary-ran\n".encode()


def wheel(**files: bytes) -> bytes:
    named = {name.replace("__", "/"): data for name, data in files.items()}
    return raw.wheel_of({"nvidia/cu13/bin/ptxas": b"ptxas"} | named)


LAWFUL: dict[str, Callable[[], bytes]] = {
    "scripts that conda would run": lambda: tar_bz2(
        member("bin/.cudatoolkit-post-link.sh", _SCRIPT, mode=0o755),
        member("bin/.cudatoolkit-pre-link.sh", _SCRIPT, mode=0o755),
        member("info/link.json", b'{"noarch": {"entry_points": ["../../canary = a:b"]}}'),
        member("etc/conda/activate.d/x.sh", _SCRIPT),
    ),
    "a wheel with code that Python would run": lambda: wheel(
        **{"evil.pth": b"import os; os.system('touch canary-ran')\n"}
    ),
    "a wheel with entry points that lead out": lambda: raw.wheel_of(
        **{"entry_points.txt": b"[console_scripts]\n../../canary = a:b\n"}
    ),
    "a runfile whose script would run": lambda: runfile(toolkit_tar(), script="touch canary-ran"),
    "setuid, setgid and sticky": lambda: tar_bz2(
        member("bin/su", b"x", mode=0o7777), folder("open")
    ),
    "no permission at all": lambda: tar_bz2(member("bin/no", b"x", mode=0)),
    "links in a circle": lambda: tar_bz2(link("a", "b"), link("b", "a"), link("c", "c")),
    "a link to nothing": lambda: tar_bz2(link("a", "lib/nothing")),
    "a link up to its own top": lambda: tar_bz2(link("d/a", "..")),
    "hard links to one file": lambda: tar_bz2(*(hard(f"h{n}", LIBRARY) for n in range(50))),
    "names that begin with dots": lambda: tar_bz2(member("..a", b"x"), member("...", b"x")),
    "names for a shell": lambda: tar_bz2(member(f"bin/{TRAP.replace('/', '')}", b"x")),
    "names that are options": lambda: tar_bz2(member("bin/-rf", b"x"), member("bin/--help", b"x")),
    "PAX times of long ago and far ahead": lambda: tar_bz2(
        pax({"mtime": "-99999999999.5", "atime": "9" * 30}), member("a", b"x")
    ),
    "40 MiB of zeros": lambda: tar_bz2(member("zeros", bytes(40 << 20))),
    "zeros behind the end": lambda: tar_bz2(end=bytes(1 << 20)),
    "several bz2 streams": lambda: (
        bz2.compress(raw.conda_tar(end=b"")) + bz2.compress(member("a", b"x")) + bz2.compress(ZEROS)
    ),
    "several xz streams with padding": lambda: (
        lzma.compress(raw.cudnn_tar(end=b"")) + bytes(8) + lzma.compress(ZEROS)
    ),
    "several gzip members": lambda: (
        gzip.compress(raw.cudnn_tar(end=b"")) + gzip.compress(b"") + gzip.compress(ZEROS)
    ),
    "zstd frames and one to be skipped": lambda: raw.conda_zip(
        **{
            "pkg__cudatoolkit__10.1.243__h6bb024c_0.tar.zst": zstd.compress(
                member(LIBRARY, b"cudart")
            )
            + b"\x50\x2a\x4d\x18\x04\0\0\0skip"
            + zstd.compress(ZEROS)
        }
    ),
    "a file name that says something else": lambda: tar_bz2(member("a", b"x")),
}
