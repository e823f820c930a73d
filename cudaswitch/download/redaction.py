"""Credentials never reach a message, a log or the disk: the one place that takes them out."""

from __future__ import annotations

import re

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
