"""Unpacking with the checks that hold for every package."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from cudaswitch.archives import unpacking
from cudaswitch.toolkit import Entry, Package

LINUX_TAG = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"
Unpack = Callable[..., Package]
NOTHING_IGNORED = pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
"""For tests in which Python must not pass over an exception while it cleans up."""


def checked_unpack(base: Path, path: Path) -> Package:
    """Unpack into `base/tree` and `base/info`; `identify` and the disk must say the same."""
    tree, info = base / "tree", base / "info"
    tree.mkdir()
    info.mkdir()
    seen = unpacking.identify(path)
    package = unpacking.unpack(path, tree, info)
    assert seen.entries == ()
    assert (seen.id, seen.to_json() | {"files": 0, "sha256": 0}) == (
        package.id,
        package.to_json() | {"files": 0, "sha256": 0},
    )
    assert package.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert package.size == path.stat().st_size
    check_entries(tree, package.entries)
    return package


def check_entries(tree: Path, entries: tuple[Entry, ...]) -> None:
    """Check that the entries are exactly what is on disk, with our own modes only."""
    on_disk = {path for path in tree.rglob("*") if path.is_symlink() or not path.is_dir()}
    assert [entry.path for entry in entries] == sorted(
        str(path.relative_to(tree)) for path in on_disk
    )
    for entry in entries:
        path = tree / entry.path
        if entry.target is not None:
            assert str(path.readlink()) == entry.target
            continue
        content = path.read_bytes()
        assert (entry.size, entry.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if entry.executable else 0o644)
    # The group may write these folders if it may write the one that everything goes into.
    mode = 0o755 | (tree.stat().st_mode & (stat.S_IWGRP | stat.S_ISGID))
    for folder in (path for path in tree.rglob("*") if path.is_dir() and not path.is_symlink()):
        assert stat.S_IMODE(folder.stat().st_mode) == mode


@contextmanager
def interrupted_when_closed() -> Iterator[None]:
    """Let Ctrl-C come while an archive's thread ends, and check that it gets through."""
    end = Thread.join

    def join(thread: Thread, timeout: float | None = None) -> None:
        end(thread, timeout)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Thread, "join", join)
        yield


def by_path(package: Package) -> dict[str, Entry]:
    return {entry.path: entry for entry in package.entries}


def write(base: Path, data: bytes) -> Path:
    """Write the bytes of an archive under a name that says nothing."""
    path = base / "package"
    path.write_bytes(data)
    return path
