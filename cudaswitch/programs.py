"""Which program a name stands for on PATH. `exec` starts with it, so it loads nothing.

The standard library's `which` is the same search, and takes longer to load than all of ours.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike


def is_program(path: str | PathLike[str]) -> bool:
    """Tell whether a path is a file that may be executed."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def search_path(variables: Mapping[str, str]) -> str:
    """Return what is searched for programs: PATH, the system's own folders where it is unset.

    An empty PATH is the working directory, as is nothing between two colons.
    """
    return variables.get("PATH", os.defpath) or os.pathsep


def find_program(name: str, path: str) -> str | None:
    """Find the first program of that name in the folders of `path`; a path names itself."""
    if os.sep in name:
        return name if is_program(name) else None
    folders = path.split(os.pathsep) if path else []
    return next(filter(is_program, (os.path.join(folder, name) for folder in folders)), None)
