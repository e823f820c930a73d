"""What a stocked home has (cudatoolkit 10.1.243, bare and with cuDNN 7.6.5), and more for it."""

from __future__ import annotations

from pathlib import Path

import builders
from checks import succeeded
from cudaswitch.platforms import current_platform
from homes import Home

BARE, FULL = "10.1.243", "10.1.243+cudnn7.6.5"
FOLDER = {"linux-64": "linux-x86_64", "linux-aarch64": "linux-sbsa"}[current_platform()]
"""What NVIDIA's index calls this platform."""


def toolkit(folder: Path, version: str) -> Path:
    """Return a cudatoolkit of that version with one library."""
    soname = ".".join(version.split(".")[:2])
    library = builders.elf_bytes(f"libcudart.so.{soname}", {"cudaRuntimeGetVersion": 1})
    tree = builders.versioned("lib", "libcudart", soname, version, library)
    return builders.conda_package(folder, "cudatoolkit", version, "h_0", "linux-64", tree)


def elsewhere(home: Home, version: str) -> str:
    """Install a toolkit of that version, with an nvcc, for another platform; return its name."""
    platform = {"linux-64": "linux-aarch64"}.get(current_platform(), "linux-64")
    tree = {
        "bin/nvcc": b"of another machine",
        **builders.versioned("lib", "libcudart", version[:4], version, b"the same"),
    }
    package = builders.conda_package(
        home.path.parent / "elsewhere", "cudatoolkit", version, "h_0", platform, tree
    )
    (name,) = succeeded(home.run("install", package, "--platform", platform))
    return name


def newer_cudnn(folder: Path) -> Path:
    """Return cuDNN 7.6.6, whose headers and libraries say so."""
    tree = {
        **builders.recipes.cudnn_headers("7.6.6"),
        **builders.recipes.cudnn_libraries("7.6.6"),
    }
    return builders.conda_package(folder, "cudnn", "7.6.6", "cuda10.1_0", "linux-64", tree)


def component(folder: Path, name: str, version: str) -> Path:
    """Return a component of NVIDIA's index for this platform, with one program of its name."""
    top = f"{name}-{FOLDER}-{version}-archive"
    tree = {f"bin/{name}": f"{name} {version}".encode(), "LICENSE": b"NVIDIA license\n"}
    return builders.tar_archive(folder / f"{top}.tar.xz", top, tree)


def stored(home: Home) -> dict[str, list[str]]:
    return {
        kind: sorted(path.name for path in (home.store / kind).glob("[!.]*"))
        for kind in ("packages", "toolkits", "requests")
    }


def answers(home: Home) -> dict[str, str]:
    """Map each ready answer to the name of its toolkit."""
    return {
        path.name: Path(path.read_text().rstrip("\n")).name
        for path in (home.store / "requests").glob("[!.]*")
    }


def kit(home: Home, name: str = FULL) -> Path:
    return home.store / "toolkits" / name
