"""The packages that this project is for: cudatoolkit 10.1 and cuDNN in each of their forms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builders.archives import tar_archive
from builders.binaries import Symbols, Writes, elf_bytes, pe_bytes
from builders.conda import Form, conda_package
from builders.tree import Content, Tree, versioned

_LIBDEVICE = b"BC\xc0\xde" + bytes(range(256))
"""Begins as LLVM bitcode does; nothing here compiles with it."""

_TOOLKIT_LIBRARIES: tuple[tuple[str, str, str, Symbols], ...] = (
    ("libcudart", "10.1", "10.1.243", {"cudaRuntimeGetVersion": Writes(10010)}),
    ("libcublas", "10", "10.2.1.243", {"cublasGetCudartVersion": 10010}),
    ("libcublasLt", "10", "10.2.1.243", {"cublasLtGetVersion": 10201}),
    ("libcufft", "10", "10.1.1.243", {"cufftGetVersion": Writes(10101)}),
    ("libcurand", "10", "10.1.1.243", {"curandGetVersion": Writes(10101)}),
    ("libcusparse", "10", "10.3.0.243", {"cusparseGetErrorString": "success"}),
    ("libnvrtc", "10.1", "10.1.243", {"nvrtcVersion": Writes(10)}),
)
"""Stem, soname suffix and full version, from the file names of CUDA 10.1 Update 2."""

_WINDOWS_TOOLKIT_LIBRARIES = {
    "cudart64_101.dll": {"cudaRuntimeGetVersion": 10010},
    "cublas64_10.dll": {"cublasGetCudartVersion": 10010},
    "cublasLt64_10.dll": {"cublasLtGetVersion": 10201},
    "cufft64_10.dll": {"cufftGetVersion": 10101},
    "curand64_10.dll": {"curandGetVersion": 10101},
    "nvrtc64_101_0.dll": {"nvrtcVersion": 10},
}


def cudatoolkit_tree(subdir: str = "linux-64") -> Tree:
    """Return what cudatoolkit 10.1.243 installs: runtime libraries, no nvcc, no headers."""
    if subdir == "win-64":
        libraries = _WINDOWS_TOOLKIT_LIBRARIES.items()
        tree: dict[str, Content] = {
            f"Library/bin/{name}": pe_bytes(name, symbols) for name, symbols in libraries
        }
        return tree | {"Library/bin/libdevice.10.bc": _LIBDEVICE}
    tree = {"lib/libdevice.10.bc": _LIBDEVICE}
    for stem, soname, full, symbols in _TOOLKIT_LIBRARIES:
        tree |= versioned("lib", stem, soname, full, elf_bytes(f"{stem}.so.{soname}", symbols))
    return tree


def cudatoolkit_10_1(directory: Path, subdir: str = "linux-64", form: Form = "tar.bz2") -> Path:
    """Write cudatoolkit-10.1.243-h6bb024c_0, or -h74a9793_0 for win-64."""
    build = {"linux-64": "h6bb024c_0", "win-64": "h74a9793_0"}[subdir]
    tree = cudatoolkit_tree(subdir)
    return conda_package(directory, "cudatoolkit", "10.1.243", build, subdir, tree, form=form)


def cudnn_number(version: str) -> int:
    """Return what cudnnGetVersion says: 7605 for 7.6.5, 90100 for 9.1.0 (cudnn_version.h)."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    return major * (10000 if major >= 9 else 1000) + minor * 100 + patch


def cudnn_headers(version: str, folder: str = "include") -> Tree:
    """Return the headers: before cuDNN 8, the version was in cudnn.h itself."""
    major, minor, patch = version.split(".")[:3]
    scale = 10000 if int(major) >= 9 else 1000
    defines = (
        f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n"
        f"#define CUDNN_PATCHLEVEL {patch}\n\n#define CUDNN_VERSION"
        f" (CUDNN_MAJOR * {scale} + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)\n"
    )
    declaration = "#include <stddef.h>\nsize_t cudnnGetVersion(void);\n"
    if int(major) < 8:
        return {f"{folder}/cudnn.h": (defines + declaration).encode()}
    return {
        f"{folder}/cudnn_version.h": defines.encode(),
        f"{folder}/cudnn.h": ('#include "cudnn_version.h"\n' + declaration).encode(),
    }


def cudnn_libraries(version: str, folder: str = "lib") -> Tree:
    """Return libcudnn and, from cuDNN 8 on, one of the libraries that it was split into."""
    major, full = version.split(".", maxsplit=1)[0], ".".join(version.split(".")[:3])
    part = {"8": "libcudnn_ops_infer", "9": "libcudnn_graph"}.get(major)
    tree: dict[str, Content] = {}
    for stem in filter(None, ("libcudnn", part)):
        library = elf_bytes(f"{stem}.so.{major}", {"cudnnGetVersion": cudnn_number(version)})
        tree |= versioned(folder, stem, major, full, library)
    return tree


def cudnn_7_6_5(directory: Path, subdir: str = "linux-64", form: Form = "tar.bz2") -> Path:
    """Write cudnn-7.6.5-cuda10.1_0."""
    tree: dict[str, Content]
    if subdir == "win-64":
        library = pe_bytes("cudnn64_7.dll", {"cudnnGetVersion": 7605})
        tree = {"Library/bin/cudnn64_7.dll": library, "Library/lib/x64/cudnn.lib": b"!<arch>\n"}
        tree |= cudnn_headers("7.6.5", "Library/include")
    else:
        tree = {**cudnn_headers("7.6.5"), **cudnn_libraries("7.6.5")}
    return conda_package(
        directory,
        *("cudnn", "7.6.5", "cuda10.1_0", subdir, tree),
        depends=["cudatoolkit 10.1.*"],
        form=form,
    )


Era = Literal["7.2-8.3.0", "8.3.1-8.4", "8.5-8.7", "8.8+"]


@dataclass(frozen=True)
class _Archive:
    """How NVIDIA names and lays out a cuDNN archive."""

    stem: str
    suffix: str
    top: str
    libraries: str
    licence: str


_TGZ = _Archive(
    stem="cudnn-{cuda}-linux-x64-v{cudnn}",
    suffix=".tgz",
    top="cuda",
    libraries="lib64",
    licence="NVIDIA_SLA_cuDNN_Support.txt",
)
_REDIST = _Archive(
    stem="cudnn-linux-x86_64-{cudnn}_cuda{cuda}-archive",
    suffix=".tar.xz",
    top="cudnn-linux-x86_64-{cudnn}_cuda{cuda}-archive",
    libraries="lib",
    licence="LICENSE",
)
_ERAS: dict[Era, _Archive] = {
    "7.2-8.3.0": _TGZ,
    "8.3.1-8.4": _REDIST,
    "8.5-8.7": _REDIST,
    "8.8+": _REDIST,
}

CUDNN_ARCHIVES: tuple[tuple[Era, str, str], ...] = (
    ("7.2-8.3.0", "7.6.5.32", "10.1"),
    ("8.3.1-8.4", "8.4.1.50", "11.6"),
    ("8.5-8.7", "8.6.0.163", "11"),
    ("8.8+", "8.9.7.29", "12"),
    ("8.8+", "9.21.0.82", "13"),
)
"""One real archive per era and major: (era, cuDNN, CUDA as the file name spells it)."""


def cudnn_archive(
    directory: Path, era: Era = "7.2-8.3.0", cudnn: str = "7.6.5.32", cuda: str = "10.1"
) -> Path:
    """Write NVIDIA's own cuDNN archive of that era, under its real name."""
    row = _ERAS[era]
    stem = row.stem.format(cudnn=cudnn, cuda=cuda)
    tree: dict[str, Content] = {row.licence: b"NVIDIA cuDNN license\n"}
    tree |= cudnn_headers(cudnn)
    tree |= cudnn_libraries(cudnn, row.libraries)
    target = directory / (stem + row.suffix)
    return tar_archive(target, row.top.format(cudnn=cudnn, cuda=cuda), tree)
