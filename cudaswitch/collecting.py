"""What nobody needs any more: found, and taken away where no running process could miss it.

A process that installs holds the lock of each package that it brings, and works in the cache
under a mark; what is locked or marked is left alone. Killed at any moment, the next run ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from cudaswitch.download.cache import Part, idle
from cudaswitch.environments import Environment, environment_at
from cudaswitch.errors import EnvironmentNotFoundError, StoreError
from cudaswitch.hooks import left_behind
from cudaswitch.processes import may_be_in, users_of
from cudaswitch.store import MANIFEST, Store, sweep

_WHOLE = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = re.compile(r"\..+\.([0-9]+)\.tmp")
_SHARED_PART = re.compile(r"[0-9a-f]{64}\.part")
_LONG = 3600.0
"""Seconds after which a temporary file, written in one go, is nobody's any more."""


class Waste(NamedTuple):
    """Something that nobody needs: what it is, where, and its size in bytes."""

    kind: str
    path: Path
    size: int


Say = Callable[[str], None]


def collect(store: Store, cache: Path, *, downloads: bool, dry_run: bool, say: Say) -> list[Waste]:
    """Take away what nobody needs, and return it; with `dry_run`, only find it.

    `downloads` takes whole files in the cache too. `say` is told what is left alone and why.
    Raises StoreError where the store cannot be read or written.
    """
    found = []
    try:
        for finder in (_packages, _staged, _temporary, _answers, _hooks):
            found += finder(store, dry_run, say)
        found += _cached(cache, downloads, dry_run, say)
    except OSError as error:
        raise StoreError(f"cannot remove `{error.filename}`: {error.strerror}") from None
    return found


def _take(kind: str, path: Path, dry_run: bool) -> Waste:
    waste = Waste(kind, path, _size(path))
    if not dry_run:
        if path.is_dir() and not path.is_symlink():
            sweep(path)
        else:
            path.unlink(missing_ok=True)
    return waste


def _size(path: Path) -> int:
    """Count the bytes that go with a path: those of files that have another name too stay."""
    status = path.lstat()
    if not path.is_dir() or path.is_symlink():
        return status.st_size if status.st_nlink == 1 else 0
    return sum(_size(Path(entry.path)) for entry in os.scandir(path))


def _packages(store: Store, dry_run: bool, say: Say) -> list[Waste]:
    """Packages that no toolkit is made of."""
    found = []
    with _changing(store, dry_run):
        used = {at for kit in store.toolkits() for at in kit.packages}
        for folder in _in(store.home.packages):
            if folder.name in used or folder.name.startswith("."):
                continue
            if users := users_of([folder]):
                say(f"left alone: {folder.name}, in use by {', '.join(users)}")
                continue
            with contextlib.ExitStack() as held:
                if not dry_run:
                    try:
                        held.enter_context(store.lock(folder.name, 0))
                    except StoreError:
                        say(f"left alone: {folder.name}, which is being installed")
                        continue
                found.append(Waste("package", folder, _size(folder)))
                if not dry_run:
                    store.discard(folder)
    return found


@contextlib.contextmanager
def _changing(store: Store, dry_run: bool) -> Iterator[None]:
    if dry_run or not store.home.root.is_dir():
        yield
        return
    store.home.require_writable()
    with store.changing():
        yield


def _staged(store: Store, dry_run: bool, say: Say) -> list[Waste]:
    """What processes that were killed left unfinished."""
    found = []
    with _changing(store, dry_run):
        for stage in _in(store.home.staging):
            kind, _, name = stage.name.partition("-")
            with contextlib.ExitStack() as held:
                # Toolkits are composed, and folders discarded, only by who holds the store.
                if kind == "package" and not dry_run:
                    try:
                        held.enter_context(store.lock(name, 0))
                    except StoreError:
                        continue
                found.append(_take("leftover", stage, dry_run))
        for folder in _in(store.home.toolkits):
            if not (folder / MANIFEST).exists():
                found.append(_take("leftover", folder, dry_run))
    return found


def _temporary(store: Store, dry_run: bool, say: Say) -> list[Waste]:
    """Files that a killed process wrote, and did not come to rename."""
    home = store.home
    folders = [home.root, home.requests, home.automatic, home.pins, home.aliases, home.init]
    folders += [home.shims, *_in(home.packages), *_in(home.toolkits)]
    found = []
    for folder in folders:
        for path in _in(folder):
            match = _TEMPORARY.fullmatch(path.name)
            # On a shared file system the process may be another machine's.
            if match and not Path(f"/proc/{match[1]}").exists() and _age(path) > _LONG:
                found.append(_take("leftover", path, dry_run))
    return found


def _answers(store: Store, dry_run: bool, say: Say) -> list[Waste]:
    """Answers kept for environments that are gone, and notes of pins that are."""
    found = []
    for path in _in(store.home.automatic):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            prefix = path.read_text(encoding="utf-8").partition("\n")[0]
            if path.name.startswith("%") and not Path(prefix).is_dir():
                found.append(_take("answer", path, dry_run))
    return found


def _hooks(store: Store, dry_run: bool, say: Say) -> list[Waste]:
    """What `unpin` left in environments that no running shell can be in any more."""
    found = []
    for note in _in(store.home.pins):
        try:
            pin = Path(json.loads(note.read_text(encoding="utf-8"))["path"])
            since = note.stat().st_mtime
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if pin.is_file():
            continue
        environment = _environment_of(pin)
        rest = left_behind(environment) if environment else []
        if environment and rest and (users := may_be_in(environment.prefix, since)):
            say(f"left alone: the hooks of `{environment.prefix}`, for {', '.join(users)}")
            continue
        try:
            found += [_take("hook", path, dry_run) for path in rest]
        except OSError as error:
            say(f"left alone: `{error.filename}`: {error.strerror}")
            continue
        if not dry_run:
            if environment:
                with contextlib.suppress(OSError):
                    environment.folder.rmdir()
            note.unlink(missing_ok=True)
    return found


def _environment_of(pin: Path) -> Environment | None:
    """Return the environment of a pin; None where it is gone, or was no environment's."""
    with contextlib.suppress(EnvironmentNotFoundError):
        environment = environment_at(pin.parent.parent.parent)
        if environment.pin_file == pin:
            return environment
    return None


def _cached(cache: Path, downloads: bool, dry_run: bool, say: Say) -> list[Waste]:
    """What killed processes left in the cache; with `downloads`, all that it has."""
    found = []
    with idle(cache) as nobody:
        if not nobody:
            say(f"left alone: `{cache}`, in use by another cudaswitch")
            return []
        for path in _in(cache):
            if path.name.startswith("work-"):
                found.append(_take("leftover", path, dry_run))
            elif downloads and (_WHOLE.fullmatch(path.name) or path.name == "channels"):
                found.append(_take("download", path, dry_run))
        for path in _in(cache / "urls"):
            found += _of_url(path, downloads, dry_run)
    return found


def _of_url(path: Path, downloads: bool, dry_run: bool) -> list[Waste]:
    if _SHARED_PART.fullmatch(path.name):
        with contextlib.suppress(Timeout, OSError), FileLock(path.with_suffix(".lock"), timeout=0):
            taken = [_take("leftover", path, dry_run)]
            if not dry_run:
                Part(path).drop()
            return taken
    elif path.name.endswith((".tmp", ".part", ".part.ranges")) and _age(path) > _LONG:
        return [_take("leftover", path, dry_run)]
    elif downloads and path.name.endswith(".json") and not path.name.endswith(".part.json"):
        return [_take("download", path, dry_run)]
    return []


def _in(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"cannot read `{folder}`: {error.strerror}", "see who owns it") from None


def _age(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0
