"""URLs as text: without credentials for messages, and the names and paths that they hold.

Credentials never reach a message, a log or the disk: this is the one place that takes them out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from cudaswitch.errors import SourceError, printable

_URL = re.compile(
    r"\b(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:[^\s/?#]*@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]*\](?::[0-9]*)?|[^\s/?#'\"`<>]*)"
    r"(?P<path>[^\s?#'\"`<>]*)"
    r"(?P<rest>[?#][^\s'\"`<>]*)?"
)
_TOKEN_PATH = re.compile(r"/t/[^/]+")
HIDDEN = "?***"
"""Stands in for the query of a URL, which may be secret."""
_PLAIN_HOST = re.compile(r"\[[0-9A-Fa-f:.]*\](?::[0-9]*)?|[^:]*(?::[0-9]*)?")


def redact(text: str) -> str:
    """Take the credentials out of every URL in `text`, which may be just one URL.

    User, password and fragment are removed; the token in conda's `/t/TOKEN/` and every query
    become `***`. A URL whose host cannot be told from a password is hidden up to its end.
    """
    return _URL.sub(_redacted, text)


def _redacted(match: re.Match[str]) -> str:
    host = match["host"]
    if not _PLAIN_HOST.fullmatch(host):
        return f"{match['scheme']}://***"
    query = HIDDEN if (match["rest"] or "").startswith("?") else ""
    path = match["path"]
    # On this machine, `/t/` is just a folder, and paths have no tokens.
    if match["scheme"].lower() != "file":
        path = _TOKEN_PATH.sub("/t/***", path)
    return f"{match['scheme']}://{host}{path}{query}"


def file_name(url: str) -> str:
    """Return the file name at the end of a URL: without folders, and safe to print."""
    name = unquote(urlsplit(url).path).replace("\\", "/").rpartition("/")[2]
    return "download" if name in ("", ".", "..") else printable(name)


def local_path(url: str) -> Path:
    """Return the path that a file URL names on this machine."""
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(url).path)))


def refused(url: str, reason: str, hint: str, kind: type[SourceError] = SourceError) -> SourceError:
    """Return the error for a download that failed for good."""
    return kind(f"cannot download `{redact(url)}`: {reason}", hint)
