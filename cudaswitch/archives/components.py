"""Which component a package provides, from its name in three spellings and from its content.

Names: PyPI (`nvidia-cuda-nvcc-cu12`), NVIDIA's archives (`cuda_nvcc`) and conda (`cuda-nvcc`,
`cuda-nvcc_linux-64`, `libcublas-dev`), as found in the indexes of PyPI, of
developer.download.nvidia.com/compute/cuda/redist and of conda-forge.
"""

from __future__ import annotations

import re

from cudaswitch.archives.faults import ForeignError, shown

_COMPONENTS = {
    **{
        name: name
        for name in (
            *("cuda", "cudnn", "cccl", "crt", "cublas", "cudart", "cudla", "cufft", "cufile"),
            *("culibos", "cuobjdump", "cupti", "curand", "cusolver", "cusparse", "cusparselt"),
            *("cutensor", "cuxxfilt", "demo-suite", "documentation", "gdb", "nccl", "npp"),
            *("nsight", "nvcc", "nvdisasm", "nvfatbin", "nvjitlink", "nvjpeg", "nvml", "nvprof"),
            *("nvprune", "nvptxcompiler", "nvrtc", "nvshmem", "nvtx", "nvvm", "nvvp", "opencl"),
            *("profiler", "sanitizer"),
        )
    },
    "cudatoolkit": "cuda",
    "cudatoolkit-dev": "cuda",
    "cuda-toolkit": "cuda",
    "cudnn-jit": "cudnn",
    "libdevice": "nvvm",
    "nsight-compute": "ncu",
    "nsight-systems": "nsys",
    "profiler-api": "profiler",
    "runtime": "cudart",
    "sanitizer-api": "sanitizer",
    "thrust": "cccl",
}
"""Bare name → component. `bare_name` strips what the spellings add."""
COMPONENTS = frozenset(_COMPONENTS.values())
PIECES = COMPONENTS - {"cuda", "cudnn"}
"""The pieces that a toolkit may come in."""

_LIBRARIES = {
    "cublasLt": "cublas",
    "cudadevrt": "cudart",
    "cufftw": "cufft",
    "cusolverMg": "cusolver",
    "nvToolsExt": "nvtx",
    "nvblas": "cublas",
    "nvrtc-builtins": "nvrtc",
}
"""Libraries whose component has another name. NPP is not here: it is many libraries."""

CUDA_NUMBERED = frozenset(
    (
        *("crt", "cudart", "cuobjdump", "cupti", "cuxxfilt", "gdb", "nvcc", "nvdisasm"),
        *("nvfatbin", "nvjitlink", "nvml", "nvprof", "nvprune", "nvrtc", "nvtx", "nvvm"),
        *("opencl", "profiler", "sanitizer"),
    )
)
"""Pieces whose version begins with that of their CUDA release (redistrib_*.json, 11.0 to 13.x)."""

EVIDENCE = {
    "nvcc": re.compile(r"(?:^|/)bin/nvcc(?:\.exe)?\Z"),
    "cudart": re.compile(r"(?:^|/)(?:libcudart\.so[^/]*|cudart(?:32|64)_[^/]*\.dll)\Z"),
    "runtime header": re.compile(r"(?:^|/)cuda_runtime\.h\Z"),
    "nvvm": re.compile(r"(?:^|/)nvvm/"),
    "windows": re.compile(r"\.dll\Z"),
    "cudnn": re.compile(
        r"(?:^|/)(?:libcudnn[^/]*|cudnn[^/]*\.(?:dll|lib)|cudnn(?:_version)?\.h)\Z"
    ),
}
"""What a file's path proves about its package."""
WHOLE_TOOLKIT = frozenset(("nvcc", "cudart", "runtime header", "nvvm"))

_DEFINED = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+CUDNN_(MAJOR|MINOR|PATCHLEVEL)[ \t]+([0-9]{1,4})\b", re.MULTILINE
)
_PLATFORM_SUFFIX = re.compile(r"_(?:linux|win|osx)-[a-z0-9]+\Z")
_AFFIXES = re.compile(r"\A(?:nvidia-)?(?:cuda-)?(?:lib)?(?=[a-z])|-cu[0-9]{2}\Z")
_KINDS = re.compile(r"(?:-(?:dev|devel|static|tools|impl))+\Z")
_NVIDIAS = re.compile(r"(?:nvidia|cuda|lib(?:cu|nv)|nsight)[a-z0-9-]*\Z")


def bare_name(name: str) -> str:
    """Strip what the spellings add: `libcublas-dev`, `nvidia-cublas-cu12` → `cublas`."""
    plain = _PLATFORM_SUFFIX.sub("", name.lower()).replace("_", "-")
    if plain in _COMPONENTS:
        return plain
    return _KINDS.sub("", _AFFIXES.sub("", plain))


def named_component(name: str) -> str | None:
    """Return the component that a package's name states, or None when the name says nothing.

    An unknown piece whose name is spelled like NVIDIA's keeps its bare name.
    """
    bare = bare_name(name)
    if bare in _COMPONENTS:
        return _COMPONENTS[bare]
    return bare if _NVIDIAS.match(name.lower().replace("_", "-")) else None


def is_cuda(name: str) -> bool:
    """Tell whether a package of that name, in conda's spelling, may be part of CUDA or cuDNN."""
    return name.startswith("cuda-") or named_component(name) in COMPONENTS


def component_with(library: str) -> str:
    """Return the component that has a library: `cublasLt`, `cudnn_ops`, `cudart_static`."""
    name = library.partition("_")[0]
    return "npp" if name.startswith("npp") else _LIBRARIES.get(name, name.lower())


def evidence(path: str) -> set[str]:
    """Return what the path of one file proves, as keys of EVIDENCE."""
    return {proof for proof, pattern in EVIDENCE.items() if pattern.search(path)}


def cudnn_version(header: bytes) -> str | None:
    """Read the version in cuDNN's header, None if that has none.

    cudnn_version.h has had the numbers since cuDNN 8; before, they were in cudnn.h.
    """
    defined = dict(_DEFINED.findall(header))
    if len(defined) < 3:
        return None
    return ".".join(str(int(defined[key])) for key in (b"MAJOR", b"MINOR", b"PATCHLEVEL"))


def _claimed_component(name: str) -> str | None:
    """Return the component that a package's name states or, if it says nothing else, contains.

    Programs that bring a CUDA runtime or cuDNN of their own have names that do neither.
    """
    words = (word for word in ("cudnn", "cuda") if word in name.lower())
    return named_component(name) or next(words, None)


def component_of(name: str, proofs: set[str]) -> str:
    """Return the component of a package called `name` that holds what `proofs` say.

    Raises ForeignError when it is neither a CUDA toolkit, nor cuDNN, nor a piece of one.
    """
    claimed = _claimed_component(name)
    if proofs >= WHOLE_TOOLKIT:
        return "cuda"
    if claimed == "cuda" and proofs & {"nvcc", "cudart"}:
        return "cuda"
    if claimed == "cudnn" and "cudnn" in proofs:
        return "cudnn"
    if claimed in ("cuda", "cudnn", None):
        raise ForeignError(
            f"holds neither a CUDA toolkit nor cuDNN (it is {shown(name)})",
            None
            if named_component(name)
            else "get a package of CUDA or cuDNN, such as cudatoolkit or cudnn",
        )
    return claimed


def is_settled(name: str, proofs: set[str]) -> bool:
    """Tell whether no further proof could change `component_of`."""
    claimed = _claimed_component(name)
    if proofs >= WHOLE_TOOLKIT:
        return True
    if claimed == "cuda":
        return bool(proofs & {"nvcc", "cudart"})
    if claimed == "cudnn":
        return "cudnn" in proofs
    # Of all others, only these may turn out to be a whole toolkit.
    return claimed not in ("nvcc", "cudart", None)
