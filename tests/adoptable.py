"""Toolkits on the machine, to be adopted."""

from __future__ import annotations

import json
from pathlib import Path

import builders
from homes import Home
from tools import executable


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def smallest(folder: Path, version: str) -> Path:
    """Make a toolkit with nothing but an nvcc that does nothing, and the file with its version."""
    executable(folder / "bin/nvcc")
    write(folder / "version.json", json.dumps({"cuda": {"version": version}}))
    return folder


def toolkit(folder: Path, version: str = "11.2.152") -> Path:
    """Make a small toolkit with an nvcc that only tells its version, as NVIDIA lays it out."""
    release = ".".join(version.split(".")[:2])
    executable(
        folder / "bin/nvcc",
        f'#!/bin/sh\necho "Cuda compilation tools, release {release}, V{version}"\n',
    )
    write(folder / "targets/x86_64-linux/include/cuda.h", "#define CUDA_VERSION 11020\n")
    library = folder / "targets/x86_64-linux/lib/libcudart.so.11.2.152"
    builders.elf_library(library, "libcudart.so.11.0", {"cudaRuntimeGetVersion": 11020})
    (library.parent / "libcudart.so.11.0").symlink_to(library.name)
    (folder / "lib64").symlink_to("targets/x86_64-linux/lib")
    (folder / "include").symlink_to("targets/x86_64-linux/include")
    return folder


def names(home: Home) -> list[tuple[str, str | None]]:
    rows = json.loads(home.run("list", "--json").stdout)["toolkits"]
    return [(row["name"], row["cudnn"]) for row in rows]
