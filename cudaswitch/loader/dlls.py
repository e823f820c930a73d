"""Windows' loader, worked out from files: which DLL a name stands for, and why.

The orders are those of Microsoft's "Dynamic-link library search order" for unpackaged apps, with
safe search mode, which has been the default since Windows XP SP2. One order holds for a file
and for everything that it brings in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from cudaswitch.pe import Pe, PeError

_VIRTUAL = re.compile(r"(?:api|ext)-ms-", re.IGNORECASE)
"""API sets: names that Windows has built in, which are not files."""

Order = tuple[tuple[str, str], ...]
"""Folders, each with the reason why it is searched."""


class Files(Protocol):
    """The files of a machine."""

    def pe(self, path: str) -> Pe:
        """Read a file. Raises PeError, also where it cannot be opened."""

    def within(self, folder: str, name: str) -> str | None:
        """Return the path of a file in a folder, by its name in any letter case."""


@dataclass(frozen=True)
class Windows:
    """What the loader uses in every process: its own folders, the current one, and PATH."""

    system: tuple[str, ...]
    directory: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A file that a name may stand for, and why; `fault` is set if it cannot be loaded."""

    path: str
    why: str
    pe: Pe | None = None
    fault: str | None = None


@dataclass(frozen=True, eq=False)
class Loaded:
    """A file in a process; `asked` is the one that brought it in."""

    path: str
    pe: Pe
    why: str
    asked: Loaded | None = None

    @property
    def name(self) -> str:
        """The name by which it is known once loaded, whatever its folder."""
        return base_name(self.path).casefold()


class Process:
    """A process as the loader fills it."""

    def __init__(self, files: Files, windows: Windows) -> None:
        self._files = files
        self._windows = windows
        self._own: str | None = None
        self._machine: int | None = None
        self.loaded: list[Loaded] = []
        self.missing: list[str] = []
        """Names that were not found, or whose file does not fit: loading what needs them fails."""

    def start(self, path: str) -> Loaded:
        """Load a program with what it needs. Raises PeError."""
        self._own = folder_of(path)
        return self.load(path, self.standard())

    def load(self, path: str, order: Order) -> Loaded:
        """Load a file with what it needs. Raises PeError."""
        pe = self._fitting(path)
        self._machine = pe.machine
        first = Loaded(path, pe, "it is named by its path")
        self.loaded.append(first)
        queue = [first]
        for owner in queue:
            for name in owner.pe.needed:
                if _VIRTUAL.match(name) or self.holding(name):
                    continue
                found = next(self.candidates(name, order), None)
                if found is None or found.pe is None:
                    self.missing.append(name)
                    continue
                new = Loaded(found.path, found.pe, found.why, owner)
                self.loaded.append(new)
                queue.append(new)
        return first

    def holding(self, name: str) -> Loaded | None:
        """Return the loaded file that answers to a name, in whatever folder it is."""
        wanted = base_name(name).casefold()
        return next((one for one in self.loaded if one.name == wanted), None)

    def candidates(self, name: str, order: Order) -> Iterator[Candidate]:
        """Yield every file that a name could stand for; the loader takes the first, or fails."""
        for folder, why in order:
            path = self._files.within(folder, name)
            if path is None:
                continue
            try:
                yield Candidate(path, why, self._fitting(path))
            except PeError as error:
                yield Candidate(path, why, fault=error.reason)

    def _fitting(self, path: str) -> Pe:
        pe = self._files.pe(path)
        if self._machine not in (None, pe.machine):
            raise PeError(path, "it is for another processor than the program")
        return pe

    def standard(self) -> Order:
        """Return the order of LoadLibrary, which is that of a program's own libraries too."""
        return (*self._program(), *self._rest())

    def altered(self, path: str) -> Order:
        """Return the order with LOAD_WITH_ALTERED_SEARCH_PATH for the file at `path`."""
        return (*_beside(path), *self._rest())

    def defaults(self, path: str) -> Order:
        """Return the order with LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR and …_DEFAULT_DIRS.

        What a program adds by AddDllDirectory (`os.add_dll_directory`) is not known here.
        """
        return (*_beside(path), *self._program(), *self._system()[:1])

    def _program(self) -> Order:
        return ((self._own, f"`{self._own}` is the program's folder"),) if self._own else ()

    def _system(self) -> Order:
        return tuple((at, f"`{at}` is a folder of Windows") for at in self._windows.system)

    def _rest(self) -> Order:
        here = self._windows.directory
        current = (here, f"`{here}` is the working directory")
        path = ((at, f"`{at}` is on PATH") for at in self._windows.path)
        return (*self._system(), current, *path)


def _beside(path: str) -> Order:
    folder = folder_of(path)
    return ((folder, f"`{folder}` is the folder of `{base_name(path)}`"),)


def base_name(path: str) -> str:
    """Return the last part of a path of either kind."""
    return re.split(r"[/\\]", path)[-1]


def folder_of(path: str) -> str:
    """Return what is before the last part of a path of either kind."""
    return path[: -len(base_name(path))].rstrip("/\\") or path[:1]
