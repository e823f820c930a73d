"""Which file a name stands for in this shell: tools by PATH, libraries by the loader's order."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_SECONDS = 10


@dataclass(frozen=True)
class Found:
    """A file that a name may stand for.

    `path` is the real file, links resolved; `why` how it is come by; `toolkit` the folder
    two levels up, which is the toolkit if it is one.
    """

    path: str
    why: str
    toolkit: str


def find_file(name: str, variables: Mapping[str, str]) -> list[Found]:
    """List the files for a tool (`nvcc`) or library (`libcudnn.so.7`), the winner first."""
    is_library = re.search(r"\.so(\.|$)", name) is not None
    places = _library_places(name, variables) if is_library else _tool_places(name, variables)
    found: dict[str, Found] = {}
    for file, why in places:
        if file.is_file() and (is_library or os.access(file, os.X_OK)):
            real = str(file.resolve())
            found.setdefault(real, Found(real, why, str(file.parent.parent)))
    return list(found.values())


def _tool_places(name: str, variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    for folder in variables.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / name, f"`{folder}` is on PATH"


def _library_places(name: str, variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    for folder in re.split("[:;]", variables.get("LD_LIBRARY_PATH", "")):
        if folder:
            yield Path(folder) / name, f"`{folder}` is in LD_LIBRARY_PATH"
    for line in _loader_cache():
        soname, _, path = line.strip().partition(" => ")
        if path and soname.split(" ")[0] == name:
            yield Path(path), "the loader's cache has it (/etc/ld.so.conf)"
    for folder in _DEFAULT_FOLDERS:
        yield Path(folder) / name, f"`{folder}` is a default folder of the loader"


def _loader_cache() -> list[str]:
    for program in ("/sbin/ldconfig", "ldconfig"):
        try:
            done = subprocess.run(
                [program, "-p"], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return done.stdout.splitlines()
    return []
