"""glibc's dynamic loader, worked out from files: which file a name stands for, and why.

The order is that of elf/dl-load.c, `_dl_map_object`: what is loaded already; DT_RPATH of the
file that asks, of those that brought it in, and of the program, unless the file that asks has
DT_RUNPATH; LD_LIBRARY_PATH; DT_RUNPATH of the file that asks; the cache; the default folders.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from cudaswitch.elf import NODEFLIB, Elf, ElfError
from cudaswitch.loader.cache import Cache, parse_cache
from cudaswitch.loader.folders import System, expand, joined, listed, origin_of

__all__ = ["Cache", "Candidate", "Files", "Loaded", "Process", "System", "parse_cache"]


class Files(Protocol):
    """The files of a machine; paths may be relative to the working directory."""

    def elf(self, path: str) -> Elf | None:
        """Read a file; None if none can be opened.

        Raises ElfError, and OSError where the loader gives up the list of folders: for a file
        that exists and may be read, but cannot be opened, such as a link to itself.
        """

    def identity(self, path: str) -> Hashable:
        """Return what two names of one file have in common."""


@dataclass(frozen=True)
class Candidate:
    """A file that a name may stand for, and why; `fault` is set if it cannot be loaded.

    At a damaged file the loader fails; it does not look further.
    """

    path: str
    why: str
    elf: Elf | None = None
    fault: str | None = None


@dataclass(eq=False)
class Loaded:
    """A file in a process: `asked` is the one that brought it in.

    `names` are those by which it has been asked for, the first being the one it was loaded for.
    """

    path: str
    elf: Elf
    why: str
    identity: Hashable
    asked: Loaded | None = None
    names: list[str] = field(default_factory=list)
    main: bool = False

    def answers_to(self, name: str) -> bool:
        return name in (*self.names, self.path, self.elf.soname)

    @property
    def rpath(self) -> str | None:
        """DT_RPATH, which counts only without a DT_RUNPATH."""
        return self.elf.rpath if self.elf.runpath is None else None


class Process:
    """A process as the loader fills it: the program, what is preloaded, what these need."""

    def __init__(
        self, files: Files, system: System, library_path: str = "", preload: str = ""
    ) -> None:
        """`library_path` and `preload` are LD_LIBRARY_PATH and LD_PRELOAD."""
        self._files = files
        self._system = system
        self._library_path = library_path
        self._preload = preload
        self._main: Loaded | None = None
        self.loaded: list[Loaded] = []
        self.missing: list[tuple[str, Loaded | None]] = []
        """Names that were not found, with the file that needs them: the loader would give up."""
        self.faults: list[Candidate] = []

    def start(self, path: str, elf: Elf) -> Loaded:
        """Load a program; `path` must be absolute and without links, as $ORIGIN depends on it."""
        main = Loaded(path, elf, "it is the program", self._files.identity(path), main=True)
        self._main = main
        self.loaded.append(main)
        if elf.interpreter and (loader := self._elf_of(elf.interpreter)):
            why = f"it is the loader of `{path}`"
            self._add(elf.interpreter, loader, why, elf.interpreter, main)
        first = [main]
        lists = (
            ("LD_PRELOAD names it", self._preload.replace(":", " ").split()),
            ("/etc/ld.so.preload names it", _preloads(self._system.preload)),
        )
        for why, names in lists:
            for name in names:
                found = self._map(name, main, why)
                if found and found not in first:
                    first.append(found)
        # The loader leaves out what cannot be preloaded, with a warning.
        self.missing, self.faults = [], []
        self._bring_in(first)
        return main

    def dlopen(self, name: str, caller: Loaded | None, why: str = "") -> Loaded | None:
        """Load a file by name, or by a path, as code in `caller` would; None if not found.

        `why` replaces the loader's own reason.
        """
        known = set(map(id, self.loaded))
        found = self._map(name, caller, why)
        if found and id(found) not in known:
            self._bring_in([found])
        return found

    def holding(self, name: str) -> Loaded | None:
        """Return the loaded file that answers to a name."""
        return next((one for one in self.loaded if one.answers_to(name)), None)

    def candidates(self, name: str, caller: Loaded | None) -> Iterator[Candidate]:
        """Yield every file that a name could stand for, without regard to what is loaded.

        The loader takes the first, which shadows the others.
        """
        asker = caller or self._main
        if "/" in name:
            path = expand(name, self._origin(asker), self._system)
            with suppress(OSError):
                yield from self._at(path, "it is named by its path")
            return
        for folders in self._own_lists(caller):
            yield from self._along(folders, name)
        no_defaults = bool(asker and asker.elf.flags & NODEFLIB)
        left_out = tuple(f"{folder}/" for folder in self._system.defaults if no_defaults)
        for path in self._system.cache.find(name, self._kind[2], self._system.hwcaps):
            if not path.startswith(left_out):
                with suppress(OSError):
                    yield from self._at(path, "the loader's cache has it (/etc/ld.so.conf)")
        last = () if no_defaults else self._system.defaults
        folders = ((at, f"`{at}` is a default folder of the loader") for at in last)
        yield from self._along(folders, name)

    @property
    def _kind(self) -> tuple[int, bool, int]:
        return self._main.elf.loads_like if self._main else self._system.kind

    def _own_lists(self, caller: Loaded | None) -> Iterator[Iterator[tuple[str, str]]]:
        """Yield the lists of folders that environment variables and the files themselves hold."""
        if caller is None or caller.elf.runpath is None:
            for owner in self._rpath_owners(caller):
                yield self._folders(owner.rpath, "RPATH", owner)
        origin = self._origin(self._main)
        folders = listed(self._library_path, ":;", origin, self._system)
        yield ((folder, _because(folder, "LD_LIBRARY_PATH")) for folder in folders)
        if caller:
            yield self._folders(caller.elf.runpath, "RUNPATH", caller)

    def _rpath_owners(self, caller: Loaded | None) -> Iterator[Loaded]:
        """Yield the file that asks, the one that brought it in, and so on; always the program."""
        owner = caller
        while owner and not owner.main:
            yield owner
            owner = owner.asked
        if self._main:
            yield self._main

    def _folders(self, text: str | None, what: str, owner: Loaded) -> Iterator[tuple[str, str]]:
        for folder in listed(text, ":", self._origin(owner), self._system):
            yield folder, _because(folder, f"the {what} of `{owner.path}`")

    def _origin(self, owner: Loaded | None) -> str:
        return origin_of(owner.path, self._system.directory) if owner else ""

    def _along(self, folders: Iterable[tuple[str, str]], name: str) -> Iterator[Candidate]:
        """Yield the files of that name in a list of folders, up to one that ends the list."""
        with suppress(OSError):
            for folder, why in folders:
                for below in self._system.subfolders:
                    path = joined(joined(folder, below), name)
                    yield from self._at(path, f"{why}, with `{below}`")
                yield from self._at(joined(folder, name), why)

    def _at(self, path: str, why: str) -> Iterator[Candidate]:
        try:
            elf = self._files.elf(path)
        except ElfError as error:
            if self._fits(error.loads_like):
                yield Candidate(path, why, fault=error.reason)
            return
        if elf and self._fits(elf.loads_like):
            yield Candidate(path, why, elf)

    def _fits(self, kind: tuple[int, bool, int] | None) -> bool:
        """Tell whether the loader considers a file, rather than pass over it."""
        return kind is None or kind == self._kind

    def _elf_of(self, path: str) -> Elf | None:
        with suppress(OSError):
            return next((one.elf for one in self._at(path, "")), None)
        return None

    def _map(self, name: str, caller: Loaded | None, why: str = "") -> Loaded | None:
        if loaded := self.holding(name):
            return loaded
        found = next(self.candidates(name, caller), None)
        if found is None:
            self.missing.append((name, caller))
            return None
        if found.elf is None:
            self.faults.append(found)
            return None
        return self._add(found.path, found.elf, why or found.why, name, caller)

    def _add(self, path: str, elf: Elf, why: str, name: str, asked: Loaded | None) -> Loaded:
        identity = self._files.identity(path)
        for one in self.loaded:
            if one.identity == identity:
                one.names.append(name)
                return one
        new = Loaded(path, elf, why, identity, asked, [name])
        self.loaded.append(new)
        return new

    def _bring_in(self, first: list[Loaded]) -> None:
        """Load what some files need, and what those need in turn: all for one before the next."""
        seen = set(map(id, first))
        queue = list(first)
        for owner in queue:
            for needed in owner.elf.needed:
                name = expand(needed, self._origin(owner), self._system)
                found = self._map(name, owner)
                if found and id(found) not in seen:
                    seen.add(id(found))
                    queue.append(found)


def _because(folder: str, where: str) -> str:
    if folder:
        return f"`{folder}` is in {where}"
    return f"an empty element in {where} is the working directory"


def _preloads(text: str) -> list[str]:
    lines = (line.partition("#")[0] for line in text.splitlines())
    return [name for line in lines for name in line.replace(":", " ").split()]
