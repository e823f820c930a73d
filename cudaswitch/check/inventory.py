"""The libraries of a toolkit: those that are there, those that should be, and their versions."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.activation import CUPTI, LIBRARY_FOLDERS
from cudaswitch.archives.components import CUDA_NUMBERED, component_with, named_component
from cudaswitch.binaries import read_elf
from cudaswitch.check.calls import CALLS, stem
from cudaswitch.compose import place
from cudaswitch.elf import ElfError
from cudaswitch.errors import RequestError
from cudaswitch.regular import read_json, read_regular
from cudaswitch.store import Store, read_package
from cudaswitch.toolkit import Entry, Package, Toolkit
from cudaswitch.versions import Version

_LIBRARY = re.compile(r"lib[^/]+\.so(?:\.[^/]*)?")
_BESIDE = (CUPTI, "nvvm/lib64")
_SCRIPT = re.compile(rb"\A[\s\0-\x7f]{0,2000}?\b(?:INPUT|GROUP)\s*\(")
"""A linker script: a text that names libraries, for the linker; the loader never sees it."""
_READ_LIMIT = 1 << 20
_LINKS = 9
"""How many links in a row are followed."""


@dataclass(frozen=True)
class Library:
    """A library file. `name` is what a program asks for: its SONAME, else the file's name.

    `fault` says what is wrong with it, as far as that shows without loading it. `shipped` is
    what its package says about it, if there is one. `version` is what it should report, and
    `source` says where that is stated.
    """

    name: str
    path: Path
    fault: str | None = None
    package: Package | None = None
    shipped: Entry | None = None
    version: Version | None = None
    source: str = ""


@dataclass(frozen=True)
class Inventory:
    """A toolkit with the packages that it was composed of, none for an adopted one."""

    kit: Toolkit
    packages: Sequence[Package]
    folders: Sequence[Path]

    @classmethod
    def of(cls, kit: Toolkit, stores: Iterable[Store]) -> Inventory:
        """Read what the store knows about a toolkit. Raises StoreError for damaged records."""
        root = Path(kit.path)
        main = next((at for at in LIBRARY_FOLDERS if os.path.isdir(root / at)), None)
        folders = [root / at for at in ([main] if main else []) + list(_BESIDE)]
        known: dict[str, Package] = {}
        for store in stores:
            for name in kit.packages:
                package = None if name in known else read_package(store.home.packages / name)
                if package:
                    known[name] = package
        packages = [known[name] for name in kit.packages if name in known]
        return cls(kit, packages, [folder for folder in folders if os.path.isdir(folder)])

    def libraries(self) -> Iterator[Library]:
        """Yield each library once, sorted by name, and each that is missing."""
        shipped = self._shipped()
        stated = _stated(Path(self.kit.path))
        seen: set[tuple[int, int]] = set()
        found = {path.relative_to(self.kit.path).as_posix(): path for path in self._files()}
        missing = [at for at in shipped if not os.path.lexists(Path(self.kit.path, at))]
        # Of the names of a file, the one that programs ask for comes first.
        order = sorted(
            found,
            key=lambda at: (found[at].name != _soname(found[at]), os.path.islink(found[at]), at),
        )
        libraries = [
            self._library(at, shipped, stated)
            for at in order
            # A link that leads elsewhere is reported by its own name, even if its file is known.
            if (_is_new(found[at], seen) or _elsewhere(found[at], shipped.get(at)))
            and not _leads_to(found[at], missing)
        ]
        libraries += [
            Library(Path(at).name, Path(self.kit.path, at), "it is missing", *shipped[at])
            for at in missing
        ]
        return iter(sorted(libraries, key=lambda one: (one.name.lower(), str(one.path))))

    def names(self) -> dict[str, str]:
        """Map the name of each library file to its path."""
        return {path.name: str(path) for path in reversed(list(self._files()))}

    def _files(self) -> Iterator[Path]:
        for folder in self.folders:
            for path in sorted(folder.iterdir()):
                if _LIBRARY.fullmatch(path.name) and not _is_script(path):
                    yield path

    def _shipped(self) -> dict[str, tuple[Package, Entry]]:
        """Map each place of a library in the toolkit to what was put there; the first wins."""
        root = Path(self.kit.path)
        folders = {folder.relative_to(root).as_posix() for folder in self.folders}
        found: dict[str, tuple[Package, Entry]] = {}
        for package in self.packages:
            for entry in package.entries:
                at = place(package, entry.path)
                if at is None or not _LIBRARY.fullmatch(at.rpartition("/")[2]):
                    continue
                leads_to_itself = entry.target is not None and _name(entry.target) == _name(at)
                if at.rpartition("/")[0] in folders and not leads_to_itself:
                    found.setdefault(at, (package, entry))
        return found

    def _library(
        self,
        at: str,
        shipped: Mapping[str, tuple[Package, Entry]],
        stated: Mapping[str, Version],
    ) -> Library:
        path = Path(self.kit.path, at)
        name = path.name
        if fault := _elsewhere(path, shipped.get(at)):
            return Library(name, path, fault, *shipped[at])
        # Links, whether a package's own or added by composing, have the content of their target.
        end = _end(self.kit.path, at)
        package, entry = shipped.get(end) or shipped.get(at) or (None, None)
        try:
            elf = read_elf(path)
            name = elf.soname if elf.soname and os.path.exists(path.parent / elf.soname) else name
            size = path.stat().st_size
            if size < elf.extent:
                fault = f"it is cut short: {size} of at least {elf.extent} bytes are there"
        except ElfError as error:
            fault = error.reason
        except OSError as error:
            fault = (
                f"it is a dangling link: {path.readlink()}" if os.path.islink(path) else str(error)
            )
        version, source = self._expected(stem(path.name), package, stated)
        return Library(name, path, fault, package, entry, version, source)

    def _expected(
        self, name: str, package: Package | None, stated: Mapping[str, Version]
    ) -> tuple[Version | None, str]:
        """Tell which version a library should report: by package, version.json, header, release."""
        part = component_with(name)
        if package and package.component not in ("cuda", ""):
            return package.version, package.name
        if part in stated:
            return stated[part], "version.json"
        header = _of_header(Path(self.kit.path), name)
        if header:
            return header
        if part in CUDA_NUMBERED:
            return Version(self.kit.version.minor), "the toolkit's release"
        return None, ""


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _end(root: str, at: str) -> str:
    """Follow links from one place in a toolkit to another, as long as they stay in it.

    On file systems without hard links, a toolkit's files are themselves links that lead out of it.
    """
    for _ in range(_LINKS):
        path = os.path.join(root, at)
        if not os.path.islink(path):
            break
        target = posixpath.normpath(posixpath.join(posixpath.dirname(at), os.readlink(path)))
        if target.startswith(("/", "../")):
            break
        at = target
    return at


def _is_new(path: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = path.stat()
    except OSError:
        return True
    key = (status.st_dev, status.st_ino)
    is_new = key not in seen
    seen.add(key)
    return is_new


def _leads_to(path: Path, missing: list[str]) -> bool:
    """Tell whether `path` is a link to a missing library, which is then reported instead."""
    return os.path.islink(path) and path.readlink().name in map(_name, missing)


def _soname(path: Path) -> str | None:
    try:
        return read_elf(path).soname
    except (ElfError, OSError):
        return None


def _is_script(path: Path) -> bool:
    if path.suffix != ".so":
        return False
    try:
        return bool(_SCRIPT.match(read_regular(path, 2048, head=True)))
    except OSError:
        return False


def _elsewhere(path: Path, shipped: tuple[Package, Entry] | None) -> str | None:
    """Tell where a package's link leads now, if that is not where the package has it lead."""
    target = shipped[1].target if shipped else None
    if target is None or "/" in target:
        return None
    meant = path.parent / target
    if os.path.exists(meant) and os.path.exists(path) and not path.samefile(meant):
        return f"it leads to `{path.resolve()}` instead of {target}"
    return None


def _stated(root: Path) -> dict[str, Version]:
    """Read the versions of components that NVIDIA's own version.json states (11.1 and later)."""
    try:
        data = read_json(root / "version.json", _READ_LIMIT)
        rows = {key: str(row["version"]) for key, row in data.items() if "version" in row}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    found: dict[str, Version] = {}
    for key, text in rows.items():
        part = named_component(key)
        try:
            if part and part != "cuda":
                found[part] = Version(text)
        except RequestError:
            continue
    return found


def _of_header(root: Path, name: str) -> tuple[Version, str] | None:
    call = CALLS.get(name)
    if call is None or not call.header:
        return None
    try:
        head = read_regular(root / "include" / call.header, _READ_LIMIT, head=True)
    except OSError:
        return None
    text = head.decode("utf-8", "replace")
    matches = [
        re.search(rf"^\s*#\s*define {call.macros}{part}\s+(\d+)\s", text, re.M | re.ASCII)
        for part in ("MAJOR", "MINOR", "PATCH(?:LEVEL)?")
    ]
    parts = [match[1] for match in matches if match]
    return (Version(".".join(parts)), call.header) if len(parts) == 3 else None
