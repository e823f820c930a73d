"""What `verify` finds in a store, and damage that only a hash can reveal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import builders
from checks import Done
from homes import Home

CUDNN = "packages/cudnn-7.6.5-cuda10.1_0"
LIBRARY = f"{CUDNN}/tree/lib/libcudnn.so.7.6.5"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    # In place, and with its old time: only the hash can reveal the change.
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def found_by(done: Done, home: Home) -> set[tuple[str, str]]:
    """Return what a `verify --json` has found: kinds, with paths relative to the store."""
    rows = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if rows else 0), done.stderr
    return {(row["kind"], str(Path(row["path"]).relative_to(home.store))) for row in rows}


def findings(home: Home, *arguments: str) -> set[tuple[str, str]]:
    return found_by(home.run("verify", "--json", *arguments), home)


def with_its_own_path(folder: Path, before: str = "") -> Path:
    """Write a conda package of a toolkit whose nvcc.profile holds the folder that it is put in."""
    prefix = "/opt/build/" + "placehold_" * 20
    script = builders.File(f"{before}echo {prefix}/bin\n".encode(), placeholder=prefix)
    tree = {"bin/nvcc.profile": script, "lib/libcudart.so.10.1": b"x"}
    return builders.conda_package(folder, "cudatoolkit", "10.1.243", "0", "linux-64", tree)
