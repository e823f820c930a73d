"""Against servers that send a byte now and then: a socket's time-out begins anew with each.

What is read in one go, the head of an answer or the line before a chunk, must arrive completely
within the time that is allowed for a single byte, and everything at a minimum speed.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from cudaswitch.download.access import Limits
from cudaswitch.download.failures import TransientError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Pace:
    """Demands a minimum speed of a transfer."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.began, self.arrived = time.monotonic(), 0

    def check(self, arrived: int) -> None:
        """Count what has just arrived, in bytes. Raises TransientError if all is too slow."""
        self.arrived += arrived
        spent = time.monotonic() - self.began
        if spent <= self.limits.timeout:
            return
        if self.arrived < self.limits.floor * spent:
            raise TransientError(f"it was slower than {self.limits.floor} bytes per second")
        self.began, self.arrived = time.monotonic(), 0


class _Line(io.RawIOBase):
    """The bytes from a socket; reading fails after `until`, a monotonic time."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket, self._bytes = sock, sock.makefile("rb", buffering=0)
        self.allowed = sock.gettimeout()
        self.until: float | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        left = self.allowed if self.until is None else self.until - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError("the response was too slow")
        self._socket.settimeout(left)
        return self._bytes.readinto(buffer)

    def close(self) -> None:
        self._bytes.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """The standard library's response, whose head must arrive in time."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp.close()
        self._line = _Line(sock)
        self.fp = io.BufferedReader(self._line)

    def begin(self) -> None:
        with self.in_time():
            super().begin()

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """Let all reading in this context take as long as a single byte may; then TimeoutError.

        Each wait for a byte gets the time that is left, so no other thread has to watch.
        """
        if self._line.allowed is not None:
            self._line.until = time.monotonic() + self._line.allowed
        try:
            yield
        finally:
            self._line.until = None


def in_time(response: requests.Response) -> contextlib.AbstractContextManager[None]:
    """Limit the time of one read of a chunked answer; for others, do nothing."""
    raw = response.raw
    if raw.chunked and isinstance(raw._fp, _Response):
        return raw._fp.in_time()
    return contextlib.nullcontext()


class _Plain(HTTPConnection):
    response_class = _Response


class _Secure(HTTPSConnection):
    response_class = _Response


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


class ImpatientAdapter(HTTPAdapter):
    """Reaches servers, and proxies, over connections whose answers must begin in time."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        _use(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> urllib3.ProxyManager:
        manager: urllib3.ProxyManager = super().proxy_manager_for(*arguments, **options)
        _use(manager)
        return manager


def _use(manager: urllib3.PoolManager) -> None:
    # A SOCKS manager has pools of its own.
    if manager.pool_classes_by_scheme.get("https") is HTTPSConnectionPool:
        manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
