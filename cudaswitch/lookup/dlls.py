"""Which file Windows' loader takes for a DLL: for LoadLibrary, or for a given consumer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

from cudaswitch.binaries import read_pe
from cudaswitch.environments import active_environment
from cudaswitch.errors import RequestError
from cudaswitch.loader.dlls import Loaded, Order, Process, Windows
from cudaswitch.lookup import Found, Lookup, distinct, found_at, no_program
from cudaswitch.lookup.consumers import Package
from cudaswitch.pe import Pe, PeError
from cudaswitch.regular import names_of
from cudaswitch.sites import config_of, home_in

_BINARY = re.compile(r"\.(?:dll|pyd)$", re.IGNORECASE)
_PYTHON = re.compile(r"python3(\d+)t?\.dll", re.IGNORECASE)
_WITHOUT_PATH = 8
"""Python 3.8 and newer look next to an extension, and no longer on PATH, for what it needs."""
_BY_DEFAULT = "this is what LoadLibrary finds; Python looks for what extensions need elsewhere"


def find_dll(name: str, variables: Mapping[str, str], consumer: str | None) -> Lookup:
    """List the files for a DLL, beginning with the one that the loader takes.

    Without `consumer`, that is what LoadLibrary finds in the Python of the active environment or
    on PATH. A consumer is the path of a program, a DLL or an extension module, a DLL's name, a
    package of the environment or a program on PATH. Raises RequestError if it is none of these,
    PeError if its file is not a PE file.
    """
    return _Shell(variables).answer(name, consumer)


class Disk:
    """Real files, each read once; names are found in any case, as on Windows."""

    def __init__(self) -> None:
        self.pe = cache(_read)
        self._listed = cache(_listed)

    def within(self, folder: str, name: str) -> str | None:
        """Return the path of a file in a folder, by its name in any letter case."""
        found = self._listed(folder).get(name.casefold())
        return str(Path(folder, found)) if found else None


def _read(path: str) -> Pe:
    """Read a file. Raises PeError, also where it cannot be opened."""
    try:
        return read_pe(path)
    except OSError as error:
        raise PeError(path, f"it cannot be opened: {error.strerror}") from None


def _listed(folder: str) -> dict[str, str]:
    return {name.casefold(): name for name in names_of(folder)}


class _Shell:
    """What programs started from this shell would have in common."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        folders = [at for at in variables.get("PATH", "").split(os.pathsep) if at]
        self.disk = Disk()
        self.path = folders
        self.windows = Windows(
            system=_system_folders(variables, folders),
            directory=str(Path.cwd()),
            path=tuple(folders),
        )
        active = active_environment(variables)
        self.prefix = Path(active.prefix) if active else None
        self.notes: tuple[str, ...] = ()

    def answer(self, name: str, consumer: str | None) -> Lookup:
        if consumer is None:
            process = self._python()
            notes = (f"{_BY_DEFAULT}: ask with --from",) if self._is_strict(process) else ()
            return self._found(name, process, process.standard(), notes=notes)
        if "/" in consumer or "\\" in consumer or os.path.isfile(consumer):
            return self._of_file(name, str(Path(consumer).absolute()))
        if _BINARY.search(consumer):
            return self._of_library(name, consumer)
        package = Package(consumer, self.prefix) if self.prefix else None
        if package and package.is_there:
            return self._of_package(name, consumer, package.libraries(_BINARY))
        path = self._on_path(consumer) or self._on_path(f"{consumer}.exe")
        if path is None:
            raise no_program(consumer, self.prefix, "DLL")
        return self._of_file(name, path)

    def _of_file(self, name: str, path: str) -> Lookup:
        if not self.disk.pe(path).is_library:
            process = Process(self.disk, self.windows)
            return self._found(name, process, process.standard(), process.start(path))
        process = self._python()
        order = self._imports(process, path)
        return self._found(name, process, order, process.load(path, order))

    def _of_library(self, name: str, consumer: str) -> Lookup:
        process = self._python()
        order = process.standard()
        loaded = process.holding(consumer)
        if loaded is None:
            one = next(process.candidates(consumer, order), None)
            if one is None:
                raise RequestError(
                    f"`{consumer}` was not found in this shell (asked for by --from)"
                )
            loaded = process.load(one.path, order)
        return self._found(name, process, order, loaded)

    def _of_package(self, name: str, package: str, paths: Iterator[str]) -> Lookup:
        """Ask for each library of a package anew, as Python would load it."""
        for path in paths:
            process = self._python()
            order = self._imports(process, path)
            with suppress(PeError):
                loaded = process.load(path, order)
                if process.holding(name):
                    return self._found(name, process, order, loaded)
        process = self._python()
        note = f"no library of `{package}` needs it: this is what LoadLibrary finds"
        return self._found(name, process, process.standard(), notes=(note,))

    def _python(self) -> Process:
        """Start the environment's Python; without one, no program's folder is searched first."""
        process = Process(self.disk, self.windows)
        if self.python:
            try:
                process.start(self.python)
            except PeError as error:  # such as Windows' app aliases, which cannot be read
                self.notes = (error.message,)
        return process

    @cached_property
    def python(self) -> str | None:
        """The program that runs: a virtualenv's own is a launcher, which starts its base's."""
        if self.prefix:
            for folder in (home_in(config_of(self.prefix)), str(self.prefix)):
                found = self.disk.within(folder, "python.exe") if folder else None
                if found:
                    return found
        return self._on_path("python.exe")

    def _imports(self, process: Process, path: str) -> Order:
        return process.defaults(path) if self._is_strict(process) else process.altered(path)

    def _is_strict(self, process: Process) -> bool:
        names = (_PYTHON.fullmatch(one.name) for one in process.loaded)
        return all(int(match[1]) >= _WITHOUT_PATH for match in names if match)

    def _on_path(self, name: str) -> str | None:
        return next(filter(None, (self.disk.within(at, name) for at in self.path)), None)

    def _found(
        self,
        name: str,
        process: Process,
        order: Order,
        consumer: Loaded | None = None,
        notes: tuple[str, ...] = (),
    ) -> Lookup:
        found: list[Found] = []
        loaded = process.holding(name)
        if loaded:
            asker = loaded.asked
            by = f", loaded before for `{asker.path}`" if asker and asker is not consumer else ""
            found.append(found_at(loaded.path, loaded.why + by))
        others = process.candidates(name, order)
        found += [found_at(other.path, other.why, other.fault) for other in others]
        asked_by = consumer.path if consumer else None
        return Lookup(distinct(found), asked_by, notes=(*notes, *self.notes))


def _system_folders(variables: Mapping[str, str], path: list[str]) -> tuple[str, ...]:
    """Find Windows' folders: named by a variable, else by PATH, as in WSL."""
    root = variables.get("SystemRoot") or variables.get("SYSTEMROOT")
    on_path = (Path(at) for at in path if Path(at).name.casefold() == "system32")
    system = Path(root, "System32") if root else next(on_path, None)
    if system is None:
        return ()
    return (str(system), str(system.parent / "System"), str(system.parent))
