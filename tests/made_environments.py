"""Environments written file by file in the shape that pip, uv and conda leave."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from cudaswitch.detect.facts import facts_of
from cudaswitch.resolver import Resolution, resolve
from cudaswitch.toolkit import Toolkit

SITE = "lib/python3.8/site-packages"
WINDOWS_SITE = "Lib/site-packages"
NEW_DRIVER = "610.43.02"

BUNDLES = [
    ("lib/python3.8/site-packages/nvidia/cublas/lib/libcublas.so.12", True),
    ("lib/python3.8/site-packages/nvidia/cublas/include/cublas.h", False),
    ("lib/python3.13/site-packages/nvidia/cu13/lib/libcudart.so.13", True),
    # NCCL comes with XGBoost, for example, and is not part of a toolkit.
    ("lib/python3.13/site-packages/nvidia/nccl/lib/libnccl.so.2", False),
    ("lib64/python3.8/site-packages/nvidia/cublas/lib/libcublas.so.12", True),
    ("lib64/python3.8/site-packages/torch/lib/libtorch_cpu.so", False),
    ("lib/pypy3.8/site-packages/nvidia/cublas/lib/libcublas.so.12", True),
    ("lib/python3.8/site-packages/torch/lib/libtorch_cuda.so", True),
    ("lib/python3.8/site-packages/torch/lib/libtorch_cpu.so", False),
    ("conda-meta/cudatoolkit-10.1.243-h6bb024c_0.json", True),
    ("conda-meta/cudatoolkit-dev-10.1.243-h516909a_0.json", False),
    ("conda-meta/cuda-cudart-12.4.127-0.json", True),
    ("conda-meta/cuda-cudart-dev-12.4.127-0.json", False),
    ("conda-meta/libcublas-12.4.5.8-0.json", True),
    ("conda-meta/libcublas-dev-12.4.5.8-0.json", False),
    ("conda-meta/cuda-version-12.4-hbda6634_3.json", False),
    ("conda-meta/cudatoolkit-10.1\x1b[2J-h6bb024c_0.json", True),
]
"""Files, and whether one shows that an environment brings its own CUDA."""


class Env:
    """A prefix to be filled; its site-packages exists from the start."""

    def __init__(self, prefix: Path, site: str = SITE) -> None:
        self.prefix = prefix
        self.site = site
        (prefix / site).mkdir(parents=True)

    def write(self, path: str, text: str) -> Path:
        file = self.prefix / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def file(self, path: str, text: str = "") -> Path:
        return self.write(f"{self.site}/{path}", text)

    def dist(self, name: str, version: str, *requires: str) -> Path:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {require}" for require in requires]
        text = "\n".join(lines) + "\n\nA description.\nRequires-Dist: nvidia-cudnn-cu12==1.2.3\n"
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        return self.file(f"{folder}/METADATA", text)

    def conda(self, name: str, version: str, build: str, *depends: str) -> None:
        record = {"name": name, "version": version, "build": build, "depends": list(depends)}
        self.write(f"conda-meta/{name}-{version}-{build}.json", json.dumps(record))

    def torch(self, version: str, cuda: str | None, *requires: str, typed: bool = False) -> None:
        self.dist("torch", version.partition("+")[0], *requires)
        value = repr(cuda)
        line = f"cuda: Optional[str] = {value}" if typed else f"cuda = {value}"
        head = "from typing import Optional\n" if typed else ""
        text = f"{head}__version__ = '{version}'\ndebug = False\n{line}\ngit_version = 'abc'\n"
        self.file("torch/version.py", text + ("hip: Optional[str] = None\n" if typed else ""))

    def resolve(self, toolkits: Sequence[Toolkit] = (), **machine: str) -> Resolution:
        machine.setdefault("driver", NEW_DRIVER)
        return resolve(facts_of(self.prefix, **machine), toolkits)


def cudnn_pin(cuda: int, version: str) -> str:
    """Return how PyTorch's wheels for Linux require cuDNN."""
    return f'nvidia-cudnn-cu{cuda} (=={version}) ; platform_system == "Linux"'


def notes(answer: Resolution) -> list[str]:
    """Return the reasons of an answer, each with its source."""
    return [f"{it.text} [{it.source}]" for it in answer.reasons]


PLAIN, DICT, ORDERED = "plain", "dict", "ordered"
"""The shapes that TensorFlow's build file has had."""


def build_info(shape: str, cuda: str | None, cudnn: str | None, gpu: bool = True) -> str:
    """Return TensorFlow's build file; a version that is None has no line in it."""
    if shape == PLAIN:
        lines = ["# This file is generated", f"is_rocm_build = False\nis_cuda_build = {gpu}"]
        lines += [f"cuda_version_number = '{cuda}'"] * (cuda is not None)
        lines += [f"cudnn_version_number = '{cudnn}'"] * (cudnn is not None)
        return "\n".join([*lines, ""])
    pairs = {"is_cuda_build": gpu, "is_rocm_build": False}
    if cuda:
        archs = ["sm_35", "sm_50", "sm_60", "sm_70", "sm_75", "compute_80"]
        pairs |= {"cuda_version": cuda, "cudnn_version": cudnn, "cuda_compute_capabilities": archs}
    if shape == DICT:
        return f"build_info = {pairs!r}\n"
    return f"import collections\n\nbuild_info = collections.OrderedDict({list(pairs.items())!r})\n"


_TORCH = """
import ctypes, glob, os
here = os.path.dirname(os.path.abspath(__file__))
def _preload_cuda_lib(lib_folder, lib_name):
    ctypes.CDLL(glob.glob(os.path.join(here, "../nvidia", lib_folder, "lib", lib_name))[0])
def _preload_cuda_deps():
    cuda_libs = [
        ("cuda_runtime", "libcudart.so.*[0-9]"),
        ("nvjitlink", "libnvJitLink.so.*[0-9]"),
        ("cusparse", "libcusparse.so.*[0-9]"),
    ]
    for lib_folder, lib_name in cuda_libs:
        _preload_cuda_lib(lib_folder, lib_name)
def _load_global_deps():
    ctypes.CDLL(os.path.join(here, "lib/libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
    if "libcudart.so" in open("/proc/self/maps").read():
        PRELOAD
_load_global_deps()
ctypes.CDLL(os.path.join(here, "lib/libtorch_cuda.so"))
"""
"""What PyTorch does when it is imported, with its own names and in its own order."""


def torch_start(*, preloads: bool) -> str:
    """Return the `__init__.py` of a PyTorch that loads its CUDA libraries by itself, or not."""
    if preloads:
        return _TORCH.replace("PRELOAD", "_preload_cuda_deps()")
    return re.sub(r'\("\w+", "lib.*\),', "", _TORCH.replace("PRELOAD", "pass"))
