"""Files written and hashed in threads, while the next bytes are decoded."""

from __future__ import annotations

import hashlib
import os
import queue
import threading

from cudaswitch.regular import write_out

THREADS = 2
"""One writes while the other hashes; more would only compete for the disk."""
QUEUED = 32
"""Pieces, of threads.PIECE bytes at most, that may wait for one thread."""

Piece = bytes | memoryview


class Written:
    """A file on its way to the disk: `add` its pieces, `close` it, ask for its `sha256`.

    `descriptor` is closed in any case.
    """

    def __init__(self, thread: _Thread, descriptor: int, mode: int) -> None:
        self._thread = thread
        self._descriptor = descriptor
        self._mode = mode
        self._hash = hashlib.sha256()
        self.done = threading.Event()
        """Set by the thread when it has finished the file, and noted what went wrong with it."""

    def add(self, piece: Piece) -> None:
        """Hand over the next bytes. Raises what went wrong with earlier ones, of any file."""
        self._thread.take(self, piece)

    def close(self) -> None:
        """End the file, whole or given up."""
        self._thread.take(self, None)

    def sha256(self) -> str:
        """Wait until the file is on disk and return its hash (hex)."""
        self.done.wait()
        self._thread.raise_failure()
        return self._hash.hexdigest()

    def work(self, piece: Piece | None, *, given_up: bool) -> None:
        """Hash and write the next piece, or finish the file if it is None; runs in the thread."""
        try:
            if given_up:
                return
            if piece is not None:
                self._hash.update(piece)
                write_out(self._descriptor, piece)
            else:
                os.fchmod(self._descriptor, self._mode)
        finally:
            if piece is None:
                # Some file servers tell of a full disk or a quota only now.
                os.close(self._descriptor)


class _Thread:
    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Written, Piece | None] | None] = queue.Queue(QUEUED)
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="archive writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def take(self, file: Written, piece: Piece | None) -> None:
        self._queue.put((file, piece))
        if piece is not None:
            self.raise_failure()

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            file, piece = item
            try:
                file.work(piece, given_up=self._failure is not None)
            except Exception as error:  # raised where the next piece is handed over
                self._failure = error
            if piece is None:
                file.done.set()


class Writers:
    """The threads that write an archive's files. A context manager that waits for them."""

    def __init__(self) -> None:
        self._threads = [_Thread() for _ in range(THREADS)]

    def __enter__(self) -> Writers:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.stop()

    def file(self, descriptor: int, mode: int) -> Written:
        """Begin a file in the thread that has the least to do."""
        return Written(min(self._threads, key=lambda thread: thread.waiting), descriptor, mode)
