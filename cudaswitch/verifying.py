"""Check every file of packages and toolkits against the hashes recorded at installation.

Nothing is written, so that everybody can check a shared store. Other processes may change the
store meanwhile: a folder that was replaced during its check is checked again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from cudaswitch.compose import place, replaced
from cudaswitch.contents import Contents, is_closed, is_left_out, read_contents, walk
from cudaswitch.errors import RequestError, StoreError
from cudaswitch.ownership import is_open_as
from cudaswitch.paths import CONTENTS, MANIFEST
from cudaswitch.regular import read_json
from cudaswitch.staging import layout_of
from cudaswitch.store import RECORD_BYTES, Store, names_in, read_package, read_toolkit
from cudaswitch.toolkit import Entry, Package, Toolkit, parents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_READERS = min(8, os.cpu_count() or 1)
_TRIES = 3
_PAUSE = 0.2
"""Seconds after which a folder that is being replaced is there again."""
_NEVER = stat.S_ISUID | stat.S_ISGID
"""Modes that no file in a store has."""


_Record = TypeVar("_Record", Toolkit, Package, Contents)

Kind = Literal["changed", "missing", "extra"]


class Finding(NamedTuple):
    """A file that is not what was recorded; `owner` is `packages/ID` or `toolkits/NAME`.

    `path` is below that folder, empty for the folder itself. The file that tells the
    store's layout is its own owner.
    """

    kind: Kind
    owner: str
    path: str

    @property
    def shown(self) -> str:
        return f"{self.owner}/{self.path}" if self.path else self.owner


@dataclass
class Report:
    """What was found, what was looked at, and adopted toolkits (name to place), which were not."""

    findings: list[Finding] = field(default_factory=list)
    toolkits: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    adopted: dict[str, str] = field(default_factory=dict)


class Hashes:
    """The sha256 of files, several at a time, and of each inode once.

    The threads start when there is something for them to do, and end with the `with` block.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._known: dict[tuple[int, ...], Future[str | None]] = {}

    def __enter__(self) -> Hashes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            # After an interrupt, say, nobody needs those in the queue any more.
            self._pool.shutdown(cancel_futures=True)

    def of(self, path: Path, status: os.stat_result) -> Future[str | None]:
        """Promise the hash of a regular file, None if it cannot be read."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # slow to load

            self._pool = ThreadPoolExecutor(_READERS)
        # Inode numbers of deleted files are used again, so they alone do not identify a file.
        key = status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns
        if key not in self._known:
            self._known[key] = self._pool.submit(_sha256, path)
        return self._known[key]


def _sha256(path: Path) -> str | None:
    from cudaswitch.download.cache import file_sha256  # noqa: PLC0415  # slow to load

    try:
        return file_sha256(path)
    except OSError:
        return None


def check(store: Store, names: Sequence[str] = ()) -> Report:
    """Check toolkits and the packages they are made of; without names, all that the store has."""
    report = Report()
    if not names and not layout_of(store.home):
        report.findings.append(Finding("changed", store.home.layout.name, ""))
    for owner in () if names else ("packages", "toolkits"):
        report.findings += _otherwise_open(store, owner, "")
    packages: dict[str, None] = {}
    with Hashes() as hashes:
        for name in names or names_in(store.home.toolkits):
            kit = _readable(read_toolkit, store.home.toolkits / name)
            if kit and not kit.packages:
                report.adopted[name] = kit.path
                continue
            look = partial(_check_toolkit, store, name, hashes)
            found = _settled(store.home.toolkits / name, look)
            report.findings += found
            if Finding("extra", f"toolkits/{name}", "") not in found:
                report.toolkits.append(name)
            packages |= dict.fromkeys(kit.packages if kit else ())
        if not names:
            packages |= dict.fromkeys(names_in(store.home.packages))
        for at in sorted(packages):
            look = partial(_check_package, store, at, hashes)
            found = _settled(store.home.packages / at, look)
            report.findings += found
            if Finding("extra", f"packages/{at}", "") not in found:
                report.packages.append(at)
    return report


def _settled(folder: Path, look: Callable[[], list[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    for _ in range(_TRIES):
        before = _inode(folder)
        try:
            found = look()
        except FileNotFoundError:
            if _inode(folder) == before:
                raise
            continue
        if not found:
            break
        if before is None:
            time.sleep(_PAUSE)
        if _inode(folder) == before:
            break
    return found


def _inode(folder: Path) -> int | None:
    try:
        return folder.stat().st_ino
    except OSError:
        return None


def _readable(read: Callable[[Path], _Record | None], folder: Path) -> _Record | None:
    """Return what a record or list says, None also if it is damaged."""
    try:
        return read(folder)
    except StoreError:
        return None


def _check_toolkit(store: Store, name: str, hashes: Hashes) -> list[Finding]:
    """Check a composed toolkit: records, files and links. One that is gone has nothing wrong."""
    folder, owner = store.home.toolkits / name, f"toolkits/{name}"
    if not os.path.lexists(folder):
        return []
    if not os.path.isdir(folder) or is_closed(folder):
        return [Finding("changed" if os.path.isdir(folder) else "extra", owner, "")]
    found: list[Finding] = []
    try:
        if read_toolkit(folder) is None:
            found.append(Finding("missing", owner, MANIFEST))
    except StoreError:
        found.append(Finding("changed", owner, MANIFEST))
    try:
        contents = read_contents(folder)
    except StoreError:
        return [*found, Finding("changed", owner, CONTENTS)]
    if contents is None:
        lost = Finding("missing", owner, CONTENTS)
        # Without record and list, nobody can ever tell what it is.
        nameless = found == [Finding("missing", owner, MANIFEST)]
        return [Finding("extra", owner, "")] if nameless else [*found, lost]
    if os.path.islink(folder):
        # Its own links to packages are relative: elsewhere they lead nowhere.
        return [Finding("changed", owner, "")]
    own = _own_content(store, name, contents)
    mode, inside = os.stat(store.home.root).st_mode, store.home.packages
    wrong = compare(folder, contents.entries, hashes, mode, own=own, inside=inside)
    records = (MANIFEST, CONTENTS)
    found += _otherwise_open(store, owner, *records)
    return [*found, *(Finding(kind, owner, at) for kind, at in wrong if at not in records)]


def _check_package(store: Store, at: str, hashes: Hashes) -> list[Finding]:
    """Check a package: its record and files. A missing one is wrong only if toolkits use it."""
    folder, owner = store.home.packages / at, f"packages/{at}"
    if not os.path.isdir(folder):
        if _is_used(store, at):
            return [Finding("missing", owner, "")]
        return [Finding("extra", owner, "")] if os.path.lexists(folder) else []
    if is_closed(folder):
        return [Finding("changed", owner, "")]
    try:
        package = read_package(folder)
    except StoreError:
        return [Finding("changed", owner, MANIFEST)]
    if package is None:
        # If no toolkit uses it, nobody can ever tell what it is.
        is_used = _is_used(store, at)
        return [Finding("missing", owner, MANIFEST) if is_used else Finding("extra", owner, "")]
    wrong = compare(folder / "tree", package.entries, hashes, os.stat(store.home.root).st_mode)
    found = _otherwise_open(store, owner, "", MANIFEST)
    return found + [
        Finding(kind, owner, f"tree/{path}" if path else "tree") for kind, path in wrong
    ]


def _otherwise_open(store: Store, owner: str, *paths: str) -> list[Finding]:
    """Find which of these paths, which have no hash, are not open as the store's own folder is."""
    root = store.home.root
    there = [path for path in paths if os.path.exists(root / owner / path)]
    modes = {path: os.stat(root / owner / path).st_mode for path in there}
    return [
        Finding("changed", owner, path)
        for path, mode in modes.items()
        if not is_open_as(os.stat(root).st_mode, mode)
    ]


def _is_used(store: Store, at: str) -> bool:
    for folder in (store.home.toolkits / name for name in names_in(store.home.toolkits)):
        kit = _readable(read_toolkit, folder)
        listed = _readable(read_contents, folder)
        if kit and at in kit.packages:
            return True
        if listed and at in {package.id for package in listed.packages}:
            return True
    return False


Difference = tuple[Kind, str]
"""What is wrong with a path."""

Own = Mapping[str, tuple[int, str]]
"""Size and sha256 of files that hold the toolkit's own path."""


def compare(
    folder: Path,
    entries: Iterable[Entry],
    hashes: Hashes,
    mode: int,
    *,
    own: Own | None = None,
    inside: Path | None = None,
) -> list[Difference]:
    """Tell what differs between a folder and the list of its entries.

    `mode` is that of the store. A file may be a symbolic link to one in the folder `inside`. A
    folder that is closed to us, or too deep, stands for all that is in it.
    """
    there: dict[str, os.DirEntry[str]] = {}
    wrong: dict[str, Kind] = {}
    if os.path.isdir(folder) and not os.path.islink(folder):
        if is_closed(folder):
            return [("changed", "")]
        there = dict(walk(folder, store=mode))
        if not is_open_as(mode, folder.stat().st_mode):
            wrong[""] = "changed"
    folders = [at for at, found in there.items() if found.is_dir(follow_symlinks=False)]
    closed = {at for at in folders if is_left_out(at, there[at])}
    wrong |= {at: "changed" for at in folders if at not in closed}
    promised: dict[str, tuple[str, Future[str | None], Path]] = {}
    for entry in entries:
        found = there.pop(entry.path, None)
        if closed and (hiding := closed.intersection(parents(entry.path))):
            wrong |= dict.fromkeys(hiding, "changed")
            continue
        if found is None:
            wrong[entry.path] = "missing"
            continue
        path = Path(found.path)
        if entry.target is not None:
            if fault := _misled(path, entry.target):
                wrong[entry.path] = fault
            continue
        size, sha256 = (own or {}).get(entry.path, (entry.size, entry.sha256))
        status = _status(path, inside)
        if status is None or not _fits(status, size, mode, executable=entry.executable):
            wrong[entry.path] = "changed"
        else:
            promised[entry.path] = sha256, hashes.of(path, status), path
    wrong = {**dict.fromkeys(there, "extra"), **wrong}
    for where, (sha256, promise, path) in promised.items():
        # It may have been read under another of its names, which was gone by then.
        if (promise.result() or _sha256(path)) != sha256:
            wrong[where] = "changed"
    return [(wrong[where], where) for where in sorted(wrong)]


def _misled(path: Path, target: str) -> Kind | None:
    """Tell what is wrong with what should be a link with that target."""
    if not os.path.islink(path) or str(path.readlink()) != target:
        return "changed"
    # A part of the base toolkit may not be there any more.
    return "missing" if target.startswith("/") and not os.path.lexists(target) else None


def _status(path: Path, inside: Path | None) -> os.stat_result | None:
    """Return what a file is, None if it cannot be or is a link that leads elsewhere."""
    try:
        status = path.lstat()
        if (
            stat.S_ISLNK(status.st_mode)
            and inside
            and path.resolve().is_relative_to(inside.resolve())
        ):
            status = path.stat()
    except OSError:
        return None
    return status


def _fits(status: os.stat_result, size: int, store: int, *, executable: bool) -> bool:
    mode = status.st_mode
    return (
        stat.S_ISREG(mode)
        and status.st_size == size
        and bool(mode & stat.S_IXUSR) == executable
        and not mode & _NEVER
        and is_open_as(store, mode)
    )


def _own_content(store: Store, name: str, contents: Contents) -> Own:
    """Work out what files with the toolkit's path in them must hold, from those of the packages."""
    wanted = {entry.path for entry in contents.entries if entry.placeholder}
    found: dict[str, tuple[int, str]] = {}
    if not wanted:
        return found
    from hashlib import sha256  # noqa: PLC0415  # slow to load

    own = _composed_as(store.home.toolkits / name)
    folders = (store.home.packages / package.id for package in contents.packages)
    for package in filter(None, (_readable(read_package, folder) for folder in folders)):
        for entry in package.entries:
            where = place(package, entry.path) if entry.placeholder else None
            if where is None or where not in wanted or where in found:
                continue
            try:
                content = (store.tree(package) / entry.path).read_bytes()
            except OSError:
                # The package's own check reports it.
                continue
            made = replaced(content, entry, own)
            found[where] = len(made), sha256(made).hexdigest()
    return found


def _composed_as(folder: Path) -> str:
    """Return the path that a toolkit was composed for, if it still leads there, or else this one.

    Links and mounts may give a store several names, of which others used another.
    """
    broken = (ValueError, KeyError, TypeError, AttributeError, RecursionError, RequestError)
    with suppress(OSError, *broken):
        recorded = Toolkit.from_json(read_json(folder / MANIFEST, RECORD_BYTES)).path
        if os.path.samefile(recorded, folder):
            return recorded
    return str(folder)
