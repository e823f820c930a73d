"""Which commands are CUDA's, by name, and which of them are shims, by content."""

from __future__ import annotations

import re
from pathlib import Path

SHIM_HEADER = "#!/bin/sh\n# A shim, written by `cudaswitch shims refresh`.\n"
"""How every shim begins; a file that does not is none, and is never touched."""

_NVIDIA = (
    r"__nvcc_device_query|bin2c|compute-sanitizer|computeprof|ctadvisor|cu\+\+filt"
    r"|cuda-(dbg|gdb[a-z0-9.-]*|memcheck)|cudafe(\+\+)?|cuobjdump|fatbinary|filehash"
    r"|gpu-library-advisor|ncu(-ui)?|nsight(-[a-z]+|_ee_plugins_manage\.sh)?|nsys(-[a-z]+)?"
    r"|nv-nsight-cu(-cli)?|nv(cc|disasm|link|prof|prune|vp)|ptxas|tileiras"
)
"""Tools in `bin` of NVIDIA's toolkits from 7.5 to 13 and of the Nsight packages beside them."""


def is_toolkit_tool(name: str) -> bool:
    """Tell whether a command belongs to CUDA toolkits, by its name."""
    return re.fullmatch(_NVIDIA, name, re.ASCII) is not None


def is_shim(path: Path) -> bool:
    """Tell whether a file is a shim of any store, by what it starts with."""
    header = SHIM_HEADER.encode()
    try:
        with path.open("rb") as file:
            return file.read(len(header)) == header
    except OSError:
        return False
