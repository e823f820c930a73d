"""One file over HTTP: begin or resume, count, hash, time, try again, publish.

The client library is trusted with TLS, proxies and netrc, and with nothing else: bytes are
counted and hashed as they arrive, and every answer to a request for a range is checked
before a byte of it is kept.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

import requests
from tqdm import tqdm

from cudaswitch.download.cache import PIECE, Cache, Part, Record, feed, read_record
from cudaswitch.download.client import (
    ANYBODY,
    Access,
    Session,
    ask,
    begun_record,
    continued_size,
    new_session,
    read_some,
    refuse_coding,
)
from cudaswitch.download.failures import Limits, StoppedError, TransientError, broken, refused
from cudaswitch.errors import SourceError, StoreError

_WEB_PAGE = (b"<!doctype", b"<html", b"<head", b"<?xml")
_SNIFF = 64


class _DoubtError(Exception):
    """What was resumed cannot be trusted: begin from zero, once."""


@dataclass
class Transfer:
    """The download of `url` into `part`; `sha256` and `size` are what it must have, if known.

    `known` is what the URL delivered last: the server is asked whether that still stands.
    Where `stop` is set by another thread, the transfer ends with StoppedError.
    """

    url: str
    part: Part
    cache: Cache
    limits: Limits
    sha256: str | None
    size: int | None
    known: Record | None
    show: bool
    stop: Event = field(default_factory=Event)
    access: Access = ANYBODY
    resume: bool = True

    def run(self) -> Path:
        """Return the file's path in the cache, or raise SourceError or StoreError."""
        failures, reached = 0, self.part.size
        with new_session(self.access) as session:
            while True:
                try:
                    return self._attempt(session)
                except _DoubtError:
                    self.part.drop()
                    self.resume = False
                except TransientError as cut:
                    # Getting on counts, or no large file would ever arrive over a bad line.
                    failures = 1 if self.part.size >= reached + PIECE else failures + 1
                    reached = max(reached, self.part.size)
                    if failures > self.limits.retries:
                        raise refused(self.url, cut.reason, self._what_next()) from None
                    self.stop.wait(cut.delay(failures))

    def _what_next(self) -> str:
        if self.known is not None:
            return "`--offline` takes the copy in the cache"
        if self.part.size:
            return "the same command goes on where this one stopped"
        return "check the network and the URL, then try again"

    def _attempt(self, session: Session) -> Path:
        note = read_record(self.part.note_path)
        offset = self._resumable(note)
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
                record = self._continue(response, offset, note)
            elif status == 200:
                offset, digest = 0, hashlib.sha256()
                record = self._begin(response)
            elif status == 416 and offset:
                raise _DoubtError
            else:
                raise broken(self.url, response)
            self._receive(response, offset, digest, record)
        return self._finish(record, digest.hexdigest(), resumed=offset > 0)

    def _resumable(self, note: Record | None) -> int:
        """Bytes of the part that may be kept: only under a validator or a known sha256."""
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
        return replace(note, size=total)

    def _begin(self, response: requests.Response) -> Record:
        record = begun_record(self.url, response)
        if record.size is None and not (response.raw.chunked or self.size or self.sha256):
            raise refused(
                self.url,
                "the server does not say how long the file is, so a cut would go unnoticed",
                "name the file's hash with --sha256",
            )
        self._check_promise(response, record.size, record.size or 0)
        self.part.begin(record)
        return record

    def _check_promise(self, response: requests.Response, total: int | None, todo: int) -> None:
        """Refuse what cannot end well before a byte is kept; `todo` is what is left, in bytes."""
        if reason := refuse_coding(self.url, response):
            raise reason
        if self.size is not None and total not in (None, self.size):
            raise self._rejected(f"it has {total} bytes where {self.size} were expected")
        if (total or 0) > self.limits.size:
            raise self._rejected(f"it has {total} bytes, over the limit of {self.limits.size}")
        free = shutil.disk_usage(self.cache.root).free
        if todo > free:
            raise StoreError(
                f"the download needs {todo} bytes and `{self.cache.root}` has {free} left",
                "free some space, or set CUDASWITCH_CACHE to a folder elsewhere",
            )

    def _receive(
        self, response: requests.Response, offset: int, digest: hashlib._Hash, record: Record
    ) -> None:
        """Append the body to the part, counting, hashing and timing it."""
        total = record.size if self.size is None else self.size
        most = self.limits.size if total is None else total
        head, got = b"", offset
        pace = _Pace(self.limits)
        with (
            self.part.path.open("r+b") as out,
            tqdm(
                desc=record.name, total=total, initial=offset, disable=not self.show,
                unit="B", unit_scale=True, unit_divisor=1024, leave=False,
            ) as bar,
        ):  # fmt: skip
            out.seek(offset)
            while piece := read_some(response, self.limits):
                if got < _SNIFF:
                    head += piece[:_SNIFF]
                    self._refuse_web_page(head)
                got += len(piece)
                if got > most:
                    raise self._rejected(f"more than {most} bytes came")
                out.write(piece)
                digest.update(piece)
                bar.update(len(piece))
                if self.stop.is_set():
                    raise StoppedError
                pace.check(len(piece))
        if total is not None and got < total:
            raise TransientError(f"the connection was cut after {got} of {total} bytes")
        if got == 0:
            raise self._rejected("an empty file came")

    def _refuse_web_page(self, head: bytes) -> None:
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_WEB_PAGE):
            raise self._rejected(
                "a web page came instead of the file",
                "open the URL in a browser: a login page or a portal may be in front",
            )

    def _finish(self, record: Record, sha256: str, *, resumed: bool) -> Path:
        if self.sha256 not in (None, sha256):
            if resumed:
                raise _DoubtError
            raise self._rejected(
                f"its sha256 is {sha256} where {self.sha256} was expected",
                "the file was changed or damaged: check the hash and where it came from",
            )
        whole = replace(record, sha256=sha256, size=self.part.size)
        return self.cache.publish(self.part, self.url, whole)

    def _rejected(
        self, reason: str, hint: str = "check the URL, or download it by hand"
    ) -> SourceError:
        self.part.drop()
        return refused(self.url, reason, hint)


class _Pace:
    """Demands a least speed: a server may send a byte now and then for ever."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.began, self.arrived = time.monotonic(), 0

    def check(self, arrived: int) -> None:
        self.arrived += arrived
        spent = time.monotonic() - self.began
        if spent <= self.limits.timeout:
            return
        if self.arrived < self.limits.floor * spent:
            raise TransientError(f"less than {self.limits.floor} bytes a second came")
        self.began, self.arrived = time.monotonic(), 0
