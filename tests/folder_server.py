"""A real HTTP server on 127.0.0.1 for a folder: ETags, ranges, listings, as a mirror has them."""

from __future__ import annotations

import hashlib
import http.server
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from http_server import Running


class FolderServer(Running):
    """Serves what is in `root` at the moment of each request.

    `lists` lets it list folders. `asked` are the requests as (path, status), in order, `trusted`
    the credentials that came with them; `instead` maps a path to what is sent in place of the file,
    `once` to what is sent once, under the file's own ETag. `missing` is the status, and the page,
    for a file that it does not have.
    """

    def __init__(self, root: Path, *, lists: bool = False) -> None:
        self.root, self.lists = root, lists
        self.asked: list[tuple[str, int]] = []
        self.trusted: set[str] = set()
        self.instead: dict[str, bytes] = {}
        self.once: dict[str, bytes] = {}
        self.missing = 404, b"<html>not here</html>"
        self.http = _QuietServer(("127.0.0.1", 0), _Handler)
        self.http.owner = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def statuses(self, path: str) -> list[int]:
        """Return how the requests for `path` were answered, in order."""
        return [status for at, status in self.asked if at == path]


class _QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    owner: FolderServer

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what many tests want."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _QuietServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        owner = self.server.owner
        path = unquote(urlsplit(self.path).path)
        for name in ("Authorization", "Proxy-Authorization"):
            owner.trusted.update(self.headers.get_all(name, []))
        at = owner.root / path.lstrip("/")
        if path in owner.instead:
            self.whole(path, owner.instead[path])
        elif at.is_file():
            self.whole(path, at.read_bytes())
        elif at.is_dir() and path.endswith("/") and owner.lists:
            names = sorted(one.name for one in at.iterdir())
            links = "".join(f"<a href='{escape(name)}'>{escape(name)}</a>\n" for name in names)
            page = f"<html><body>{links}</body></html>".encode()
            self.answer(path, 200, page, **{"Content-Type": "text/html"})
        else:
            self.answer(path, *owner.missing)

    def whole(self, path: str, content: bytes) -> None:
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        if self.headers.get("If-None-Match") == tag:
            self.answer(path, 304, b"", ETag=tag)
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if start and self.headers.get("If-Range", tag) == tag:
            span = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.answer(path, 206, content[start:], **{"ETag": tag, "Content-Range": span})
        else:
            self.answer(path, 200, self.server.owner.once.pop(path, content), ETag=tag)

    def answer(self, path: str, status: int, body: bytes, **headers: str) -> None:
        self.server.owner.asked.append((path, status))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
