"""A real CUDA toolkit, found on this machine or fetched from PyPI, and repacked in every form.

It is cut down to what nvcc needs to compile, link and run a small program, so that packing and
unpacking stay quick; what is left is NVIDIA's own content, byte for byte.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from builders.archives import tar_archive, wheel
from builders.cache import cached
from builders.conda import Form, conda_package
from builders.tree import Content, Link, Tree, versioned, write_tree

HELLO_CU = r"""
#include <cstdio>
#include <cuda_runtime.h>

__global__ void nothing() {}

int main() {
  int version = 0;
  cudaError_t status = cudaRuntimeGetVersion(&version);  // asks no driver, needs no GPU
  std::printf("%d\n", version);
  return status == cudaSuccess ? 0 : 1;
}
"""
"""Prints the runtime's version (13000 for CUDA 13.0) and exits with 0, also without a GPU."""

PYPI_WHEELS = (
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-cuda-culibos==13.0.85",
)
"""One release, every part pinned: nvcc's own requirements carry no versions, and a mix of
releases does not compile."""

_ARCH = {"x86_64": "x86_64", "aarch64": "sbsa"}
_SUBDIR = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}
_TRIPLE = {"x86_64": "x86_64-linux", "aarch64": "sbsa-linux"}


@dataclass(frozen=True)
class Component:
    """One part of the toolkit: its name in NVIDIA's redist index, on PyPI, and its files."""

    redist: str
    wheel: str
    manylinux: str
    files: tuple[str, ...]
    requires: tuple[str, ...] = ()


_2014 = "manylinux2014_{machine}.manylinux_2_17_{machine}"
COMPONENTS = (
    Component(
        "cuda_nvcc",
        "nvidia-cuda-nvcc",
        _2014,
        (
            *(f"bin/{tool}" for tool in ("nvcc", "nvcc.profile", "cudafe++", "ptxas", "nvlink")),
            *(f"bin/{tool}" for tool in ("fatbinary", "bin2c", "__nvcc_device_query", "crt/*")),
            "include/fatbinary_section.h",
        ),
        ("nvidia-nvvm", "nvidia-cuda-runtime", "nvidia-cuda-crt"),
    ),
    Component(
        "libnvvm",
        "nvidia-nvvm",
        "manylinux2010_{machine}.manylinux_2_12_{machine}",
        ("nvvm/bin/*", "nvvm/libdevice/*"),
    ),
    Component("cuda_crt", "nvidia-cuda-crt", _2014, ("include/crt/*",)),
    Component(
        "cuda_cudart",
        "nvidia-cuda-runtime",
        _2014,
        (
            *(
                f"include/{stem}*.h*"
                for stem in ("builtin_", "channel_", "common_", "cooper", "cuC", "cuda")
            ),
            *(f"include/{stem}_*.h*" for stem in ("device", "driver", "host", "library", "math")),
            *(f"include/{stem}*.h*" for stem in ("mma", "sm_", "surface_", "texture_", "vector_")),
            "include/cooperative_groups/**/*",
            *("lib/libcudart.so.*", "lib/libcudart_static.a", "lib/libcudadevrt.a"),
        ),
    ),
    Component(
        "cuda_cccl",
        "nvidia-cuda-cccl",
        _2014,
        ("include/nv/**/*", "include/cccl/nv/**/*", "include/cccl/*/version.*"),
    ),
    Component(
        "cuda_culibos", "nvidia-cuda-culibos", "manylinux_2_25_{machine}", ("lib/libculibos.a",)
    ),
)
"""Which part has which files, from the wheels' RECORD files; together, all that nvcc needs."""


@dataclass(frozen=True)
class Part:
    """A component of the toolkit used here: its version, and its files by their path in it."""

    component: Component
    version: str
    files: dict[str, Path]


def _candidates() -> Iterator[Path]:
    """Yield where the user's toolkit may be, as a user would look for it."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if value := os.environ.get(variable):
            yield Path(value)
    if nvcc := shutil.which("nvcc"):
        yield Path(nvcc).resolve().parent.parent
    yield Path("/usr/local/cuda")
    yield from sorted(Path("/usr/local").glob("cuda-*"), reverse=True)


def _nvcc_version(root: Path) -> str:
    command = [str(root / "bin/nvcc"), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", text)
    assert found, f"`{command[0]} --version` names no version: {text}"
    return found[1]


def _is_usable(root: Path) -> bool:
    """Tell whether wheels and components can be made of it: complete, and CUDA 13 or newer."""
    parts = ("bin/nvcc", "nvvm/bin/cicc", "include/crt/host_config.h", "include/cuda_runtime.h")
    if not all((root / part).is_file() for part in parts) or not _library_folder(root):
        return False
    return int(_nvcc_version(root).split(".")[0]) >= 13


def _library_folder(root: Path) -> Path | None:
    folders = (root / "lib", root / "lib64", root / "targets" / _triple() / "lib")
    return next((one for one in folders if (one / "libcudart_static.a").is_file()), None)


def _triple() -> str:
    return _TRIPLE[platform.machine()]


def _fetch(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--target", str(folder), *PYPI_WHEELS], check=True)


def whole_toolkit() -> Path:
    """Return the toolkit that everything here is made of, with Thrust and CUB; only read it."""
    for root in _candidates():
        if _is_usable(root):
            return root
    return cached("pypi", _fetch) / "nvidia" / "cu13"


def _versions(root: Path) -> dict[str, str]:
    """Read the version of each component: wheels' metadata, else version.json, else nvcc's."""
    versions = dict.fromkeys((one.redist for one in COMPONENTS), _nvcc_version(root))
    listing = root / "version.json"
    known = json.loads(listing.read_text()) if listing.is_file() else {}
    versions |= {key: known[key]["version"] for key in versions if key in known}
    for folder in (root / "dist-info", root.parent.parent):
        for component in COMPONENTS:
            stem = component.wheel.replace("-", "_")
            for info in folder.glob(f"{stem}-*.dist-info"):
                versions[component.redist] = info.name.split("-")[1].removesuffix(".dist")
    return versions


def _files_of(component: Component, root: Path) -> dict[str, Path]:
    """Find a component's files; a library that has several names is taken once."""
    libraries = _library_folder(root)
    assert libraries is not None
    found: dict[str, Path] = {}
    for pattern in component.files:
        head, _, tail = pattern.partition("/")
        base = libraries if head == "lib" else root / head
        for path in base.glob(tail):
            name = path.relative_to(base).as_posix()
            # As in the wheels, `libcudart.so.13` stands for the file and all its links.
            if path.is_file() and not re.search(r"\.so\.\d+\.", name):
                found[f"{head}/{name}"] = path.resolve()
    return dict(sorted(found.items()))


def parts() -> list[Part]:
    """Return the components of the cut-down toolkit, from the session's cache."""
    home = real_toolkit()
    versions = json.loads((home.parent / "versions.json").read_text())
    return [Part(one, versions[one.redist], _files_of(one, home)) for one in COMPONENTS]


def _cut_down(folder: Path) -> None:
    source = whole_toolkit()
    versions = _versions(source)
    tree: dict[str, Content] = {}
    for component in COMPONENTS:
        tree |= _files_of(component, source)
    tree |= {f"targets/{_triple()}/{name}": Link(f"../../{name}") for name in ("include", "lib")}
    soname = next(name for name in tree if name.startswith("lib/libcudart.so."))
    tree |= {"lib64": Link("lib"), "lib/libcudart.so": Link(soname.removeprefix("lib/"))}
    write_tree(folder / "cuda", tree)
    (folder / "versions.json").write_text(json.dumps(versions))


def real_toolkit() -> Path:
    """Return a real toolkit that compiles, links and runs HELLO_CU: shared, never to be changed.

    Its layout is that of /usr/local/cuda: bin, include, lib with lib64, nvvm, targets.
    """
    return cached("toolkit", _cut_down) / "cuda"


def toolkit_version() -> str:
    """Return the version of the real toolkit's nvcc, such as `13.0.88`."""
    return parts()[0].version


def runtime_number() -> int:
    """Return what HELLO_CU prints with the real toolkit, such as 13000 (CUDART_VERSION)."""
    header = (real_toolkit() / "include/cuda_runtime_api.h").read_text(errors="replace")
    found = re.search(r"#define CUDART_VERSION\s+(\d+)", header)
    assert found, "cuda_runtime_api.h defines no CUDART_VERSION"
    return int(found[1])


def _with_links(part: Part) -> Tree:
    """Return a part's files with shared libraries under their full version and its links."""
    tree: dict[str, Content] = {}
    for name, path in part.files.items():
        library = re.fullmatch(r"(lib)/(\w+)\.so\.(\d+)", name)
        if library:
            tree |= versioned(library[1], library[2], library[3], part.version, path)
        else:
            tree[name] = path
    return tree


def redist_archives() -> list[Path]:
    """Return the toolkit as NVIDIA's component archives, one `.tar.xz` each."""

    def build(folder: Path) -> None:
        def pack(part: Part) -> None:
            name, arch = part.component.redist, _ARCH[platform.machine()]
            top = f"{name}-linux-{arch}-{part.version}-archive"
            tree = {**_with_links(part), "LICENSE": b"NVIDIA license\n"}
            tar_archive(folder / f"{top}.tar.xz", top, tree)

        with ThreadPoolExecutor() as pool:
            list(pool.map(pack, parts()))

    return sorted(cached("redist", build).iterdir())


def toolkit_wheels() -> list[Path]:
    """Return the toolkit as wheels like PyPI's for CUDA 13: one tree, nvidia/cu13, no lib64."""

    def build(folder: Path) -> None:
        def pack(part: Part) -> None:
            major = part.version.split(".")[0]
            tag = "py3-none-" + part.component.manylinux.format(machine=platform.machine())
            tree = {f"nvidia/cu{major}/{name}": path for name, path in part.files.items()}
            name, requires = part.component.wheel, part.component.requires
            wheel(folder, name, part.version, tag, tree=tree, requires=requires)

        with ThreadPoolExecutor() as pool:
            list(pool.map(pack, parts()))

    return sorted(cached("wheels", build).iterdir())


def toolkit_conda_package(form: Form) -> Path:
    """Return the toolkit as one conda package, cuda-toolkit.

    Headers and libraries are below targets/, with links in lib/, as in conda-forge's packages.
    """

    def build(folder: Path) -> None:
        tree: dict[str, Content] = {}
        for part in parts():
            for name, content in _with_links(part).items():
                if name.startswith(("include/", "lib/")):
                    tree[f"targets/{_triple()}/{name}"] = content
                else:
                    tree[name] = content
                if name.startswith("lib/"):
                    tree[name] = Link(f"../targets/{_triple()}/{name}")
        version, subdir = toolkit_version(), _SUBDIR[platform.machine()]
        conda_package(folder, "cuda-toolkit", version, "h0123abc_0", subdir, tree, form=form)

    return next(cached(f"conda-{form}", build).iterdir())
