"""How downloads fail: what may be tried again, after how long, and the message for the rest."""

from __future__ import annotations

import http.client
import random
import ssl
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
import urllib3

from cudaswitch.download.access import Limits
from cudaswitch.download.urls import redact, refused
from cudaswitch.errors import NotFoundError, SourceError

RETRY_AFTER = 60.0
"""The most seconds that a server can make us wait."""

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_GONE = frozenset({404, 410})
_HINTS = {
    401: "put the user name and password into ~/.netrc",
    403: "put the user name and password into ~/.netrc",
    404: "check the URL",
    407: "put the user name and password into the proxy's URL in `https_proxy` or `http_proxy`",
}

_UNKNOWN_AUTHORITY = "if it is your organisation's own, name its CA file in REQUESTS_CA_BUNDLE"
_CERTIFICATES = {
    9: "check that this machine's clock is right",
    10: "check that this machine's clock is right, or ask the server's administrator",
    62: "check the URL: the certificate is for another host",
    64: "check the URL: the certificate is for another host",
}
"""What to do about a certificate, by OpenSSL's number (X509_V_ERR in x509_vfy.h)."""


class TransientError(Exception):
    """The transfer stopped in a way that another try may overcome. `after`: seconds to wait."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after

    def delay(self, failures: int) -> float:
        """Seconds until the next try, the `failures`th: doubling, with jitter."""
        if self.after is not None:
            return min(max(self.after, 0.0), RETRY_AFTER)
        return min(0.2 * 2.0 ** (failures - 1), 30.0) * random.uniform(0.5, 1.0)  # noqa: S311  # jitter, no secret


_TIMEOUTS = (requests.Timeout, urllib3.exceptions.ReadTimeoutError, TimeoutError)
_BAD_HEADERS = (requests.exceptions.InvalidHeader, urllib3.exceptions.InvalidHeader)
_CUTS = (urllib3.exceptions.IncompleteRead, http.client.IncompleteRead)


def failure(error: Exception, url: str, limits: Limits, proxy: str | None = None) -> Exception:
    """Translate an error of the HTTP library: worth another try (TransientError), or final.

    `proxy` is the variable or setting that names the proxy through which the URL was requested.
    """
    links = list(_chain(error))
    for link in links:
        if isinstance(link, ssl.SSLCertVerificationError):
            return refused(
                url,
                f"the server's certificate is not trusted ({link.verify_message})",
                _CERTIFICATES.get(link.verify_code, _UNKNOWN_AUTHORITY),
            )
    if any(isinstance(link, _TIMEOUTS) for link in links):
        return TransientError(f"no answer for {limits.timeout:g} s")
    if isinstance(error, requests.RequestException | urllib3.exceptions.HTTPError):
        if isinstance(error, ValueError) and not isinstance(error, _BAD_HEADERS):
            if proxy and _can_be_asked(url):
                return refused(url, *_fault_of_proxy(error, proxy))
            return refused(url, "it is not a valid URL", "check the URL")
        says = next(
            (text for link in links if (text := _says(link))), "the answer is not valid HTTP"
        )
        is_of_proxy = isinstance(error, requests.exceptions.ProxyError)
        return TransientError(f"the proxy in `{proxy}`: {says}" if is_of_proxy else says)
    return refused(url, redact(str(error)), "check the URL, and the TLS and proxy settings")


def _can_be_asked(url: str) -> bool:
    try:
        requests.Request("GET", url).prepare()
    except ValueError:
        return False
    return True


def _fault_of_proxy(error: ValueError, name: str) -> tuple[str, str]:
    """Return the reason and the hint, without the proxy itself: there may be a password in it."""
    instead = f"set `{name}` to http://HOST:PORT, or unset it"
    if isinstance(error, requests.exceptions.InvalidSchema):
        return f"`{name}` is a SOCKS proxy, for which PySocks is not installed", instead
    return f"`{name}` is not a valid proxy", instead


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors that it was made from."""
    seen: list[BaseException] = []
    todo: list[object] = [error]
    while todo:
        link = todo.pop(0)
        if isinstance(link, BaseException) and link not in seen and len(seen) < 20:
            seen.append(link)
            yield link
            todo += [*link.args, getattr(link, "reason", None), link.__cause__, link.__context__]


def _says(link: BaseException) -> str | None:
    if isinstance(link, ssl.SSLError):
        return f"TLS failed ({link.reason})"
    if isinstance(link, _CUTS):
        return "the connection was lost"
    if isinstance(link, OSError) and not isinstance(link, requests.RequestException):
        return link.strerror
    return None


class StoppedError(Exception):
    """Another download's failure ended this one; what has arrived is kept."""


def broken(url: str, response: requests.Response) -> Exception:
    """Translate a status that delivers nothing: worth another try (TransientError), or final."""
    status = f"the server answered {response.status_code} {response.reason or ''}".rstrip()
    if response.status_code in AGAIN:
        after = _retry_after(response.headers.get("Retry-After", ""), datetime.now(timezone.utc))
        return TransientError(status, after)
    host = urlsplit(response.url).hostname
    if host != urlsplit(url).hostname:
        status = f"{host}, to which it redirects, answered {response.status_code}"
    kind = NotFoundError if response.status_code in _GONE else SourceError
    hint = _HINTS.get(response.status_code, "ask the server's administrator")
    return refused(url, status, hint, kind)


def _retry_after(text: str, now: datetime) -> float | None:
    """Return the seconds from `now` that a Retry-After means, which may be a number or a date."""
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    date = http_date(text)
    return (date - now).total_seconds() if date else None


def http_date(text: str) -> datetime | None:
    """Read a date from a header; None if it is not a date."""
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
