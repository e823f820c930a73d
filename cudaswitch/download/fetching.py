"""One file, wherever it is: from a path, the cache, or a server."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from threading import Event
from urllib.parse import urlsplit

from cudaswitch import settings, talk
from cudaswitch.download.access import ANYBODY, Access, Limits
from cudaswitch.download.cache import Cache, file_sha256, unusable
from cudaswitch.download.urls import file_name, local_path, redact, refused
from cudaswitch.errors import (
    FULL,
    UNREADABLE,
    NotFoundError,
    RequestError,
    SourceError,
    StoreError,
    hint_for,
)
from cudaswitch.toolkit import is_sha256


def fetch(
    url: str,
    cache: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    limit: int | None = None,
    offline: bool = False,
    show: bool | None = None,
    stop: Event | None = None,
    access: Access = ANYBODY,
) -> Path:
    """Return the file at an http, https or file URL, downloaded into `cache` if need be.

    `sha256` (hex) and `size` (bytes) are what it must have; without a sha256, the server is
    asked whether what the URL delivered last is still current. `limit` is the most bytes that
    it may have. With `offline`, the file comes from the cache or is refused. `show` asks for a
    progress bar on stderr; None means: if that is a terminal. Another thread ends the download
    by setting `stop`. `access` is how the server is reached, if not as usual.
    A download resumes where an earlier one was interrupted, even by a kill.

    Raises SourceError (not delivered, or not what was expected; NotFoundError if there is no
    such file), StoreError (the cache cannot be written) and RequestError (`sha256` is not one),
    each naming the redacted URL.
    """
    sha256 = _checked(sha256)
    if _scheme(url) == "file":
        return open_local(_local_path(url), sha256=sha256, size=size, limit=limit)
    limits = Limits.from_environment()
    if limit is not None:
        limits = replace(limits, size=min(limit, limits.size))
    show = sys.stderr.isatty() if show is None else show
    store = Cache(cache)
    try:
        if sha256 is not None and (path := store.find(sha256)):
            return path
        if offline:
            return _cached(store, url, sha256)

        def waiting() -> None:
            if show:
                talk.show(f"waiting for another process to download {file_name(url)}")

        with store.claim(url, limits.timeout, waiting) as part:
            if sha256 is not None and (path := store.find(sha256)):
                return path
            from cudaswitch.download.transfer import Transfer  # noqa: PLC0415  # HTTP is slow to load

            known = store.known(url) if sha256 is None else None
            transfer = Transfer(
                url, part, store, limits, sha256, size, known, show, stop or Event(), access
            )
            return transfer.run()
    except OSError as error:
        if error.errno in FULL:
            raise StoreError(
                f"no space left in `{cache}` to download {file_name(url)}",
                "free some space; the same command then resumes the download",
            ) from None
        raise unusable(cache, error) from None


def open_local(
    path: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    limit: int | None = None,
) -> Path:
    """Return `path` if it is a regular file with the sha256 and size given; else SourceError."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no file `{path}`", "check the path") from None
    except OSError as error:
        raise SourceError(
            f"cannot read `{path}`: {error.strerror}", hint_for(error, UNREADABLE)
        ) from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError(
            f"`{path}` is a folder, not an archive",
            f"if it is a toolkit: `cudaswitch adopt {quote(str(path))}`; cuDNN needs its archive",
        )
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f"`{path}` is not a regular file", "name an archive")
    actual = status.st_size
    if size not in (None, actual):
        raise SourceError(f"`{path}` has {actual} bytes, but {size} were expected")
    if limit is not None and actual > limit:
        raise SourceError(f"`{path}` has {actual} bytes, over the limit of {limit}")
    try:
        if (checked := _checked(sha256)) and (found := file_sha256(path)) != checked:
            raise SourceError(
                f"the sha256 of `{path}` is {found}, but {checked} was expected",
                "the file was changed or damaged: check the hash and where it came from",
            )
    except OSError as error:
        raise SourceError(
            f"cannot read `{path}`: {error.strerror}", hint_for(error, UNREADABLE)
        ) from None
    return path


def _cached(store: Cache, url: str, sha256: str | None) -> Path:
    known = store.known(url)
    if known is not None and sha256 in (None, known.sha256):
        return store.root / known.sha256
    raise NotFoundError(
        f"`{redact(url)}` is not in the cache, and nothing is downloaded offline",
        settings.way_online(),
    )


def _checked(sha256: str | None) -> str | None:
    if sha256 is None or is_sha256(sha256.lower()):
        return sha256.lower() if sha256 else None
    raise RequestError(f"`{sha256}` is not a sha256", "a sha256 has 64 digits, 0-9 and a-f")


def _scheme(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "file" or (parts.hostname and (parts.port or 1))
    except ValueError:
        usable = None
    if not (usable and url.isprintable() and parts.scheme in ("http", "https", "file")):
        reason = "only http, https and file URLs can be"
        if url.lower().startswith(("http:", "https:")):
            reason = "it does not name a valid host"
        raise refused(url, reason if url.isprintable() else "it is not a URL", "check the URL")
    return parts.scheme


def _local_path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise refused(url, "a file URL names a file on this machine", "write it as file:///path")
    return local_path(url)
