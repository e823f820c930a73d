"""The missing ranges of a file over several connections, if a single one is the bottleneck.

What has arrived is recorded next to the part after each piece, so that it is not fetched again
after a kill or a lost connection. A connection that fails gives back what is left of its range;
the others go on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import BinaryIO

from cudaswitch.download.access import GRACE, Access, Limits
from cudaswitch.download.client import Session, ask, is_range, read_some
from cudaswitch.download.failures import AGAIN, StoppedError, TransientError
from cudaswitch.download.parts import Part, Record, Span, gaps
from cudaswitch.download.patience import Pace
from cudaswitch.errors import SourceError
from cudaswitch.regular import write_out

CONNECTIONS = 8
WATCH = 0.15
"""Seconds after which the speed of the first connection is known well enough."""
LONG = 2.0
"""Seconds that the rest must take at that speed to be worth more connections."""
LEAST = 8 << 20
"""Bytes that must be missing to be worth more connections."""
_SHARES = 4
"""Requests for each connection, so that a slow one does not keep the others waiting at the end."""
_LEAST_SHARE = 2 << 20
_NOTED_AT_ONCE = 256 << 10
"""Bytes of each connection that a kill may lose."""
_LOOK = 0.05


class ChangedError(Exception):
    """The server does not deliver ranges of the file that was begun."""


def is_worth_it(spent: float, arrived: int, missing: int) -> bool:
    """Tell from the bytes of the first `spent` seconds whether more connections may help."""
    return spent >= WATCH and missing >= LEAST and missing * spent > LONG * max(arrived, 1)


@dataclass
class Ranges:
    """Fetches what is missing of `record` into `part`. `record` has a size and a validator."""

    url: str
    part: Part
    record: Record
    limits: Limits
    access: Access
    stop: Event
    on_arrival: Callable[[int], None]
    _todo: deque[Span] = field(default_factory=deque)
    _lock: Lock = field(default_factory=Lock)
    _errors: list[Exception] = field(default_factory=list)
    _end: Event = field(default_factory=Event)
    _arrived: int = 0

    def run(self, meanwhile: Callable[[int], None]) -> None:
        """Fetch it all; `meanwhile` is told how many bytes from the start are complete.

        Raises ChangedError, TransientError when no connection is left, StoppedError or OSError.
        """
        total = self.record.size or 0
        missing = gaps(self.part.spans(), total)
        size = sum(end - start for start, end in missing)
        share = max(_LEAST_SHARE, size // (CONNECTIONS * _SHARES))
        for start, end in missing:
            self._todo += [(at, min(at + share, end)) for at in range(start, end, share)]
        count = min(CONNECTIONS, len(self._todo))
        threads = [Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        told = 0
        try:
            while any(thread.is_alive() for thread in threads):
                if self.stop.is_set():
                    raise StoppedError
                with self._lock:
                    arrived, self._arrived = self._arrived, 0
                self.on_arrival(arrived)
                front = self._front(total)
                meanwhile(front)
                if front == told:
                    time.sleep(_LOOK)
                told = front
        finally:
            self._end.set()
            # Do not wait long for a thread whose server is silent.
            until = time.monotonic() + GRACE
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))
        self.on_arrival(self._arrived)
        if gaps(self.part.spans(), total):
            raise next(
                (error for error in self._errors if not isinstance(error, TransientError)),
                self._errors[-1],
            )

    def _front(self, total: int) -> int:
        missing = gaps(self.part.spans(), total)
        return missing[0][0] if missing else total

    def _work(self) -> None:
        try:
            with Session(self.access) as session, self.part.open() as out:
                while not self._end.is_set():
                    with self._lock:
                        if not self._todo:
                            return
                        span = self._todo.popleft()
                    self._fetch(session, out, span)
        except (SourceError, ChangedError):
            self._errors.append(ChangedError())
            self._end.set()
        except Exception as error:  # raised in the caller's thread, if no other fetches the rest
            self._errors.append(error)

    def _fetch(self, session: Session, out: BinaryIO, span: Span) -> None:
        """Fetch one span; after a failure, give back the rest of it."""
        at, end = span
        noted = at
        out.seek(at)
        headers = {
            "Range": f"bytes={at}-{end - 1}",
            "If-Range": self.record.etag or self.record.modified,
        }
        try:
            with ask(session, self.url, headers, self.limits) as response:
                if response.status_code in AGAIN:
                    raise TransientError(f"the server answered {response.status_code}")
                if not is_range(response, span, self.record):
                    raise ChangedError
                pace = Pace(self.limits)
                while not self._end.is_set() and (piece := read_some(response, self.limits)):
                    if at + len(piece) > end:
                        raise ChangedError
                    write_out(out.fileno(), piece)
                    at += len(piece)
                    if at - noted >= _NOTED_AT_ONCE:
                        self._note((noted, at))
                        noted = at
                    pace.check(len(piece))
                if at < end:
                    raise TransientError("the connection was lost")
        finally:
            self._note((noted, at))
            if at < end:
                with self._lock:
                    self._todo.appendleft((at, end))

    def _note(self, span: Span) -> None:
        """Record what is in the file already."""
        with self._lock:
            self.part.add(span)
            self._arrived += span[1] - span[0]
