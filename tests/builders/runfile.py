"""Runfiles like NVIDIA's: made by the real makeself, in the layouts of three eras of CUDA."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal

from builders.cache import cached
from builders.toolkit import parts, real_toolkit, toolkit_version
from builders.tree import Content, File, Link, Tree, write_tree

RunfileEra = Literal["-10.0", "10.1-10.2", "11-"]
RUNFILE_ERAS: tuple[RunfileEra, ...] = ("-10.0", "10.1-10.2", "11-")
Packing = Literal["gzip", "bzip2", "xz", "nocomp", "zstd"]

DRIVER = "NVIDIA-Linux-x86_64-580.95.05.run"
TRIPLE = "targets/x86_64-linux"


def makeself(
    target: Path,
    tree: Tree,
    label: str,
    *options: str,
    packing: Packing = "gzip",
    canary: Path | None = None,
) -> Path:
    """Pack `tree` as a runfile; running it, or the installer in it, makes the file `canary`."""
    tool = shutil.which("makeself")
    assert tool, "makeself is missing; tests ask tools.require for it first"
    target.parent.mkdir(parents=True, exist_ok=True)
    touch = f"touch '{canary}'" if canary else ":"
    start = File(f"#!/bin/sh\n{touch}\n".encode(), executable=True)
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder) / "pkg", {"cuda-installer": start, **tree})
        # With the compressor's least effort, as packing a real toolkit would take long.
        effort = () if packing == "nocomp" else ("--complevel", "1")
        form = (f"--{packing}", *effort, *options)
        command = [tool, "--quiet", *form, f"{folder}/pkg", str(target), label, "./cuda-installer"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if canary:
        # On the line of makeself's own first command, so that the number of lines stays right.
        content = target.read_bytes()
        first = b"ORIG_UMASK=`umask`\n"
        assert content.count(first) == 1
        target.write_bytes(content.replace(first, touch.encode() + b";" + first))
    return target


def outer_tree(tree: Tree, era: RunfileEra, version: str) -> dict[str, Content]:
    """Return what a runfile of that era holds: a toolkit, and what is not to be installed."""
    driver = b"#!/bin/sh\nexit 1\n"
    if era == "10.1-10.2":
        inside = {f"builds/cuda-toolkit/{name}": content for name, content in tree.items()}
        inside |= {f"builds/{DRIVER}": driver, "builds/cuda-samples/0_Simple/a.cu": b"int a;\n"}
        inside["builds/cuda-toolkit/version.txt"] = f"CUDA Version {version}\n".encode()
        inside["builds/cublas/include/cublas_v2.h"] = b"#define CUBLAS_VER_MAJOR 10\n"
        return inside
    listed = {"cuda": {"name": "CUDA SDK", "version": version}}
    return {
        **{f"builds/{name}": content for name, content in tree.items()},
        f"builds/{DRIVER}": driver,
        "builds/EULA.txt": b"End User License Agreement\n",
        "builds/version.json": json.dumps(listed, indent=3).encode(),
        "builds/bin/cuda-uninstaller": File(b"#!/bin/sh\n", executable=True),
        "builds/cuda_documentation/doc/README": b"docs\n",
        "builds/nsight_compute/ncu": File(b"#!/bin/sh\n", executable=True),
        "builds/nvidia_fs/nvfs.c": b"int a;\n",
        "builds/integration/Sanitizer/compute-sanitizer": File(b"#!/bin/sh\n", executable=True),
        "manifests/cuda_x86_64.xml": b"<cuda/>\n",
    }


def _component_tree() -> dict[str, Content]:
    """Return the real toolkit by component, as CUDA 11 and later: libraries, headers in targets."""
    tree: dict[str, Content] = {}
    for part in parts():
        folder = part.component.redist
        for name, path in part.files.items():
            kept = name.startswith(("include/", "lib/"))
            tree[f"{folder}/{TRIPLE}/{name}" if kept else f"{folder}/{name}"] = path
        if any(name.startswith("include/") for name in part.files):
            tree[f"{folder}/include"] = Link(f"{TRIPLE}/include")
        if any(name.startswith("lib/") for name in part.files):
            tree[f"{folder}/lib64"] = Link(f"{TRIPLE}/lib")
    return tree


def _whole_tree() -> dict[str, Content]:
    """Return the real toolkit in one folder, as up to CUDA 10.2."""
    tree: dict[str, Content] = {
        "include": Link(f"{TRIPLE}/include"),
        "lib64": Link(f"{TRIPLE}/lib"),
    }
    for part in parts():
        for name, path in part.files.items():
            kept = name.startswith(("include/", "lib/"))
            tree[f"{TRIPLE}/{name}" if kept else name] = path
    return tree


def nested(
    target: Path,
    tree: Tree,
    version: str,
    *,
    packing: Packing = "gzip",
    canary: Path | None = None,
) -> Path:
    """Write a runfile as up to CUDA 10.0: the toolkit is a runfile in it, one of several."""
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / f"cuda-linux.{version}-24817639.run"
        text = f"CUDA Version {version}\n".encode()
        makeself(
            inner, {**tree, "version.txt": text}, "CUDA Toolkit", packing=packing, canary=canary
        )
        outer: dict[str, Content] = {
            f"run_files/{inner.name}": inner,
            f"run_files/{DRIVER}": b"#!/bin/sh\nexit 1\n",
            f"run_files/cuda-samples.{version}-linux.run": b"#!/bin/sh\nexit 1\n",
            "InstallUtils.pm": b"1;\n",
        }
        return makeself(target, outer, "CUDA Installer", packing=packing, canary=canary)


def toolkit_runfile(era: Literal["-10.0", "11-"]) -> Path:
    """Return the real toolkit as a runfile of that era; that of the older one is not compressed."""
    version = toolkit_version()

    def build(folder: Path) -> None:
        target = folder / f"cuda_{version}_580.95.05_linux.run"
        if era == "-10.0":
            nested(target, _whole_tree(), version, packing="nocomp")
        else:
            makeself(target, outer_tree(_component_tree(), era, version), "CUDA Installer")

    assert real_toolkit().is_dir()
    return next(cached(f"runfile{era}", build).glob("*.run"))
