"""The folders that a list in a text stands for: separators, tokens, empty elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cudaswitch.loader.cache import Cache

_TOKEN = re.compile(r"\$(?:\{(ORIGIN|PLATFORM|LIB)\}|(ORIGIN|PLATFORM|LIB))")


@dataclass(frozen=True)
class System:
    """What the loader of a machine has built in or reads from `/etc`.

    `defaults` are its folders of last resort, `lib` and `platform` what $LIB and $PLATFORM
    stand for, `subfolders` what it tries in each folder before the folder itself, `hwcaps`
    the glibc-hwcaps names that this processor can use, `preload` the contents of
    `/etc/ld.so.preload`. `kind` is the kind of file that it loads if no program says otherwise
    (Elf.loads_like). Relative folders are relative to `directory`.
    """

    defaults: tuple[str, ...]
    lib: str
    platform: str
    directory: str
    kind: tuple[int, bool, int]
    subfolders: tuple[str, ...] = ()
    hwcaps: tuple[str, ...] = ()
    cache: Cache = field(default_factory=Cache)
    preload: str = ""


def expand(text: str, origin: str, system: System) -> str:
    """Expand $ORIGIN, $LIB and $PLATFORM, with or without braces; others stay as they are."""
    values = {"ORIGIN": origin, "LIB": system.lib, "PLATFORM": system.platform}
    return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)


def listed(text: str | None, separators: str, origin: str, system: System) -> Iterator[str]:
    """Yield the folders of an RPATH (separator `:`) or LD_LIBRARY_PATH (`:` and `;`).

    An empty element is the working directory and comes as an empty text; an empty list has
    no elements.
    """
    for part in re.split(f"[{separators}]", text) if text else ():
        folder = expand(part, origin, system)
        if folder or not part:
            yield folder.rstrip("/") or folder[:1]


def joined(folder: str, name: str) -> str:
    """Name a file in a folder as the loader does; in the working directory (""), just its name."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def origin_of(path: str, directory: str) -> str:
    """Return what $ORIGIN is for a loaded file: its folder, links not resolved."""
    full = path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
    return full.rpartition("/")[0] or "/"
