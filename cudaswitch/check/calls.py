"""How each library is asked for its version, and which header says the same.

Sources of the functions: the headers of CUDA 11.8, 12.9 and 13.0 and of cuDNN 8.9 and 9.27, and
the answers of their libraries.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Call(NamedTuple):
    """`kind` says how `function` answers; `check.child` has a reader for each kind.

    `property`: libraryPropertyType and int*. `number`: int*, thousands are the major and tens
    the minor. `pair`: two int*. `struct`: a pointer to three ints. `status`: nothing but a
    status, which is 0 if the library fits the others of its cuDNN.
    """

    kind: str
    function: str
    header: str = ""
    """The header that states the same version, if one does."""
    macros: str = ""
    """What the version macros in the header begin with."""


def _property(name: str, header: str, macros: str) -> Call:
    return Call("property", f"{name}GetProperty", header, macros)


CALLS = {
    "cudart": Call("number", "cudaRuntimeGetVersion"),
    "cublas": _property("cublas", "cublas_api.h", "CUBLAS_VER_"),
    "cublasLt": _property("cublasLt", "cublas_api.h", "CUBLAS_VER_"),
    "cufft": _property("cufft", "cufft.h", "CUFFT_VER_"),
    "cufftw": _property("cufft", "cufft.h", "CUFFT_VER_"),
    "cufile": Call("number", "cuFileGetVersion"),
    "curand": _property("curand", "curand.h", "CURAND_VER_"),
    "cusolver": _property("cusolver", "cusolver_common.h", "CUSOLVER_VER_"),
    "cusparse": _property("cusparse", "cusparse.h", "CUSPARSE_VER_"),
    "nppc": Call("struct", "nppGetLibVersion", "npp.h", "NPP_VER_"),
    "nvJitLink": Call("pair", "nvJitLinkVersion"),
    "nvfatbin": Call("pair", "nvFatbinVersion"),
    "nvjpeg": _property("nvjpeg", "nvjpeg.h", "NVJPEG_VER_"),
    "nvrtc": Call("pair", "nvrtcVersion"),
    "cudnn": _property("cudnn", "cudnn_version.h", "CUDNN_"),
    "cudnn_ops": Call("status", "cudnnOpsVersionCheck"),
    "cudnn_cnn": Call("status", "cudnnCnnVersionCheck"),
    "cudnn_adv": Call("status", "cudnnAdvVersionCheck"),
    "cudnn_graph": Call("status", "cudnnGraphVersionCheck"),
    "cudnn_ops_infer": Call("status", "cudnnOpsInferVersionCheck"),
    "cudnn_ops_train": Call("status", "cudnnOpsTrainVersionCheck"),
    "cudnn_cnn_infer": Call("status", "cudnnCnnInferVersionCheck"),
    "cudnn_cnn_train": Call("status", "cudnnCnnTrainVersionCheck"),
    "cudnn_adv_infer": Call("status", "cudnnAdvInferVersionCheck"),
    "cudnn_adv_train": Call("status", "cudnnAdvTrainVersionCheck"),
}
"""Library, as `stem` names it → its call."""

DRIVERS = re.compile(r"lib(?:cuda|nvidia-ml|nvcuvid|nvidia-encode|nvidia-ptxjitcompiler)\.so\.1")
"""Libraries that come with the driver, and never with a toolkit."""

OPTIONAL = {
    "libmlx5.so.1": "RDMA",
    "libibverbs.so.1": "RDMA",
    "librdmacm.so.1": "RDMA",
}
"""System libraries that a library of the toolkit is useless without → what they are for."""

NO_DRIVER = ("cudaRuntimeGetVersion", 35)
"""Before 12, the runtime reports its version only if there is a driver that is new enough."""

_STEM = re.compile(r"lib(.+?)(?:\.alt)?\.so(?:\.|\Z)")


def stem(name: str) -> str:
    """Return a library's name as the tables have it: `libnvrtc.alt.so.12` → `nvrtc`."""
    match = _STEM.match(name)
    return match[1] if match else name
