"""Small real libraries that answer as NVIDIA's do, packed as NVIDIA's wheels are."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders import wheel
from tools import require

_PROPERTY = """
int %s(int part, int *value) {
  static const int parts[] = {%s};
  if (part > 2) return 7;
  *value = parts[part];
  return 0;
}
"""


_OTHER_GLIBC = """
#include <string.h>
size_t confstr(int name, char *text, size_t size) {
  if (text) strncpy(text, "glibc %(version)s", size);
  return sizeof "glibc %(version)s";
}
"""


def other_glibc(folder: Path, version: str) -> Path:
    """Make a library that, preloaded, claims that the C library is of another version."""
    (folder / "glibc.c").write_text(_OTHER_GLIBC % {"version": version})
    library = folder / "glibc.so"
    command = [require("gcc"), "-shared", "-fPIC", "-o", library, folder / "glibc.c"]
    subprocess.run(command, check=True)
    return library


def asks_property(name: str, *parts: int) -> str:
    return _PROPERTY % (f"{name}GetProperty", ", ".join(map(str, parts)))


@dataclass(frozen=True)
class Made:
    """A library of the made toolkit: its file in a wheel, what it answers, what it needs."""

    project: str
    version: str
    folder: str
    soname: str
    code: str
    other: str
    """The code of another version."""
    needed: Sequence[str] = ()


LIBRARIES = (
    Made(
        *("nvidia-cuda-runtime-cu12", "12.9.79", "cuda_runtime", "libcudart.so.12"),
        "int cudaRuntimeGetVersion(int *at) { *at = 12090; return 0; }",
        "int cudaRuntimeGetVersion(int *at) { *at = 12040; return 0; }",
    ),
    Made(
        *("nvidia-cublas-cu12", "12.9.1.4", "cublas", "libcublasLt.so.12"),
        asks_property("cublasLt", 12, 9, 1),
        asks_property("cublasLt", 12, 9, 0),
    ),
    Made(
        *("nvidia-cublas-cu12", "12.9.1.4", "cublas", "libcublas.so.12"),
        asks_property("cublas", 12, 9, 1),
        asks_property("cublas", 12, 4, 5),
        ("libcublasLt.so.12",),
    ),
    Made(
        *("nvidia-npp-cu12", "12.4.1.87", "npp", "libnppc.so.12"),
        "static int parts[] = {12, 4, 1}; int *nppGetLibVersion(void) { return parts; }",
        "static int parts[] = {12, 3, 1}; int *nppGetLibVersion(void) { return parts; }",
    ),
    Made(
        *("nvidia-nvjitlink-cu12", "12.9.86", "nvjitlink", "libnvJitLink.so.12"),
        "int nvJitLinkVersion(unsigned *x, unsigned *y) { *x = 12; *y = 9; return 0; }",
        "int nvJitLinkVersion(unsigned *x, unsigned *y) { *x = 12; *y = 4; return 0; }",
    ),
    Made(
        *("nvidia-nvtx-cu12", "12.9.79", "nvtx", "libnvToolsExt.so.1"),
        "int nvtxInitialize(void) { return 0; }",
        "int nvtxInitialize(void) { return 1; }",
    ),
    Made(
        *("nvidia-cudnn-cu12", "9.10.2.21", "cudnn", "libcudnn.so.9"),
        asks_property("cudnn", 9, 10, 2),
        asks_property("cudnn", 9, 1, 0),
    ),
    Made(
        *("nvidia-cudnn-cu12", "9.10.2.21", "cudnn", "libcudnn_ops.so.9"),
        "int cudnnOpsVersionCheck(void) { return 0; }",
        "int cudnnOpsVersionCheck(void) { return 1007; }",
    ),
)
"""One of each kind that a runtime of 12.9 with cuDNN has; each comes after what it needs."""

HEADERS = {
    "cublas/include/cublas_api.h": (
        "#define CUBLAS_VER_MAJOR 12\n#define CUBLAS_VER_MINOR 9\n#define CUBLAS_VER_PATCH 1\n"
    ),
    "cudnn/include/cudnn_version.h": (
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 10\n#define CUDNN_PATCHLEVEL 2\n"
    ),
}


def library(path: Path, soname: str, code: str, needed: Sequence[str] = ()) -> Path:
    """Compile a library; what it needs is next to it, and is found only by LD_LIBRARY_PATH."""
    path.parent.mkdir(parents=True, exist_ok=True)
    links = [f"-l:{name}" for name in needed]
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", f"-Wl,-soname,{soname}"]
    command += ["-Wl,--no-as-needed", f"-L{path.parent}", *links]
    subprocess.run([*command, "-o", path], input=code, text=True, check=True)
    return path


def wheels(folder: Path, made: Sequence[Made] = LIBRARIES) -> list[Path]:
    """Write the wheels of a made toolkit."""
    for each in made:
        library(folder / "lib" / each.soname, each.soname, each.code, each.needed)
    paths = []
    for project in dict.fromkeys(each.project for each in made):
        mine = [each for each in made if each.project == project]
        tree = {
            f"nvidia/{each.folder}/lib/{each.soname}": (folder / "lib" / each.soname).read_bytes()
            for each in mine
        }
        tree |= {
            f"nvidia/{at}": text.encode()
            for at, text in HEADERS.items()
            if at.startswith(f"{mine[0].folder}/")
        }
        tag = "py3-none-manylinux_2_17_x86_64"
        paths.append(wheel(folder / "wheels", project, mine[0].version, tag, tree=tree))
    return paths
