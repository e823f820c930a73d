"""Processes in which libraries are looked for: Python's, a program's, a framework's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from cudaswitch.compat.frameworks import framework_called, frameworks
from cudaswitch.detect.machine import glibc
from cudaswitch.detect.packages import Dist, layers, normalised
from cudaswitch.detect.reading import RECORD_LIMIT, Reading
from cudaswitch.elf import Elf, ElfError
from cudaswitch.environments import active_environment
from cudaswitch.loader import Loaded, Process
from cudaswitch.lookup.disk import Disk, this_system
from cudaswitch.programs import find_program
from cudaswitch.sites import matching

_BY_PATH = re.compile(r"""\(\s*"(\w+)",\s*"(lib[\w.*\[\]-]+)"\s*\)""")
"""A folder of `nvidia` and a pattern of file names, as arguments or tuples in source code."""

_SHARED, _EXTENSION = re.compile(r"\.so(\.|$)"), re.compile(r"\.cpython-|\.pyd$")

_MOST_FILES = 20_000


class World:
    """What all processes of this shell share; `variables` are those that they would get."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.disk = Disk()
        self.notes: tuple[str, ...] = ()
        if glibc() is None:
            self.notes += ("worked out by the rules of glibc, which this machine does not have",)
        self.prefix, self.python = self._python()
        interpreter = self.elf(self.python).interpreter if self.python else None
        self.system = this_system(interpreter, os.getcwd())

    def elf(self, path: str) -> Elf:
        """Read an ELF file. Raises ElfError, also if there is no file."""
        elf = None
        with suppress(OSError):
            elf = self.disk.elf(path)
        if elf is None:
            raise ElfError(path, "it cannot be opened")
        return elf

    def program(self, path: str) -> tuple[Process, Loaded]:
        """Start a program, whose path must have no links."""
        process = self._process()
        return process, process.start(path, self.elf(path))

    def interpreter(self) -> tuple[Process, Loaded | None, Loaded | None]:
        """Start the environment's Python.

        Also return its file that imports extensions, and the one that loads for ctypes; both are
        None without a Python, or if it is a script that starts one.
        """
        if self.python is None:
            return self._process(), None, None
        process, main = self.program(self.python)
        linked = (one for one in process.loaded if _is_libpython(one.elf.soname or ""))
        importer = next(linked, main)
        extension = _ctypes_of(Path(self.python))
        loader = process.dlopen(extension, importer) if extension else None
        return process, importer, loader or importer

    def _process(self) -> Process:
        get = self.variables.get
        return Process(self.disk, self.system, get("LD_LIBRARY_PATH", ""), get("LD_PRELOAD", ""))

    def _python(self) -> tuple[Path | None, str | None]:
        """Find the prefix whose packages are imported, and the file of its Python."""
        environment = active_environment(self.variables)
        names = [f"{environment.prefix}/bin/python"] if environment else []
        path = self.variables.get("PATH", "")
        names += [at for name in ("python3", "python") if (at := find_program(name, path))]
        for name in names:
            real = os.path.realpath(name)
            if not os.access(real, os.X_OK):
                continue
            try:
                self.elf(real)
                return Path(name).absolute().parent.parent, real
            except ElfError:
                self.notes += (f"`{name}` is a script: the Python that runs it is not considered",)
                break
        return Path(environment.prefix) if environment else None, None


def _is_libpython(soname: str) -> bool:
    return re.match(r"libpython\d\.\d", soname) is not None


def _ctypes_of(python: Path) -> str | None:
    """Find the extension that calls `dlopen` for ctypes; it may be built in."""
    libraries = python.parent.parent / "lib"
    named = re.search(r"\d+\.\d+t?$", python.name)
    pattern = f"python{named[0]}" if named else "python3.*"
    found = sorted(libraries.glob(f"{pattern}/lib-dynload/_ctypes.*.so"))
    return str(found[-1]) if found else None


class Package:
    """A framework or another package of an environment.

    `name` is the name that is imported, else the one that pip has for it.
    """

    def __init__(self, name: str, prefix: Path) -> None:
        reading, dist = Reading(prefix), normalised(name)
        found = layers(prefix, reading, (dist,))
        self.sites = [site.path for layer in found for site in layer.sites]
        framework = framework_called(name)
        self._loading = framework.loading if framework else None
        known = self._loading.folders if self._loading else framework.folders if framework else ()
        wanted = known or (name, name.replace("-", "_"))
        self.folders = [
            site / folder
            for site in self.sites
            for folder in dict.fromkeys(wanted)
            if folder and "/" not in folder and os.path.isdir(site / folder)
        ]
        dists = (it for layer in found for site in layer.sites for it in site.dists)
        named = () if self.folders else (it for it in dists if it.name == dist)
        self._recorded = [file for it in named for file in _recorded(it, reading)]

    @property
    def is_there(self) -> bool:
        return bool(self.folders or self._recorded)

    def start(self, process: Process, caller: Loaded | None) -> list[Loaded]:
        """Load what the package loads first, and what it then loads by path."""
        loading = self._loading
        if loading is None:
            return []
        first = [
            loaded
            for site in self.sites
            for file in loading.first
            if os.path.isfile(site / file) and (loaded := process.dlopen(str(site / file), caller))
        ]
        if loading.when and any(loading.when in one.path for one in process.loaded):
            for path in self._by_path:
                process.dlopen(path, caller, f"`{loading.by_path}` loads it by its path")
        return first

    @cached_property
    def _by_path(self) -> list[str]:
        """List the files that the package's own code names, up to the first that is not there."""
        source = self._loading.by_path if self._loading else ""
        text = next(filter(None, (Reading(at).text(at / source) for at in self.sites)), "")
        found = (self._in_wheels(*pair) for pair in _BY_PATH.findall(text))
        return list(takewhile(bool, found))

    def _in_wheels(self, folder: str, pattern: str) -> str:
        for site in self.sites:
            for place in (folder, "cu[0-9]*"):
                found = sorted(site.glob(f"nvidia/{place}/lib/{pattern}"))
                if found:
                    return str(found[0])
        return ""

    def libraries(self, named: re.Pattern[str] = _SHARED) -> Iterator[str]:
        """Yield the package's libraries, those whose names match `named`, extensions first."""
        for folder in self.folders:
            names = []
            for at, folders, files in os.walk(folder):
                folders.sort()
                names += [f"{at}/{name}" for name in files if named.search(name)]
                if len(names) > _MOST_FILES:
                    break
            yield from _in_order(names)
        yield from _in_order([name for name in self._recorded if named.search(name)])


def _in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: (not _EXTENSION.search(name), name))


def _recorded(dist: Dist, reading: Reading) -> Iterator[str]:
    """Yield the files of a distribution, as RECORD lists them: a name, its hash and its size."""
    for line in (reading.text(dist.record / "RECORD", RECORD_LIMIT) or "").splitlines():
        file = dist.site / line.rsplit(",", 2)[0].strip('"')
        if os.path.isfile(file):
            yield str(file)


def brought(name: str, prefix: str) -> tuple[str, str] | None:
    """Find a library among those that packages of an environment bring, and its consumer there.

    The consumer is an installed framework, else the folder that has the library.
    """
    found = layers(Path(prefix), Reading(Path(prefix)), ())
    sites = [site.path for layer in found for site in layer.sites]
    patterns = [f"nvidia/*/lib/{name}", f"torch/lib/{name}"]
    places = [(site, at) for site in sites for each in patterns for at in matching(site, each)]
    for site, file in places:
        if os.path.isfile(file):
            loading = (one.loading for one in frameworks().values())
            users = [folder for one in loading if one for folder in one.folders]
            there = (one for one in users if any(os.path.isdir(at / one) for at in sites))
            return file, next(there, Path(file).relative_to(site).parts[0])
    return None
