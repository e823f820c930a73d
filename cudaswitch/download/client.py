"""Requests to servers: one session, redirects followed by hand, headers checked before use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.utils import get_auth_from_url, select_proxy, urldefragauth

from cudaswitch import __version__
from cudaswitch.download.access import ANYBODY, Access, Limits
from cudaswitch.download.cache import PIECE
from cudaswitch.download.failures import failure, http_date
from cudaswitch.download.parts import Record
from cudaswitch.download.patience import ImpatientAdapter, in_time
from cudaswitch.download.urls import file_name, redact, refused

REDIRECTS = 10
_LIBRARY_ERRORS = (OSError, ValueError, urllib3.exceptions.HTTPError)
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_PORTS = {"http": 80, "https": 443}


class Session(requests.Session):
    """Asks for files' own bytes; netrc, proxies and TLS as configured, or as `access` has them."""

    def __init__(self, access: Access = ANYBODY) -> None:
        super().__init__()
        self.access = access
        self.headers.update(
            {"User-Agent": f"cudaswitch/{__version__}", "Accept-Encoding": "identity"}
        )
        for scheme in ("http://", "https://"):
            self.mount(scheme, ImpatientAdapter())
        if access.verify is False:
            # The user has set this; a warning for each request would tell nothing new.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[requests.Response]:
        """Yield nothing: `ask` follows redirects, and their bodies are not read."""
        return iter(())


def ask(session: Session, url: str, headers: dict[str, str], limits: Limits) -> requests.Response:
    """Return the answer after at most 10 redirects; credentials stay with the host of `url`.

    Raises TransientError or SourceError.
    """
    credentials = get_auth_from_url(url)
    at = urldefragauth(url)
    for _ in range(REDIRECTS + 1):
        try:
            own = any(credentials) and _origin(at) == _origin(url)
            response = session.get(
                at,
                auth=credentials if own else None,
                headers=headers,
                timeout=limits.timeout,
                verify=_trust() if session.access.verify is None else session.access.verify,
                proxies=dict(session.access.proxies),
                cert=session.access.certificate,
                stream=True,
                allow_redirects=False,
            )
            location = session.get_redirect_target(response)
            if location is None:
                return response
            response.close()
            target = urldefragauth(urljoin(at, location))
            _origin(target)
        except _LIBRARY_ERRORS as error:
            raise failure(error, at, limits, _proxy_named(session, at)) from None
        _refuse_downgrade(url, at, target)
        at = target
    raise refused(url, f"more than {REDIRECTS} redirects", "check the URL")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _proxy_named(session: Session, url: str) -> str | None:
    """Return the variable that names the proxy for a URL, or conda's setting; None without one."""
    given = dict(session.access.proxies)
    merged = session.merge_environment_settings(url, given, stream=True, verify=None, cert=None)
    proxy = select_proxy(url, merged["proxies"])
    if not proxy:
        return None
    kinds = (f"{urlsplit(url).scheme}_proxy", "all_proxy")
    variables = (name for name in os.environ if name.lower() in kinds and os.environ[name] == proxy)
    return next(variables, "proxy_servers")


def _refuse_downgrade(url: str, at: str, target: str) -> None:
    allowed = ("https",) if urlsplit(at).scheme == "https" else ("https", "http")
    if urlsplit(target).scheme not in allowed:
        raise refused(
            url,
            f"it redirects to `{redact(target)}`, which is not {' or '.join(allowed)}",
            "ask the server's administrator, or download that file by hand",
        )


def _trust() -> bool | str:
    # requests reads the other two by itself; SSL_CERT_FILE is OpenSSL's.
    others = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    return True if others else os.environ.get("SSL_CERT_FILE") or True


def read_some(response: requests.Response, limits: Limits) -> bytes:
    """Read what has arrived, at most 1 MiB, undecoded; empty at the end."""
    try:
        # `read` would wait for a whole piece, and so hide how slowly it comes.
        with in_time(response):
            piece: bytes = response.raw.read1(PIECE, decode_content=False)
    except _LIBRARY_ERRORS as error:
        raise failure(error, response.url, limits) from None
    return piece


def _body_length(response: requests.Response) -> int | None:
    """Bytes of body that the headers promise; None when they do not say."""
    length: int | None = response.raw.length_remaining
    return length


def begun_record(url: str, response: requests.Response) -> Record:
    """Record what a whole file is sent under, with only the validators that ranges may rely on."""
    etag = response.headers.get("ETag", "")
    modified = response.headers.get("Last-Modified", "")
    return Record(
        url=redact(url),
        name=file_name(url),
        size=_body_length(response),
        etag="" if etag.startswith("W/") else etag,
        modified=modified if _is_strong(modified, response.headers.get("Date", "")) else "",
    )


def _is_strong(modified: str, date: str) -> bool:
    """RFC 9110 8.8.2.2: a Last-Modified is a strong validator when the answer is younger."""
    then, now = http_date(modified), http_date(date)
    return then is not None and now is not None and (now - then).total_seconds() >= 1


def continued_size(response: requests.Response, offset: int, note: Record) -> int | None:
    """Return the whole size that a 206 states if it is exactly what was asked for, else None.

    It must begin at `offset`, reach to the end, and carry no validator other than the note's.
    """
    headers = response.headers
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if match is None:
        return None
    first, last, total = (int(text) for text in match.groups())
    right = (
        (first, last) == (offset, total - 1)
        and _body_length(response) in (None, total - offset)
        and _is_same(headers, note)
        and note.size in (None, total)
    )
    return total if right else None


def takes_ranges(response: requests.Response) -> bool:
    """Tell whether the server says that it sends parts of a file too."""
    return response.headers.get("Accept-Ranges", "").strip().lower() == "bytes"


def is_range(response: requests.Response, span: tuple[int, int], note: Record) -> bool:
    """Tell whether a 206 is exactly the span that was asked for, of the file that was begun."""
    headers = response.headers
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if response.status_code != 206 or match is None or "Content-Encoding" in headers:
        return False
    start, end = span
    return (
        tuple(map(int, match.groups())) == (start, end - 1, note.size)
        and _body_length(response) in (None, end - start)
        and _is_same(headers, note)
    )


def _is_same(headers: Mapping[str, str], note: Record) -> bool:
    """Tell whether an answer carries no validator other than the note's."""
    pairs = (("ETag", note.etag), ("Last-Modified", note.modified))
    return all(not ours or headers.get(name, ours) == ours for name, ours in pairs)


def refuse_coding(url: str, response: requests.Response) -> None:
    """Raise SourceError if the body is not the file itself: a server compressed it on the way."""
    coding = response.headers.get("Content-Encoding", "").lower()
    # Some servers label every .tgz as gzip-encoded; the bytes as sent are the file all the same.
    labelled = "gzip" in coding and file_name(url).endswith((".gz", ".tgz"))
    if coding not in ("", "identity") and not labelled:
        raise refused(
            url,
            f"the server sent it compressed ({coding}), without being asked to",
            "download it by hand",
        )
