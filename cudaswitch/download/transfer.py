"""One file over HTTP: begin or resume, count, hash, time, try again, publish.

The client library is trusted with TLS, proxies and netrc, and with nothing else: bytes are
counted and hashed as they arrive, and every answer to a request for a range is checked
before a byte of it is kept.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Event
from typing import NoReturn

import requests
from tqdm import tqdm

from cudaswitch import progress, talk
from cudaswitch.download.access import Access, Limits
from cudaswitch.download.cache import PIECE, Cache, feed
from cudaswitch.download.client import (
    Session,
    ask,
    begun_record,
    continued_size,
    read_some,
    refuse_coding,
    takes_ranges,
)
from cudaswitch.download.failures import StoppedError, TransientError, broken
from cudaswitch.download.parts import Part, Record, read_record
from cudaswitch.download.patience import Pace
from cudaswitch.download.ranges import ChangedError, Ranges, is_worth_it
from cudaswitch.download.urls import redact, refused
from cudaswitch.errors import SourceError, StoreError, UnreachableError
from cudaswitch.regular import write_out

_WEB_PAGE = (b"<!doctype", b"<html", b"<head", b"<?xml")
_SNIFF = 64
_BY_HAND = "check the URL, or download it by hand"
_HASHED_AT_ONCE = 16 << 20
_SILENCE = 15.0
"""Seconds without a byte that need no explanation: the usual retries end before that."""


class _DoubtError(Exception):
    """The resumed part cannot be trusted: begin from zero, once."""


@dataclass
class Transfer:
    """The download of `url` into `part`; `sha256` and `size` are what it must have, if known.

    `known` is what the URL delivered last: the server is asked whether that is still current.
    If another thread sets `stop`, the transfer ends with StoppedError.
    """

    url: str
    part: Part
    cache: Cache
    limits: Limits
    sha256: str | None
    size: int | None
    known: Record | None
    show: bool
    stop: Event
    access: Access
    resume: bool = True
    _began: float = 0.0
    _told: bool = False

    def run(self) -> Path:
        """Return the file's path in the cache, or raise SourceError or StoreError."""
        failures, reached = 0, self.part.arrived
        self._began = arrived_at = time.monotonic()
        with Session(self.access) as session:
            while True:
                try:
                    return self._attempt(session)
                except (_DoubtError, ChangedError):
                    # What has arrived stays until the server delivers the file: it may refuse.
                    self.resume = False
                except TransientError as cut:
                    # Progress resets the count, or no large file would arrive over a bad line.
                    arrived = self.part.arrived
                    failures = 1 if arrived >= reached + PIECE else failures + 1
                    if arrived > reached:
                        reached, arrived_at = arrived, time.monotonic()
                    if failures > self.limits.retries:
                        hint = self._what_next()
                        raise refused(self.url, cut.reason, hint, UnreachableError) from None
                    self._check_time()
                    delay = cut.delay(failures)
                    self._tell(cut.reason, delay, time.monotonic() + delay - arrived_at)
                    if self.stop.wait(delay):
                        raise StoppedError from None

    def _tell(self, reason: str, delay: float, silence: float) -> None:
        """Say once why nothing arrives for long: it looks as if the program hung."""
        if self._told or silence < _SILENCE:
            return
        self._told = True
        when = f" in {delay:.0f} s" if delay >= 1 else ""
        # The bars of other downloads make room for the line.
        with tqdm.external_write_mode(file=sys.stderr):
            talk.say(f"`{redact(self.url)}`: {reason}; trying again{when}")

    def _check_time(self) -> None:
        if time.monotonic() - self._began > self.limits.seconds:
            raise refused(
                self.url, f"it took longer than {self.limits.seconds:g} s", self._what_next()
            )

    def _what_next(self) -> str:
        if self.known is not None:
            return "`--offline` uses the copy in the cache"
        if self.part.size:
            return "the same command resumes the download"
        return "check the network and the URL, then try again"

    def _attempt(self, session: Session) -> Path:
        note = read_record(self.part.note_path)
        offset = self._resumable(note)
        if note is not None and offset and self.part.has_holes:
            return self._in_ranges(note)
        digest = hashlib.sha256()
        if note is None or offset == 0:
            headers = self._since_known()
        else:
            feed(digest, self.part.path)
            if offset == (self.size or note.size):
                return self._finish(note, digest.hexdigest(), resumed=True)
            headers = {"Range": f"bytes={offset}-"}
            if validator := note.etag or note.modified:
                headers["If-Range"] = validator
        with ask(session, self.url, headers, self.limits) as response:
            status = response.status_code
            if status == 304 and self.known is not None:
                return self.cache.root / self.known.sha256
            if status == 206 and note is not None and offset:
                record, head = self._continue(response, offset, note), b""
            elif status == 200:
                offset, digest = 0, hashlib.sha256()
                record, head = self._begin(response)
            elif status == 416 and offset:
                raise _DoubtError
            else:
                raise broken(self.url, response)
            may_split = self.resume and takes_ranges(response) and _is_validated(record)
            whole = self._receive(response, head, offset, digest, record, may_split=may_split)
        if not whole:
            return self._in_ranges(record, digest)
        return self._finish(record, digest.hexdigest(), resumed=offset > 0)

    def _resumable(self, note: Record | None) -> int:
        """Return how many bytes of the part can be kept; it takes a validator or a known sha256."""
        if not self.resume or note is None or not (note.etag or note.modified or self.sha256):
            return 0
        total = self.size or note.size
        return self.part.size if total is None or self.part.size <= total else 0

    def _since_known(self) -> dict[str, str]:
        if self.known is None:
            return {}
        conditions = {"If-None-Match": self.known.etag, "If-Modified-Since": self.known.modified}
        return {name: value for name, value in conditions.items() if value}

    def _continue(self, response: requests.Response, offset: int, note: Record) -> Record:
        total = continued_size(response, offset, note)
        if total is None or self.size not in (None, total):
            raise _DoubtError
        self._check_promise(response, total, total - offset)
        return note._replace(size=total)

    def _begin(self, response: requests.Response) -> tuple[Record, bytes]:
        """Empty the part for a file, unless its first bytes, which are returned, are a page's."""
        record = begun_record(self.url, response)
        if record.size is None and not (response.raw.chunked or self.size or self.sha256):
            raise refused(
                self.url,
                "the server does not state its length, so a truncated file would go unnoticed",
                "give the file's hash with --sha256",
            )
        self._check_promise(response, record.size, record.size or 0, freed=self.part.on_disk)
        head = self._head(response)
        self.part.begin(record)
        return record, head

    def _head(self, response: requests.Response) -> bytes:
        head, pace = b"", Pace(self.limits)
        while len(head) < _SNIFF and (piece := read_some(response, self.limits)):
            head += piece
            pace.check(len(piece))
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_WEB_PAGE):
            raise refused(
                self.url,
                "the server sent a web page instead of the file",
                "open the URL in a browser: a login page or a portal may be in front",
            )
        return head

    def _check_promise(
        self, response: requests.Response, total: int | None, todo: int, *, freed: int = 0
    ) -> None:
        """Refuse, before a byte is kept, what cannot end well; what arrived before stays.

        `todo` is what is left, and `freed` what it takes the place of, in bytes.
        """
        refuse_coding(self.url, response)
        if self.size is not None and total not in (None, self.size):
            reason = f"it has {total} bytes, but {self.size} were expected"
            raise refused(self.url, reason, _BY_HAND)
        if (total or 0) > self.limits.size:
            reason = f"it has {total} bytes, over the limit of {self.limits.size}"
            raise refused(self.url, reason, _BY_HAND)
        free = shutil.disk_usage(self.cache.root).free + freed
        if todo > free:
            raise StoreError(
                f"the download needs {todo} bytes, but `{self.cache.root}` has {free} left",
                "free some space, or set CUDASWITCH_CACHE to a folder elsewhere",
            )

    def _in_ranges(self, record: Record, digest: hashlib._Hash | None = None) -> Path:
        """Fetch what is missing over several connections; `digest` is of the part so far."""
        hashed = 0 if digest is None else self.part.size
        digest = digest or hashlib.sha256()
        self.part.begin_ranges()

        def hash_up_to(front: int) -> None:
            nonlocal hashed
            # Only so much at a time: the caller has to look after the connections as well.
            end = min(front, hashed + _HASHED_AT_ONCE)
            out.seek(hashed)
            while hashed < end and (piece := out.read(min(PIECE, end - hashed))):
                digest.update(piece)
                hashed += len(piece)

        with self.part.open() as out, self._bar(record, self.part.arrived) as bar:

            def on_arrival(count: int) -> None:
                bar.update(count)
                self._check_time()

            ranges = Ranges(
                self.url, self.part, record, self.limits, self.access, self.stop, on_arrival
            )
            ranges.run(hash_up_to)
            while hashed < (record.size or 0):
                hash_up_to(record.size or 0)
        return self._finish(record, digest.hexdigest(), resumed=True)

    def _bar(self, record: Record, initial: int) -> tqdm[NoReturn]:
        total = record.size if self.size is None else self.size
        return progress.bar(record.name, total, done=initial, show=self.show)

    def _receive(
        self,
        response: requests.Response,
        head: bytes,
        offset: int,
        digest: hashlib._Hash,
        record: Record,
        *,
        may_split: bool,
    ) -> bool:
        """Append the body to the part, counting, hashing and timing it; `head` has been read.

        Returns False if, after a while, more connections are worth it for the rest.
        """
        total = record.size if self.size is None else self.size
        most = self.limits.size if total is None else total
        got, pieces = offset, iter(lambda: read_some(response, self.limits), b"")
        pace, began = Pace(self.limits), time.monotonic()
        with self.part.open() as out, self._bar(record, offset) as bar:
            out.seek(offset)
            for piece in chain([head] if head else [], pieces):
                got += len(piece)
                if got > most:
                    raise self._rejected(f"it is larger than {most} bytes")
                write_out(out.fileno(), piece)
                digest.update(piece)
                bar.update(len(piece))
                if self.stop.is_set():
                    raise StoppedError
                pace.check(len(piece))
                self._check_time()
                spent = time.monotonic() - began
                if may_split and total and is_worth_it(spent, got - offset, total - got):
                    return False
        if total is not None and got < total:
            raise TransientError(f"the connection was lost after {got} of {total} bytes")
        if got == 0:
            raise self._rejected("the file is empty")
        return True

    def _finish(self, record: Record, sha256: str, *, resumed: bool) -> Path:
        if self.sha256 not in (None, sha256):
            if resumed:
                raise _DoubtError
            raise self._rejected(
                f"its sha256 is {sha256}, but {self.sha256} was expected",
                "the file was changed or damaged: check the hash and where it came from",
            )
        whole = record._replace(sha256=sha256, size=self.part.size)
        return self.cache.publish(self.part, self.url, whole)

    def _rejected(self, reason: str, hint: str = _BY_HAND) -> SourceError:
        """Drop what has arrived, and return why."""
        self.part.drop()
        return refused(self.url, reason, hint)


def _is_validated(record: Record) -> bool:
    return record.size is not None and bool(record.etag or record.modified)
