"""What an installed toolkit lacks. Its files are looked for, but none is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cudaswitch.activation import CUPTI, LIBRARY_FOLDERS
from cudaswitch.compat.sonames import soname
from cudaswitch.toolkit import Toolkit

_OF_ITS_OWN = {
    "nvvm": ("nvvm/lib64/libnvvm.so", "nvvm/lib64/libnvvm.so.4"),
    "nvcc": ("bin/nvcc", "bin/nvcc.exe", "Library/bin/nvcc.exe"),
}
"""Part that has a folder of its own → the files there, by any of which it is opened."""


def absent(kit: Toolkit, parts: Sequence[str]) -> tuple[str, ...]:
    """List, by their file names, which of these parts a toolkit lacks.

    `parts` are `nvcc`, or the names of libraries without `lib`. No library is listed if the
    runtime is not in the first folder that goes into LD_LIBRARY_PATH either: such a toolkit, as
    Debian's, has its libraries elsewhere.
    """
    folders = (f"{kit.path}/{name}" for name in LIBRARY_FOLDERS)
    folder = next(filter(os.path.isdir, folders), None)
    has_libraries = folder is not None and os.path.exists(
        f"{folder}/{soname('cudart', kit.version)}"
    )
    missing = []
    for part in parts:
        if part != "nvcc" and not has_libraries:
            continue
        name = soname(part, kit.version)
        places = [f"{at}/{name}" for at in (folder, f"{kit.path}/{CUPTI}")] if name else []
        if part in _OF_ITS_OWN:
            places = [f"{kit.path}/{at}" for at in _OF_ITS_OWN[part]]
        if places and not any(map(os.path.exists, places)):
            missing.append(os.path.basename(places[0]))
    return tuple(missing)
