"""A real HTTP server on 127.0.0.1 that misbehaves as asked: `server.url("cut")`.

The mode is the first part of the path, with an argument after `:`; http_modes tells what each
does. Requests and the number of body bytes sent are kept for the tests to look at.
"""

from __future__ import annotations

import contextlib
import http.server
import ssl
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from http_modes import MODES, random_bytes


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]


Own = TypeVar("Own", bound="Running")


class Running:
    """A context manager: while it is entered, `http` answers, each request in a thread."""

    http: http.server.ThreadingHTTPServer

    def __enter__(self: Own) -> Own:
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


class Server(Running):
    """Serves `content` under every mode and file name."""

    def __init__(self, content: bytes = b"", certificate: Path | None = None) -> None:
        self.content = content or random_bytes(1 << 20)
        self.asked: list[Asked] = []
        self.counting = threading.Condition()
        """Held while numbers change, as each request has a thread; told of all that come and go."""
        self.ranges = 0
        self.busy = 0
        self.open = 0
        self.most_open = 0
        """The most requests that were answered at the same time."""
        self.go = threading.Event()
        """Set by the test, to let the mode `held` go on."""
        self._sent = 0
        self.hits: Counter[str] = Counter()
        self.elsewhere = ""
        """Where the redirecting modes lead."""
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.owner = self  # type: ignore[attr-defined]
        self.scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
            self.scheme = "https"

    @property
    def sent(self) -> int:
        """How many bytes of bodies went out, once no request is being answered."""
        with self.counting:
            assert self.counting.wait_for(lambda: not self.open, 60), "a request does not end"
            return self._sent

    def count(self, sent: int) -> None:
        with self.counting:
            self._sent += sent

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.http.server_address[1]}"

    def url(self, mode: str = "ok", name: str = "file.bin", credentials: str = "") -> str:
        at = f"{credentials}@" if credentials else ""
        return f"{self.scheme}://{at}{self.host}/{mode}/{name}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    @property
    def owner(self) -> Server:
        return self.server.owner  # type: ignore[attr-defined,no-any-return]

    @property
    def data(self) -> bytes:
        return self.owner.content

    def do_GET(self) -> None:
        self.close_connection = True
        self.owner.asked.append(Asked(self.path, dict(self.headers.items())))
        mode, _, argument = self.asked_for.partition(":")
        owner = self.owner
        with owner.counting:
            owner.hits[mode] += 1
            owner.open += 1
            owner.most_open = max(owner.most_open, owner.open)
            owner.counting.notify_all()
        try:
            # The client may hang up, which many tests want.
            with contextlib.suppress(OSError):
                MODES[mode](self, argument)
        finally:
            with owner.counting:
                owner.open -= 1
                owner.counting.notify_all()

    @property
    def asked_for(self) -> str:
        """The mode with its argument; a request to a proxy has a whole URL."""
        return urlsplit(self.path).path.split("/")[1]

    @property
    def first(self) -> bool:
        return self.owner.hits[self.asked_for.partition(":")[0]] == 1

    def head(self, status: int, *headers: tuple[str, object]) -> None:
        lines = [f"HTTP/1.1 {status} {self.responses.get(status, ('Odd',))[0]}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.raw("\r\n".join([*lines, "Connection: close", "", ""]).encode())

    def raw(self, data: bytes) -> None:
        self.wfile.write(data)

    def body(self, data: bytes, rate: float = 0) -> None:
        """Send `data`, at `rate` bytes a second if given, counting what the socket took."""
        step = max(1, int(rate / 20)) if rate else 1 << 16
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            self.raw(piece)
            self.owner.count(len(piece))
            if rate:
                time.sleep(len(piece) / rate)

    def tagged(self) -> list[tuple[str, object]]:
        return [("ETag", f'"{hash(self.data):x}"'), ("Date", formatdate(usegmt=True))]

    def whole(
        self, *headers: tuple[str, object], send: float = 1.0, rate: float = 0, ranges: bool = True
    ) -> None:
        """Serve as a good server would, but only the fraction `send` of the body."""
        tags = dict(headers or self.tagged())
        if tags.get("ETag") and self.headers.get("If-None-Match") == tags["ETag"]:
            self.head(304)
            return
        start = self.wanted(tags) if ranges else 0
        rest = self.data[start:]
        span = f"bytes {start}-{len(self.data) - 1}/{len(self.data)}"
        more: list[tuple[str, object]] = [("Content-Range", span)] if start else []
        self.head(206 if start else 200, ("Content-Length", len(rest)), *tags.items(), *more)
        self.body(rest[: int(len(rest) * send)], rate)

    def wanted(self, tags: dict[str, object]) -> int:
        """Return the offset asked for, 0 if If-Range does not hold."""
        asked = self.headers.get("Range", "").removeprefix("bytes=").rstrip("-")
        condition = self.headers.get("If-Range")
        if condition is not None and condition not in (tags.get("ETag"), tags.get("Last-Modified")):
            return 0
        return int(asked) if asked else 0


def self_signed(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1, with its key, in one file."""
    path = folder / "localhost.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", path, "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + (folder / "cert.pem").read_bytes())
    return path
