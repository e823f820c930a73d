"""Files and folders that are there whole or not at all, even after a kill or a power cut.

Data that would hurt to lose is on disk before the rename that gives it its name, and the name is
on disk before success is reported (`lasting`). Data that can be worked out again only has to be
whole: it is renamed into place and never flushed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cudaswitch.errors import NoLinksError
from cudaswitch.ownership import refuse_sudo
from cudaswitch.regular import is_there, names_of, write_out

TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-z]+\.tmp")
"""A file that is being written, or was when its writer was killed."""

_FLUSHERS = 8
"""Threads that flush a tree; more do not make it faster (docs/reliability.md)."""
_MOST_OF_NAME = 60
"""Most characters of a file's name that are used in the name of its temporary file."""
NO_HARD_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors for a refused hard link where something else can stand in for it."""
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that have no symbolic links (exFAT, FAT)."""

_FLUSHES_NONE = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)
"""Errors of file systems that do not flush folders: they have nothing to flush."""
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE (linux/fcntl.h, linux/fs.h)."""


def write_atomically(
    path: Path, text: str | bytes, mode: int = 0o644, *, lasting: bool = True
) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename."""
    write_all({path: text}, mode, lasting=lasting)


def write_all(
    texts: Mapping[Path, str | bytes | None],
    mode: int = 0o644,
    *,
    kept: bool = False,
    lasting: bool = True,
    folders_within: contextlib.AbstractContextManager[None] | None = None,
) -> None:
    """Write small files in their order, or delete them (None); missing folders are created.

    All are on disk under other names before the first is replaced. If one fails, those before
    it are restored. Their mode is `mode` less the umask; with `kept`, a replaced file passes on
    its mode and group. `folders_within` is entered while folders are created. Raises OSError
    that names a file.
    """
    for path in texts:
        refuse_sudo(str(path.parent))
    sweep_beside(texts)
    texts = {path: text for path, text in texts.items() if text is not None or is_there(path)}
    folders = list(dict.fromkeys(path.parent for path in texts))
    stack = contextlib.ExitStack
    with stack() as made, stack() as temporaries, stack() as undo:
        with folders_within or contextlib.nullcontext():
            for folder in folders:
                make_folders(folder, made, lasting=lasting)
        fresh = {
            path: temporaries.enter_context(
                _temporary(path, text, mode, kept=kept, lasting=lasting)
            )
            for path, text in texts.items()
            if text is not None
        }
        if lasting or len(texts) > 1:
            for path in texts:
                temporaries.enter_context(restorable(path, undo))
        for path in texts:
            with _naming(path):
                if path in fresh:
                    rename(fresh[path], path)
                else:
                    path.unlink(missing_ok=True)
        if lasting:
            for folder in folders:
                sync_folder(folder)
        undo.pop_all()
        made.pop_all()


def copy_atomically(source: Path, final: Path) -> None:
    """Copy a file whole or not at all, and flush it; missing folders are created."""
    import shutil  # noqa: PLC0415  # reading commands do without

    sweep_beside([final])
    with contextlib.ExitStack() as made:
        make_folders(final.parent, made, lasting=True)
        with _temporary(final, b"", 0o644, lasting=False) as temporary:
            with source.open("rb") as file, _naming(final), temporary.open("r+b") as target:
                shutil.copyfileobj(file, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
            with _naming(final):
                rename(temporary, final)
        sync_folder(final.parent)
        made.pop_all()


def rename(source: Path, target: Path) -> None:
    """Rename; after an error, what is there decides: over NFS, the answer may have been lost."""
    before = source.lstat()
    try:
        source.rename(target)
    except OSError:
        with contextlib.suppress(OSError):
            after = target.lstat()
            if not os.path.lexists(source) and os.path.samestat(before, after):
                return
        raise


def make_link(path: str | Path, to: str | Path, folder: int | None = None) -> None:
    """Make a symbolic link, in an open `folder` if one is given."""
    try:
        os.symlink(to, path, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise NoLinksError(error.errno) from None
        raise


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False if that is impossible, and nothing happened.

    Python has no call for it (renameat2(2), Linux 3.15, glibc 2.28); not every file system can.
    """
    import ctypes  # noqa: PLC0415  # only replacing needs it

    call = getattr(ctypes.CDLL(None), "renameat2", None)
    if call is None or not os.path.isdir(other):
        return False
    before = one.lstat()
    done: int = call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    # As with `rename`, what is there counts.
    return done == 0 or os.path.samestat(before, other.lstat())


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder. Raises OSError that names it."""
    # Links are followed: to a store on another disk, to somebody's environment.
    _sync(str(folder), os.O_DIRECTORY)


def sync_tree(folder: Path) -> None:
    """Flush all files and folders below a folder, and itself.

    Each on its own: flushing the whole file system at once would wait for what others write there.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # only installing needs it

    folders, files = [str(folder)], []
    for place in folders:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.path)
    with ThreadPoolExecutor(_FLUSHERS) as pool:
        # Asking for the results raises what went wrong.
        list(pool.map(_sync, files))
        list(pool.map(_sync, folders))


def abandoned(folder: Path) -> Iterator[Path]:
    """Yield the temporary files in a folder whose writer is gone, each locked against others.

    A writer holds a lock on its file. Where the file system has no locks nothing is yielded.
    """
    for path in (folder / name for name in names_of(folder) if TEMPORARY.fullmatch(name)):
        with contextlib.suppress(OSError):
            descriptor = _to_lock(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
            finally:
                os.close(descriptor)


def _to_lock(path: Path) -> int:
    """Open a file for an exclusive lock, which file servers want to be open for writing."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags)
    except PermissionError:
        # It has the mode of a read-only file that it was to replace.
        return os.open(path, os.O_RDONLY | flags)


def sweep_beside(files: Iterable[Path]) -> None:
    """Delete the temporary files that killed runs have left beside these files."""
    stems: dict[Path, set[str]] = {}
    for file in files:
        stems.setdefault(file.parent, set()).add(_stem(file))
    for folder, names in stems.items():
        for path in abandoned(folder):
            match = TEMPORARY.fullmatch(path.name)
            if match and match["name"] in names:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{_stem(path)}.{os.urandom(4).hex()}.tmp")


def _stem(path: Path) -> str:
    return path.name[:_MOST_OF_NAME]


@contextlib.contextmanager
def _temporary(
    final: Path,
    text: str | bytes,
    mode: int,
    *,
    kept: bool = False,
    lasting: bool = True,
) -> Iterator[Path]:
    """Yield a file beside `final` with that content; it is deleted afterwards, unless renamed."""
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    with _naming(final):
        temporary, descriptor = _created(final, mode)
    try:
        with _naming(final):
            if kept:
                _hand_on(final, descriptor)
            write_out(descriptor, content)
            if lasting:
                os.fsync(descriptor)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        os.close(descriptor)


def _created(final: Path, mode: int) -> tuple[Path, int]:
    """Create a temporary file, and hold the lock that shows others that its writer is alive."""
    while True:
        temporary = _beside(final)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A process that sweeps took the lock right after the creation.
            os.close(descriptor)
            continue
        except OSError:
            pass  # without locks nobody sweeps
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)


def _hand_on(final: Path, descriptor: int) -> None:
    """Give a temporary file the mode and group of the file that it will replace.

    If the group cannot be set, as we are not in it, our group may do no more than everybody. A file
    that was another user's becomes ours and is trusted: nobody else may write it. We may read it.
    """
    try:
        before = final.stat()
    except FileNotFoundError:
        return
    others = 0 if before.st_uid == os.geteuid() else stat.S_IWGRP | stat.S_IWOTH
    mode = stat.S_IMODE(before.st_mode) & ~others | stat.S_IRUSR
    if os.fstat(descriptor).st_gid != before.st_gid:
        try:
            os.fchown(descriptor, -1, before.st_gid)
        except OSError:
            mode &= ~(stat.S_IRWXG | stat.S_ISGID) | (mode & stat.S_IRWXO) << 3
    os.fchmod(descriptor, mode)


def make_folders(folder: Path, undo: contextlib.ExitStack, *, lasting: bool) -> None:
    """Make a folder and those above it; `undo` learns how to remove them."""
    if os.path.isdir(folder):
        return
    make_folders(folder.parent, undo, lasting=lasting)
    try:
        folder.mkdir()
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
        return
    undo.callback(_remove_folder, folder)
    if lasting:
        # A folder that may be written, but not read, cannot be opened to be flushed.
        with contextlib.suppress(PermissionError):
            sync_folder(folder.parent)


@contextlib.contextmanager
def restorable(path: Path, undo: contextlib.ExitStack) -> Iterator[None]:
    """Keep a second name, or a copy, of a file: `undo` restores it, even if the disk is full."""
    name: Path | None = _beside(path)
    with contextlib.ExitStack() as held:
        try:
            with _naming(path):
                held.enter_context(_locked(path))
                os.link(path, str(name), follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.ENOENT, *NO_HARD_LINKS):
                raise
            name = None
            if os.path.exists(path):
                copy = _temporary(path, path.read_bytes(), 0o600, kept=True, lasting=False)
                name = held.enter_context(copy)
        undo.callback(_put_back, path, name)
        try:
            yield
        finally:
            if name is not None:
                with contextlib.suppress(OSError):
                    name.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a shared lock on a file, if it can be opened and its file system has locks."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _put_back(path: Path, before: Path | None) -> None:
    with contextlib.suppress(OSError):
        if before is None:
            path.unlink(missing_ok=True)
        else:
            rename(before, path)


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an OSError name the file that is written, not its temporary file."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _sync(path: str, only: int = os.O_NOFOLLOW) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | only)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _FLUSHES_NONE:
            error.filename = path
            raise
