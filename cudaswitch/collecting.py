"""Find what nobody needs any more, and remove it unless a running process could miss it.

A process that installs holds the lock of each package that it brings, and works in the cache
under a mark; what is locked or marked is left alone. If this is killed, the next run finishes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from cudaswitch.changing import OwnStore
from cudaswitch.contents import is_closed
from cudaswitch.download.cache import FOLDERS, WORK, idle
from cudaswitch.download.parts import Part
from cudaswitch.durable import abandoned
from cudaswitch.environments import (
    WANT_LIMIT,
    Environment,
    environment_at,
    environment_pinned_by,
)
from cudaswitch.errors import CudaswitchError, StoreError, hint_for
from cudaswitch.healing import is_doomed, leftovers
from cudaswitch.holders import NOTE_BYTES, may_pin
from cudaswitch.hooks import left_behind
from cudaswitch.locks import Lock
from cudaswitch.named import known_environments
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import MANIFEST, listed
from cudaswitch.processes import may_be_in, since, users_of
from cudaswitch.regular import read_json, read_regular
from cudaswitch.staging import require_writable
from cudaswitch.sweeping import sweep
from cudaswitch.talk import say, some_of
from cudaswitch.toolkit import is_sha256

_KEY = r"(?P<key>[0-9a-f]{64}(?P<own>-[0-9a-f]{8})?)"
_PART = re.compile(rf"{_KEY}\.(?:part|(?P<beside>part\.json|part\.ranges|lock))")


class Waste(NamedTuple):
    """Something that nobody needs: what it is, where, and its size in bytes."""

    kind: str
    path: Path
    size: int


def collect(store: OwnStore, cache: Path, *, downloads: bool, dry_run: bool) -> list[Waste]:
    """Remove what nobody needs, and return it; with `dry_run`, only find it.

    `downloads` includes complete files in the cache. What is left alone is reported, with the
    reason. Raises StoreError if the store cannot be read or written.
    """
    found = []
    try:
        for finder in (_packages, _left, _answers, _hooks):
            found += finder(store, dry_run)
        found += _cached(cache, downloads, dry_run)
    except OSError as error:
        raise StoreError(
            f"cannot remove `{error.filename}`: {error.strerror}",
            hint_for(error, "check who can write there"),
        ) from None
    return found


def _taken(kind: str, paths: Iterable[Path], dry_run: bool) -> list[Waste]:
    """Remove each path; those that cannot be removed, such as another user's, are reported."""
    found = []
    for path in paths:
        try:
            waste = Waste(kind, path, _size(path, unseen=(errno.ENAMETOOLONG, errno.EACCES)))
            if not dry_run:
                sweep(path)
        except OSError as error:
            say(f"skipped: `{path}`: {error.strerror}")
        else:
            found.append(waste)
    return found


def _inside(folder: Path) -> list[Path]:
    return [folder / name for name in listed(folder)]


def _size(path: Path, *, unseen: tuple[int, ...] = (errno.ENAMETOOLONG,)) -> int:
    """Count the bytes that removing a path frees: a file with another hard link frees none.

    What cannot be seen for an error of `unseen` is not counted: by default, what is so deep that
    the system takes no path of it. Raises OSError for other errors.
    """
    size, paths = 0, [str(path)]
    for at in paths:
        try:
            status = os.lstat(at)
            if stat.S_ISDIR(status.st_mode):
                paths += [f"{at}/{name}" for name in os.listdir(at)]
            elif status.st_nlink == 1:
                size += status.st_size
        except OSError as error:
            if error.errno not in unseen:
                raise
    return size


def _packages(store: OwnStore, dry_run: bool) -> list[Waste]:
    """Packages that no toolkit is made of."""
    found = []
    with _changing(store, dry_run) as alone:
        if not alone:
            say(f"skipped: packages in `{store.home.root}`, where file locks do not work")
            return []
        used = store.used()
        for folder in _inside(store.home.packages):
            if folder.name in used or folder.name.startswith("."):
                continue
            if is_closed(folder) or not os.path.exists(folder / MANIFEST):
                found += _strange(folder, dry_run)
                continue
            try:
                waste = Waste("package", folder, _size(folder))
            except PermissionError as error:
                _tell_of_closed(error.filename)
                continue
            try:
                users = users_of([folder]) if dry_run else _discard(store, folder)
            except StoreError:
                say(f"skipped: {folder.name}, which is being installed")
                continue
            if users:
                say(f"skipped: {folder.name}, in use by {some_of(users)}")
            else:
                found.append(waste)
    return found


def _strange(path: Path, dry_run: bool) -> list[Waste]:
    """Remove something without a record if it is an empty folder; otherwise only report it."""
    if is_doomed(path):
        return []
    is_folder = os.path.isdir(path) and not os.path.islink(path)
    # A folder that we cannot look into may hold somebody's only copy.
    if is_folder and is_closed(path):
        _tell_of_closed(path)
    elif is_folder and not listed(path):
        return _taken("leftover", [path], dry_run)
    else:
        mend = "`cudaswitch verify --repair` sets it aside"
        say(f"skipped: `{path}`, which does not belong to cudaswitch: {mend}")
    return []


def _tell_of_closed(path: str | Path) -> None:
    say(f"skipped: `{path}`, which is closed to you: `cudaswitch verify --repair` opens it")


def _discard(store: OwnStore, folder: Path) -> list[str]:
    """Discard a package unless it is being installed or in use; return its users."""
    if users := users_of([folder]):
        return users
    with store.lock(folder.name, 0), contextlib.ExitStack() as undo:
        aside = store.staging.discard(folder, undo)
        # Users that came since show up at its new place; nobody can find it there any more.
        users = users_of([aside]) if aside else []
        if not users:
            undo.pop_all()
        return users


@contextlib.contextmanager
def _changing(store: OwnStore, dry_run: bool) -> Iterator[bool]:
    """Hold the store, unless on a dry run; yields False if locks do not work."""
    if dry_run or not os.path.isdir(store.home.root):
        yield True
        return
    require_writable(store.home)
    # No healing: leftovers are reported one by one here.
    with store.changing(heals=False):
        yield store.alone


def _left(store: OwnStore, dry_run: bool) -> list[Waste]:
    """What killed processes left unfinished; what is not ours is only reported."""
    found = []
    with _changing(store, dry_run) as alone:
        if alone:
            left = leftovers(store.home, make=not dry_run)
            found += _taken("leftover", left, dry_run)
        mendable = store.unrecorded()
        for folder in _inside(store.home.toolkits):
            if os.path.exists(folder / MANIFEST) or folder.name.startswith("."):
                continue
            if folder.name not in mendable:
                found += _strange(folder, dry_run)
            elif mendable[folder.name]:
                mend = f"`cudaswitch verify {folder.name} --repair` restores it"
                say(f"skipped: toolkit {folder.name}, whose record is missing: {mend}")
    return found


def _answers(store: OwnStore, dry_run: bool) -> list[Waste]:
    """Answers kept for environments that are gone."""
    found = []
    for path in _inside(store.home.automatic):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            line = read_regular(path, WANT_LIMIT, head=True).partition(b"\n")[0]
            prefix = line.decode()
            if path.name.startswith("%") and not os.path.isdir(prefix):
                found += _taken("answer", [path], dry_run)
    return found


def _hooks(store: OwnStore, dry_run: bool) -> list[Waste]:
    """What `unpin` left in environments that no running shell can be in any more."""
    found: list[Waste] = []
    noted: set[str] = set()
    with contextlib.ExitStack() as held:
        if not dry_run:
            held.enter_context(store.pinning())
        for note in _inside(store.home.pins):
            found += _hooks_of(note, dry_run, noted)
        # One that was copied or renamed since has no note; its folder tells when a pin left it.
        for prefix in known_environments(os.environ):
            with contextlib.suppress(OSError, CudaswitchError):
                environment = environment_at(prefix)
                if environment.is_own() and os.path.realpath(environment.folder) not in noted:
                    left = since(None, os.stat(environment.folder).st_mtime)
                    found += _hooks_in(environment, left, dry_run)
    return found


def _hooks_of(note: Path, dry_run: bool, noted: set[str]) -> list[Waste]:
    try:
        row = read_json(note, NOTE_BYTES)
        pin, left = str(row["path"]), since(row.get("left"), note.stat().st_mtime)
        there = may_pin(pin)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    if there:
        return []
    environment = environment_pinned_by(pin)
    found = []
    if environment:
        noted.add(os.path.realpath(environment.folder))
        found = _hooks_in(environment, left, dry_run)
    if not dry_run and not (environment and left_behind(environment)):
        note.unlink(missing_ok=True)
    return found


def _hooks_in(environment: Environment, left: float, dry_run: bool) -> list[Waste]:
    rest = left_behind(environment)
    if rest and (users := may_be_in(Path(environment.prefix), left)):
        say(
            f"skipped: the hooks of `{environment.prefix}`, which may be needed by {some_of(users)}"
        )
        return []
    found = _taken("hook", rest, dry_run)
    if not dry_run:
        with contextlib.suppress(OSError):
            os.rmdir(environment.folder)
    return found


def _cached(cache: Path, downloads: bool, dry_run: bool) -> list[Waste]:
    """What killed processes left in the cache; with `downloads`, what was downloaded too."""
    found = []
    with idle(cache, make=not dry_run) as nobody:
        if not nobody:
            say(f"skipped: `{cache}`, which is in use by another cudaswitch or cannot be locked")
            return []
        for path in _inside(cache):
            if path.name.startswith(WORK):
                found += _taken("leftover", [path], dry_run)
            elif downloads and (is_sha256(path.name) or path.name == "channels"):
                found += _taken("download", [path], dry_run)
        for folder in (cache, *(cache / name for name in FOLDERS)):
            found += _taken("leftover", abandoned(folder), dry_run)
        for path in _inside(cache / "urls"):
            found += _of_url(path, downloads, dry_run)
    return found


def _of_url(path: Path, downloads: bool, dry_run: bool) -> list[Waste]:
    if match := _PART.fullmatch(path.name):
        part, locked_by = path.with_name(f"{match['key']}.part"), f"{match['key']}.lock"
        # What is beside a part goes with it, or has just gone with it.
        if match["beside"] and (os.path.exists(part) or not os.path.lexists(path)):
            return []
        # Other locks stay, as processes may be about to take them.
        if match["beside"] == "lock" and not match["own"]:
            return []
        with contextlib.suppress(OSError), Lock(path.with_name(locked_by)) as lock:
            if lock.take(make=not dry_run) and lock.works:
                taken = _taken("leftover", [path], dry_run)
                if not dry_run:
                    Part(part).drop()
                    if match["own"]:
                        lock.path.unlink(missing_ok=True)
                return taken
    elif downloads and path.name.endswith(".json"):
        return _taken("download", [path], dry_run)
    return []
