"""Locks that die with the process that holds them, and say who that is.

They only avoid doing work twice; correctness never depends on them. Where a file system has no
locks, everybody goes on without (`works` is False).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.durable import make_folders
from cudaswitch.errors import StoreError
from cudaswitch.ownership import refuse_sudo
from cudaswitch.talk import say

PATIENCE = 10.0
"""Seconds to wait for work that takes under one; the setting `wait` may be what is broken."""
_MOST = 200
"""Bytes that are read of who holds a lock."""
_SILENCE = 1.0
"""Seconds of waiting that need no explanation."""
_POLL = 0.05


class Lock:
    """A lock on a file, which may not be a symbolic link.

    A shared lock keeps out exclusive ones only. Taking raises OSError if the file cannot be
    opened.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path = path
        self.works = True
        self._kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self._descriptor: int | None = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def take(self, *, make: bool = True) -> bool:
        """Try once; False while another holds it.

        Without `make`, no file is created or written: if there is none, nobody holds it, so True.
        """
        while True:
            try:
                descriptor = self._open(make)
            except FileNotFoundError:
                if make:
                    raise
                return True
            try:
                fcntl.flock(descriptor, self._kind | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                os.close(descriptor)
                return False
            except OSError:
                self.works = False
            if not self.works or self._is_there(descriptor):
                self._descriptor = descriptor
                if make:
                    self._sign(descriptor)
                return True
            os.close(descriptor)

    def release(self) -> None:
        """Let others have it. Nothing happens if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def holder(self) -> str:
        """Say who holds it, as far as that was written down."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                text = os.read(descriptor, _MOST).decode("utf-8", "replace").partition("\n")[0]
            finally:
                os.close(descriptor)
            if text:
                return text
        return "another cudaswitch"

    def _open(self, make: bool) -> int:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
        # Only users who may write beside it may lock it: others could hold it forever.
        group = self.path.parent.stat().st_mode & stat.S_IWGRP
        mode = 0o660 if group else 0o600
        descriptor = os.open(self.path, flags | os.O_CREAT if make else flags, mode)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a regular file", str(self.path))
        if make and status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, mode)
        return descriptor

    def _is_there(self, descriptor: int) -> bool:
        """Tell whether the file still has its name: deleting a store deletes its locks."""
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except FileNotFoundError:
            return False

    def _sign(self, descriptor: int) -> None:
        if self._kind == fcntl.LOCK_SH:
            return
        command = " ".join(["cudaswitch", *(word for word in sys.argv[1:2] if word.isalpha())])
        text = f"{command} (process {os.getpid()} on {os.uname().nodename})\n"
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, text.encode("utf-8", "replace"), 0)


@contextlib.contextmanager
def held(path: Path, busy_with: str, patience: float, *, shared: bool = False) -> Iterator[bool]:
    """Hold a lock, alone unless it is `shared`; StoreError naming who holds it after `patience` s.

    Yields False if the file system has no locks, so others may be at work too. Raises OSError
    if the file cannot be opened.
    """
    begun, told = time.monotonic(), False
    with Lock(path, shared=shared) as lock:
        while not lock.take():
            waited = time.monotonic() - begun
            if waited >= patience:
                raise StoreError(
                    f"{lock.holder} has been busy with {busy_with} for {patience:g} s",
                    f"wait for it or stop it, then try again; it holds `{path}`",
                )
            if waited >= _SILENCE and not told:
                say(f"waiting for {lock.holder}, which is busy with {busy_with}")
                told = True
            time.sleep(_POLL)
        yield lock.works


@contextlib.contextmanager
def passing(folder: Path, name: str, patience: float) -> Iterator[None]:
    """Hold the lock for a name in somebody's folder, which is created if need be.

    No lock file stays there: it is deleted on release, and a killed run's is swept like its other
    leftovers (see `durable.abandoned`). Raises StoreError as `held` does, and OSError.
    """
    path = folder / f".{name}.lock.tmp"
    refuse_sudo(str(folder))
    with contextlib.ExitStack() as made:
        make_folders(folder, made, lasting=True)
        with held(path, name, patience):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
        made.pop_all()
