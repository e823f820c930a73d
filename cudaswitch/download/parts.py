"""A download that is not complete: its bytes, which of them are there, and what they belong to."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

from cudaswitch.durable import write_atomically
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.regular import read_json
from cudaswitch.toolkit import is_sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

_RECORD_LIMIT = 1 << 20
_JOURNAL_LINE = re.compile(rb"([0-9]{1,18}) ([0-9]{1,18})\n")


class Record(NamedTuple):
    """What is known of the content of a URL. `url` is redacted; `size` is in bytes.

    `etag` and `modified` are the server's headers, as sent; `sha256` is empty until the
    whole file has arrived.
    """

    url: str
    name: str
    size: int | None = None
    sha256: str = ""
    etag: str = ""
    modified: str = ""


def read_record(path: Path) -> Record | None:
    """Read a record; anything that is not one counts as absent, since it can be fetched anew."""
    try:
        data = read_json(path, _RECORD_LIMIT)
        record = Record(**{name: data[name] for name in Record._fields})
        # The sha256 becomes a file name in the cache.
        return record if record.sha256 == "" or is_sha256(record.sha256) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_record(path: Path, record: Record) -> None:
    """Write a record whole or not at all. Not flushed: what it says is checked on reading."""
    write_atomically(path, json.dumps(record._asdict()), lasting=False)


Span = tuple[int, int]
"""From the first byte to the one after the last."""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Sort spans, and join those that meet or overlap; empty ones are left out."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def gaps(spans: list[Span], total: int) -> list[Span]:
    """Return what is missing of `total` bytes, in order, if `spans` (sorted) are there."""
    missing, at = [], 0
    for start, end in spans:
        if start > at:
            missing.append((at, min(start, total)))
        at = max(at, end)
    return [*missing, (at, total)] if at < total else missing


class Part:
    """The file that a download grows in, and its note: the record it began under.

    What came in ranges is recorded in a journal, one line for each piece; without a
    journal, the file has no holes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal_path = path.with_name(path.name + ".ranges")
        self._journal: BinaryIO | None = None
        self._spans: list[Span] | None = None

    @property
    def note_path(self) -> Path:
        return self.path.with_name(self.path.name + ".json")

    @property
    def size(self) -> int:
        return _size(self.path)

    @property
    def on_disk(self) -> int:
        """Bytes that it takes on its disk: holes take none."""
        try:
            return self.path.stat().st_blocks * 512
        except FileNotFoundError:
            return 0

    @property
    def sizes(self) -> tuple[int, int]:
        """Those of the file and of the journal: one of them grows as long as bytes arrive."""
        return self.size, _size(self.journal_path)

    @property
    def arrived(self) -> int:
        """Bytes that are there, without the holes."""
        return sum(end - start for start, end in self.spans())

    @property
    def has_holes(self) -> bool:
        return os.path.exists(self.journal_path)

    def spans(self) -> list[Span]:
        """Return the spans that are there, sorted and merged."""
        if self._spans is None:
            if not self.has_holes:
                return [(0, size)] if (size := self.size) else []
            journal = b""
            # The process that writes the journal may have finished, and removed it.
            with contextlib.suppress(FileNotFoundError):
                journal = self.journal_path.read_bytes()
            # A kill may have cut the last line short, which changes its number.
            lines = map(_JOURNAL_LINE.fullmatch, journal.splitlines(keepends=True))
            size = self.size
            self._spans = _merged((int(line[1]), min(int(line[2]), size)) for line in lines if line)
        return self._spans

    def begin_ranges(self) -> None:
        """From now on the file may have holes: record what is there so far."""
        if self._journal is None:
            spans = self.spans()
            self._spans = list(spans)
            self._journal = self.journal_path.open("ab", buffering=0)
            self._journal.write(b"\n" + b"".join(b"%d %d\n" % span for span in spans))

    def add(self, span: Span) -> None:
        """Record a span that has just been written. Only one thread at a time may call this."""
        if self._journal is None:
            raise ValueError("begin_ranges comes first")
        self._journal.write(b"%d %d\n" % span)
        # A new list, as another thread may be reading the old one.
        self._spans = _merged([*(self._spans or ()), span])

    def open(self) -> BinaryIO:
        """Open the file without a buffer, so that a kill loses nothing that has arrived."""
        return self.path.open("r+b", buffering=0)

    def _forget_ranges(self) -> None:
        if self._journal is not None:
            self._journal.close()
        self._journal, self._spans = None, None
        self.journal_path.unlink(missing_ok=True)

    def begin(self, record: Record) -> None:
        """Empty the part, then note the validators under which its bytes are sent."""
        self.drop()
        self.path.write_bytes(b"")
        write_record(self.note_path, record)

    def finish(self) -> None:
        """Remove what is next to the part, which has been given its final name."""
        self._forget_ranges()
        self.note_path.unlink(missing_ok=True)

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self.finish()
