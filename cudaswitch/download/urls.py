"""URLs as text: without credentials for messages, and the names and paths that they hold.

Credentials never reach a message, a log or the disk: this is the one place that takes them out.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cudaswitch.errors import SourceError, printable

_URL = re.compile(
    r"\b(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:[^\s/?#]*@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]*\](?::[0-9]*)?|[^\s/?#'\"`<>]*)"
    r"(?P<path>[^\s?#'\"`<>]*)"
    r"(?P<rest>[?#][^\s'\"`<>]*)?"
)
_TOKEN_PATH = re.compile(r"/t/[^/]+")
_PLAIN_HOST = re.compile(r"\[[0-9A-Fa-f:.]*\](?::[0-9]*)?|[^:]*(?::[0-9]*)?")


def redact(text: str) -> str:
    """Take the credentials out of every URL in `text`, which may be just one URL.

    User and password go, conda's `/t/TOKEN/` and every query become `***`, fragments go. A URL
    whose host cannot be told from a password is hidden up to its end.
    """
    return _URL.sub(_redacted, text)


def _redacted(match: re.Match[str]) -> str:
    host = match["host"]
    if not _PLAIN_HOST.fullmatch(host):
        return f"{match['scheme']}://***"
    query = "?***" if (match["rest"] or "").startswith("?") else ""
    return f"{match['scheme']}://{host}{_TOKEN_PATH.sub('/t/***', match['path'])}{query}"


def file_name(url: str) -> str:
    """The file name at the end of a URL: no folder, fit to be shown."""
    name = unquote(urlsplit(url).path).replace("\\", "/").rpartition("/")[2]
    return "download" if name in ("", ".", "..") else printable(name)


def local_path(url: str) -> Path:
    """Return the path that a file URL of this machine names."""
    return Path(unquote(urlsplit(url).path))


def refused(url: str, reason: str, hint: str, kind: type[SourceError] = SourceError) -> SourceError:
    """The one line for a download that failed for good."""
    return kind(f"cannot download `{redact(url)}`: {reason}", hint)
