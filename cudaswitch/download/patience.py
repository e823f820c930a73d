"""A server that sends a byte now and then: the time-out of a socket begins anew with each.

What is read in one go, the head of an answer or the line before a chunk, must come whole within
the time that is allowed for a single byte.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


@contextlib.contextmanager
def in_time(line: socket.socket) -> Iterator[None]:
    """Hang up when what is done takes longer than the socket's time-out; then TimeoutError."""
    over = threading.Event()

    def hang_up() -> None:
        over.set()
        # Whoever waits for the next byte is told that there is none.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(line, socket.SHUT_RDWR)

    timer = threading.Timer(line.gettimeout() or 0.0, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if over.is_set():
            raise TimeoutError("the answer came too slowly") from None
        raise
    finally:
        timer.cancel()
    if over.is_set():
        raise TimeoutError("the answer came too slowly")


class _Response(http.client.HTTPResponse):
    """The standard library's, whose head must come in time; `line` is its socket."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.line = sock

    def begin(self) -> None:
        with in_time(self.line):
            super().begin()


def line_of(response: requests.Response) -> socket.socket | None:
    """Return the socket of an answer whose length comes with each chunk, None for others."""
    raw = response.raw
    return raw._fp.line if raw.chunked and isinstance(raw._fp, _Response) else None


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
    # SOCKS has pools of its own.
    if manager.pool_classes_by_scheme.get("https") is HTTPSConnectionPool:
        manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
