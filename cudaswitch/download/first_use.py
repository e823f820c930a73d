"""What a URL delivered the first time, so that it cannot deliver another file unnoticed.

    seen/<key>.json   the URL without credentials, the sha256 of its file, and the day

This folder is in the download cache, and `gc` leaves it there. It is for files that the user names
by a URL alone: an index states hashes of its own, which may rightly change with it.
"""

from __future__ import annotations

import contextlib
import json
import re
from datetime import datetime, timezone
from pathlib import Path

from cudaswitch.download.cache import url_key, write_note
from cudaswitch.download.urls import redact
from cudaswitch.errors import SourceError, StoreError
from cudaswitch.regular import read_json
from cudaswitch.toolkit import is_sha256

FOLDER = "seen"
_LIMIT = 64 << 10
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def compare(cache: Path, url: str, sha256: str) -> None:
    """Raise SourceError if a different file from `url` was accepted before."""
    known = _read(_place(cache, url))
    if known is not None and known[0] != sha256:
        raise SourceError(
            f"`{redact(url)}` delivers a different file than on {known[1]}:"
            f" its sha256 is {sha256}, but {known[0]} was recorded",
            f"if its publisher confirms the change, add --sha256 {sha256}",
        )


def remember(cache: Path, url: str, sha256: str) -> None:
    """Record what `url` delivered as the right file from now on.

    Only for a file that has been accepted: an error page in its place must never be trusted.
    """
    path = _place(cache, url)
    known = None
    # With a damaged record, only a user who has given the right hash gets here.
    with contextlib.suppress(StoreError):
        known = _read(path)
    if known is None or known[0] != sha256:
        today = datetime.now(timezone.utc).date().isoformat()
        row = {"url": redact(url), "sha256": sha256, "day": today}
        write_note(path, json.dumps(row) + "\n")


def _place(cache: Path, url: str) -> Path:
    return cache / FOLDER / f"{url_key(url)}.json"


def _read(path: Path) -> tuple[str, str] | None:
    try:
        row = read_json(path, _LIMIT)
        sha256, day = str(row["sha256"]), str(row["day"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(
            f"cannot read `{path}`: {error.strerror}", "check who owns it, or remove it"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        sha256 = day = ""
    if not (is_sha256(sha256) and _DAY.fullmatch(day)):
        raise StoreError(
            f"the record `{path}` of an earlier download is damaged",
            "remove it, or give the file's hash with --sha256",
        )
    return sha256, day
