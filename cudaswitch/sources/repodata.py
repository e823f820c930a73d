"""A channel's index: fetched, and read for the few packages of CUDA.

If a channel has shards, they are used, otherwise `repodata.json.zst` or `repodata.json`. That of
a large channel has hundreds of thousands of records, and only one of them at a time is held in
memory. What was read from an index is kept in the cache, under the hash of the index. Format:
conda's documentation "Repodata".
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cudaswitch.archives.components import is_cuda
from cudaswitch.archives.faults import FaultError
from cudaswitch.archives.streams import Source, decoded
from cudaswitch.download.access import ANYBODY, Access
from cudaswitch.download.cache import discard, write_note
from cudaswitch.download.fetching import fetch
from cudaswitch.download.urls import redact
from cudaswitch.errors import NotFoundError, SourceError, UnreachableError
from cudaswitch.paths import cache
from cudaswitch.sources import shards

Records = dict[str, dict[str, Any]]
"""Records as the channel has them, by the file names of their packages."""

LIMIT = 1 << 30
"""Bytes of an index as it is sent."""
PLAIN_LIMIT = 8 << 30
"""Bytes of an index, decoded."""
VALUE_LIMIT = 2 << 20
"""Characters of one record, or of another value that is skipped."""
RECORDS_LIMIT = 48 << 20
"""Characters of all records of CUDA that an index may have; one takes some 800."""
RECORDS = 50_000
"""Records of CUDA that an index may have; the largest channel has a fifth of that."""

_SECTIONS = ("packages", "packages.conda")
_FORMS = (("repodata.json.zst", "zstd"), ("repodata.json", None))
_KEPT = 1
"""Version of what is kept in the cache: increase it when `is_cuda` wants other records."""
_BLANK = re.compile(r"[ \t\r\n]*")


def read_channel(folder: str, *, offline: bool, access: Access = ANYBODY) -> Records:
    """Return the records of CUDA in a channel's folder (URL up to the platform) by file name.

    Raises NotFoundError if there is no index, SourceError if it cannot be fetched or read.
    """
    sharded = _sharded(folder, offline, access)
    if sharded is not None:
        return sharded
    last: SourceError | None = None
    for name, form in _FORMS:
        url = f"{folder}/{name}"
        try:
            path = fetch(url, cache(), limit=LIMIT, offline=offline, access=access)
        except UnreachableError:
            raise
        except SourceError as error:
            # For files that they do not have, some servers answer with 403, or with a web page.
            last = error
            continue
        try:
            return _kept(path, partial(_whole, form))
        except (FaultError, ValueError, RecursionError) as error:
            discard(path, cache())
            raise SourceError(
                f"cannot use `{redact(url)}`: it is not a channel index ({error})",
                "check the channel, or ask the server's administrator",
            ) from None
    raise last or NotFoundError(f"no index in `{redact(folder)}`")


def _sharded(folder: str, offline: bool, access: Access) -> Records | None:
    """Return the records from shards; None if there are none that can be used.

    A channel that has shards has the whole index as well.
    """
    url = f"{folder}/{shards.INDEX}"
    try:
        path = fetch(url, cache(), limit=shards.LIMIT, offline=offline, access=access)
    except UnreachableError:
        raise
    except SourceError:  # as for the whole index
        return None
    read = partial(shards.read_shards, url=url, offline=offline, access=access)
    try:
        return _kept(path, read)
    except SourceError:
        return None
    except (FaultError, ValueError, RecursionError):
        discard(path, cache())
        return None


def _kept(path: Path, read: Callable[[Source], Iterable[tuple[str, dict[str, Any]]]]) -> Records:
    """Read an index, or the records that were kept from exactly this content before."""
    with Source(path) as source:
        if path.parent != cache():
            return dict(_few(read(source)))
        kept = cache() / "channels" / f"{path.name}-{_KEPT}.json"
        try:
            known: Records = json.loads(kept.read_bytes())
        except (OSError, ValueError):
            known = dict(_few(read(source)))
            write_note(kept, json.dumps(known), lasting=False)
        return known


def _few(records: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for count, found in enumerate(records, 1):
        if count > RECORDS:
            raise ValueError("it has too many records of CUDA")
        yield found


def _whole(form: str | None, source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    return read_records(decoded(source.pieces(), form) if form else source.pieces())


def read_records(pieces: Iterator[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an index's records of CUDA. Raises ValueError if it is not one."""
    text, length = _Text(pieces), 0
    for section in text.members():
        if section not in _SECTIONS:
            text.value()
            continue
        for file in text.members():
            record = text.value()
            if is_cuda(file.rsplit("-", 2)[0]) and isinstance(record, dict):
                # In memory, a list takes many times the two characters that it has here.
                length += text.length
                if length > RECORDS_LIMIT:
                    raise ValueError("its records of CUDA are too large")
                yield file, record
    text.end()


class _Text:
    """JSON that arrives in pieces: the members of an object, one value at a time."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder()
        self._text, self._at, self._count = "", 0, 0
        self.length = 0
        """Characters of the value that was taken last."""

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller takes each value before the next key."""
        self._take("{")
        if self._take('"}', keep=True) == "}":
            self._take("}")
            return
        while True:
            self._take('"', keep=True)
            key: str = self.value()
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def value(self) -> Any:
        """Return the next value."""
        self._take("", keep=True)
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._more():
                    raise ValueError(error.msg) from None
                continue
            # A number may go on in the next piece.
            if end == len(self._text) and self._more():
                continue
            self.length, self._at = end - self._at, end
            return value

    def end(self) -> None:
        """Raise ValueError if something follows."""
        while self._more():
            pass
        if _BLANK.fullmatch(self._text, self._at) is None:
            raise ValueError("something follows it")

    def _take(self, expected: str, *, keep: bool = False) -> str:
        """Return the next character that is not blank; it must be one of `expected`, if any."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                break
            if not self._more():
                raise ValueError("it ends too early")
        found = self._text[self._at]
        if expected and found not in expected:
            raise ValueError(f"a {' or '.join(expected)} is missing")
        self._at += not keep
        return found

    def _more(self) -> bool:
        """Read at least as much again as is waiting; False at the end."""
        self._text, self._at = self._text[self._at :], 0
        if len(self._text) > VALUE_LIMIT:
            raise ValueError("it has too large a value")
        read: list[str] = []
        length = 0
        for piece in self._pieces:
            self._count += len(piece)
            if self._count > PLAIN_LIMIT:
                raise ValueError("it is too large")
            read.append(self._utf8.decode(piece))
            length += len(piece)
            if length >= len(self._text):
                break
        else:
            read.append(self._utf8.decode(b"", final=True))
        self._text += "".join(read)
        return length > 0
