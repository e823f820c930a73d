"""Which commands are CUDA's, by name, and which of them are shims, by content."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

SHIM_HEADER = "#!/bin/sh\n# A shim, written by `cudaswitch shims refresh`.\n"
"""How every shim begins; a file that begins otherwise is not a shim, and is never touched."""

_TOOLS = {
    *("__nvcc_device_query", "bin2c", "compute-sanitizer", "computeprof", "ctadvisor", "cu++filt"),
    *("cuda-dbg", "cuda-memcheck", "cudafe", "cudafe++", "cuobjdump", "fatbinary", "filehash"),
    *("gpu-library-advisor", "ncu", "ncu-ui", "nsight", "nsight_ee_plugins_manage.sh", "nsys"),
    *("nv-nsight-cu", "nv-nsight-cu-cli", "nvcc", "nvdisasm", "nvlink", "nvprof", "nvprune"),
    *("nvvp", "ptxas", "tileiras"),
}
_FAMILIES = ("cuda-gdb", "nsight-", "nsys-")
"""Tools in `bin` of NVIDIA's toolkits from 7.5 to 13 and of the Nsight packages beside them:
their names, and what the names of several begin with, as `cuda-gdb-python3.12-tui` does."""


def is_toolkit_tool(name: str) -> bool:
    """Tell whether a command belongs to CUDA toolkits, by its name."""
    plain = name.replace("-", "").replace(".", "")
    is_kin = name.startswith(_FAMILIES) and plain.isascii() and plain.isalnum() and plain.islower()
    return name in _TOOLS or is_kin


def is_shim(path: str | PathLike[str]) -> bool:
    """Tell whether a file is a shim of any store, by what it starts with."""
    header = SHIM_HEADER.encode()
    try:
        with open(path, "rb") as file:
            return file.read(len(header)) == header
    except OSError:
        return False
