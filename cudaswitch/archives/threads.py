"""Work that overlaps: reading and decoding ahead, and hashing."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress

PIECE = 256 * 1024
"""Bytes that are read, decoded or written at a time."""
MOST_THREADS = 8
"""One that decodes bzip2 takes about 8 MB: libbz2's own 3.7, and a block, packed and decoded."""
QUEUED_PIECES = 8
"""Pieces that may wait for the reader."""


def cores() -> int:
    """Return how many processors this process may use, MOST_THREADS at most."""
    return min(MOST_THREADS, len(os.sched_getaffinity(0)))


def sliced(data: bytes) -> Iterator[bytes]:
    """Cut `data` into small pieces, so that a queue of pieces is small too."""
    return (data[at : at + PIECE] for at in range(0, len(data), PIECE))


def ahead(pieces: Iterator[bytes]) -> Generator[bytes, None, None]:
    """Yield what `pieces` yields, produced in a thread of its own a few pieces ahead.

    Decoders and hashes let go of the interpreter lock, so reading, decoding and writing
    overlap. Closing the iterator ends the thread; its errors are raised here.
    """
    waiting: queue.Queue[bytes | BaseException | None] = queue.Queue(QUEUED_PIECES)
    given_up = threading.Event()

    def hand_over(item: bytes | BaseException | None) -> None:
        while not given_up.is_set():
            with suppress(queue.Full):
                waiting.put(item, timeout=0.1)
                break

    def produce() -> None:
        try:
            for piece in pieces:
                hand_over(piece)
                if given_up.is_set():
                    return
        except BaseException as error:
            hand_over(error)
        else:
            hand_over(None)

    thread = threading.Thread(target=produce, name="archive decoder", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        given_up.set()
        thread.join()


class Hash:
    """The sha256 of a stream, computed in a thread: it takes as long as reading from memory."""

    BATCH = 64 * 1024
    """Fewer bytes are not worth waking a thread."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._batch = bytearray()
        self._queue: queue.Queue[bytes | None] = queue.Queue(QUEUED_PIECES)
        self._thread: threading.Thread | None = None

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._batch and len(data) >= self.BATCH:
            self._put(data)
            return
        self._batch += data
        if len(self._batch) >= self.BATCH:
            self._put(bytes(self._batch))
            self._batch.clear()

    def stop(self) -> None:
        """End the thread, once it has hashed what it was given."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def hexdigest(self) -> str:
        """Return the hash of all bytes so far; no more may be added."""
        self.stop()
        self._hash.update(self._batch)
        self._batch.clear()
        return self._hash.hexdigest()

    def _put(self, data: bytes) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="archive hash", daemon=True)
            thread.start()
            self._thread = thread
        self._queue.put(data)

    def _run(self) -> None:
        while (data := self._queue.get()) is not None:
            self._hash.update(data)
