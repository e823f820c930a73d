"""The ways in which `http_server` misbehaves, each by its name; an argument follows after `:`."""

from __future__ import annotations

import gzip
import random
import socket
import struct
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from http_server import Handler

HALF = 0.5
PAGE = b"<!DOCTYPE html><html><body>Please log in to the hotel's network</body></html>"


def random_bytes(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def cut(handler: Handler, argument: str) -> None:
    """Half of the body, the first time or (`cut:always`) every time; then `cut:page` is a page."""
    if argument == "page" and not handler.first:
        html(handler, "")
        return
    short = handler.first or argument == "always"
    handler.whole(send=HALF if short else 1.0)


def reset(handler: Handler, _: str) -> None:
    """Half of the body and a TCP reset, the first time."""
    handler.whole(send=HALF if handler.first else 1.0)
    if handler.first:
        handler.wfile.flush()
        time.sleep(0.05)
        linger = struct.pack("ii", 1, 0)
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.connection.close()


def no_length(handler: Handler, argument: str) -> None:
    """No Content-Length; the close ends it (`no_length:cut` after half)."""
    handler.head(200)
    handler.body(handler.data[: len(handler.data) // 2] if argument == "cut" else handler.data)


def chunked(handler: Handler, argument: str) -> None:
    """Chunked; `chunked:cut` stops after half, `chunked:bad` sends nonsense for a length."""
    handler.head(200, ("Transfer-Encoding", "chunked"), *handler.tagged())
    for number, start in enumerate(range(0, len(handler.data), 1 << 16)):
        if number == 4 and argument == "cut":
            return
        piece = handler.data[start : start + (1 << 16)]
        handler.raw(f"{len(piece):x}\r\n".encode() if argument != "bad" else b"zz\r\n")
        handler.body(piece)
        handler.raw(b"\r\n")
    handler.raw(b"0\r\n\r\n")


def lie(handler: Handler, argument: str) -> None:
    """A Content-Length that is `lie:N` bytes off."""
    handler.head(200, ("Content-Length", len(handler.data) + int(argument)))
    handler.body(handler.data)


def stall(handler: Handler, argument: str) -> None:
    """Half of the body, then silence for 3 seconds, or `stall:N`; every time."""
    handler.whole(send=HALF)
    time.sleep(float(argument or 3))


def held(handler: Handler, argument: str) -> None:
    """The first time half of the body, and the rest when the test sets `server.go`.

    `held:RATE`: that half at so many bytes a second.
    """
    handler.whole(send=HALF if handler.first else 1.0, rate=float(argument or 0))
    if handler.first and handler.owner.go.wait(60):
        handler.body(handler.data[len(handler.data) // 2 :])


def together(handler: Handler, argument: str) -> None:
    """The file, once `together:N` requests have come; without them, nothing after 20 seconds."""
    owner = handler.owner
    with owner.counting:
        met = owner.counting.wait_for(lambda: owner.most_open >= int(argument), 20)
    if met:
        handler.whole()


def silent(handler: Handler, _: str) -> None:
    """No answer at all."""
    time.sleep(3)


def slow(handler: Handler, argument: str) -> None:
    """`slow:N` bytes a second."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    handler.whole(rate=float(argument))


def empty(handler: Handler, _: str) -> None:
    """200 and no body."""
    handler.head(200, ("Content-Length", 0))


def flip(handler: Handler, argument: str) -> None:
    """The right length, one bit wrong; `flip:once` only the first time, under the right ETag."""
    if argument == "once" and not handler.first:
        handler.whole()
        return
    data = bytearray(handler.data)
    data[len(data) // 2] ^= 1
    tags = handler.tagged() if argument == "once" else []
    handler.head(200, ("Content-Length", len(data)), *tags)
    handler.body(bytes(data))


def html(handler: Handler, _: str) -> None:
    """A portal's page with status 200."""
    handler.head(200, ("Content-Length", len(PAGE)), ("Content-Type", "text/html"))
    handler.body(PAGE)


def status(handler: Handler, argument: str) -> None:
    """`status:N`: that status and a page."""
    handler.head(int(argument), ("Content-Length", len(PAGE)))
    handler.body(PAGE)


def plain(handler: Handler, _: str) -> None:
    """As `ok`, but 404 for what ends in `.zst`, like a channel that compresses nothing."""
    if handler.path.endswith(".zst"):
        status(handler, "404")
    else:
        handler.whole()


def then_ok(handler: Handler, argument: str) -> None:
    """`then_ok:N`: that status with `Retry-After: 0` (`N,SECONDS` for others), then the file."""
    number, _, seconds = argument.partition(",")
    if handler.first:
        handler.head(int(number), ("Content-Length", 0), ("Retry-After", seconds or 0))
    else:
        handler.whole()


def redirect(handler: Handler, argument: str) -> None:
    """`redirect:N`: N redirects on this server, then the file."""
    count = int(argument)
    handler.head(302, ("Location", f"/redirect:{count - 1}/x" if count > 1 else "/ok/x"))


def loop(handler: Handler, _: str) -> None:
    """A redirect to itself."""
    handler.head(302, ("Location", handler.path))


def redirect_long(handler: Handler, _: str) -> None:
    """A redirect with a body without end."""
    handler.head(302, ("Location", "/ok/x"), ("Transfer-Encoding", "chunked"))
    while True:
        handler.raw(b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def away(handler: Handler, _: str) -> None:
    """A redirect to `server.elsewhere`."""
    handler.head(302, ("Location", handler.owner.elsewhere), ("Content-Length", 0))


def range_ignored(handler: Handler, _: str) -> None:
    """Cut once, and the whole file from the start when a range is asked for."""
    handler.whole(send=HALF if handler.first else 1.0, ranges=False)


def limited(handler: Handler, argument: str) -> None:
    """Ranges as they should be, each at `limited:RATE` bytes a second; `RATE,KIND` misbehaves.

    `cut`: every third range is cut in half. `few`: a fifth range at the same time is refused.
    `whole`: a range gets the whole file. `changing`: other content from the third range on.
    `wrong`: the bytes of another range. `denied`: ranges are forbidden. `mute`: nothing comes.
    """
    rate, _, kind = argument.partition(",")
    owner, ranged = handler.owner, "Range" in handler.headers
    with owner.counting:
        owner.ranges += ranged
        number = owner.ranges
    if kind == "changing" and number == 3:
        owner.content = random_bytes(len(handler.data), seed=99)
    tags = dict(handler.tagged())
    size = len(handler.data)
    condition = handler.headers.get("If-Range", tags["ETag"])
    # A small socket buffer, so that what was sent is about what has been read.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    if handler.headers.get("If-None-Match") == tags["ETag"]:
        handler.head(304)
        return
    if ranged and kind == "denied":
        handler.head(403, ("Content-Length", 0))
        return
    if not ranged or kind == "whole" or condition != tags["ETag"]:
        handler.head(200, ("Content-Length", size), ("Accept-Ranges", "bytes"), *tags.items())
        handler.body(handler.data, float(rate))
        return
    first, _, last = handler.headers["Range"].removeprefix("bytes=").partition("-")
    start, end = int(first), int(last) + 1 if last else size
    with owner.counting:
        refused = kind == "few" and owner.busy >= 4
        owner.busy += not refused
    if refused:
        handler.head(503, ("Content-Length", 0))
        return
    try:
        shift = 5 if kind == "wrong" else 0
        span = f"bytes {start + shift}-{end - 1 + shift}/{size}"
        handler.head(206, ("Content-Length", end - start), ("Content-Range", span), *tags.items())
        if kind == "mute":
            time.sleep(90)
        half = (end - start) // 2 if kind == "cut" and number % 3 == 0 else end - start
        handler.body(handler.data[start : start + half], float(rate))
    finally:
        with owner.counting:
            owner.busy -= 1


def _partials(start: int, data: bytes) -> dict[str, tuple[bytes, str | None]]:
    """Return bodies and Content-Ranges that do not answer a request for all from `start` on."""
    size = len(data)
    right = f"bytes {start}-{size - 1}/{size}"
    return {
        "wrong": (data[start - 7 :], f"bytes {start - 7}-{size - 1}/{size}"),
        "shifted": (data[start - 7 : size - 7], right),
        "multi": (b"--x\r\n\r\n" + data[start:], None),
        "none": (data[start:], None),
        "short": (data[start:-9], f"bytes {start}-{size - 10}/{size}"),
        "total": (data[start:], f"bytes {start}-{size - 1}/{size + 5}"),
        "star": (data[start:], f"bytes {start}-{size - 1}/*"),
        "huge": (data[start:], f"bytes {start}-{'9' * 5000}/{size}"),
        "long": (data[start:] + b"too much", right),
        "tag": (bytes(size - start), right),
    }


def range_odd(handler: Handler, argument: str) -> None:
    """Cut once; a range is then answered wrongly: `range_odd:KIND`."""
    tags = handler.tagged()
    start, size = handler.wanted(dict(tags)), len(handler.data)
    if not start:
        handler.whole(send=HALF if handler.first else 1.0)
    elif argument == "416":
        handler.head(416, ("Content-Length", 0), ("Content-Range", f"bytes */{size}"))
    elif argument == "chunked":
        span = ("Content-Range", f"bytes {start - 7}-{size - 1}/{size}")
        handler.head(206, ("Transfer-Encoding", "chunked"), *tags, span)
        handler.raw(f"{size - start:x}\r\n".encode())
        handler.body(handler.data[start - 7 : -7])
        handler.raw(b"\r\n0\r\n\r\n")
    else:
        body, span_text = _partials(start, handler.data)[argument]
        spans = [("Content-Range", span_text)] if span_text else []
        kind = "multipart/byteranges; boundary=x" if argument == "multi" else "x/y"
        other = [("ETag", '"other"')] if argument == "tag" else tags
        handler.head(206, ("Content-Length", len(body)), ("Content-Type", kind), *other, *spans)
        handler.body(body)


def changing(handler: Handler, argument: str) -> None:
    """Cut once, and other content of the same size afterwards.

    `changing:etag` says so with its ETag, `changing:weak` hides it with the same weak ETag,
    `changing:lying` with the same strong ETag, `changing:fresh` with a Last-Modified of now.
    """
    first = handler.first
    now = handler.owner.elsewhere = handler.owner.elsewhere or formatdate(usegmt=True)
    tags: dict[str, list[tuple[str, object]]] = {
        "etag": handler.tagged(),
        "weak": [("ETag", 'W/"same"')],
        "lying": [("ETag", '"same"')],
        "fresh": [("Last-Modified", now), ("Date", now)],
    }
    handler.whole(*tags[argument], send=HALF if first else 1.0)
    if first:
        handler.owner.content = random_bytes(len(handler.data), seed=99)


def dated(handler: Handler, argument: str) -> None:
    """Cut once; Last-Modified alone, `dated:N` seconds old."""
    old = formatdate(time.time() - float(argument), usegmt=True)
    handler.owner.elsewhere = handler.owner.elsewhere or old
    headers = (("Last-Modified", handler.owner.elsewhere), ("Date", formatdate(usegmt=True)))
    handler.whole(*headers, send=HALF if handler.first else 1.0)


def untagged(handler: Handler, _: str) -> None:
    """Cut once; ranges, but no validator."""
    handler.whole(("X-Nothing", "1"), send=HALF if handler.first else 1.0)


def half(handler: Handler, _: str) -> None:
    """Half of the file, as if that were all."""
    data = handler.data[: len(handler.data) // 2]
    handler.head(200, ("Content-Length", len(data)))
    handler.body(data)


def bare(handler: Handler, _: str) -> None:
    """The file without any head, as in HTTP 0.9."""
    handler.body(handler.data)


def trickle(handler: Handler, argument: str) -> None:
    """`trickle:head`, `trickle:chunk`, `trickle:status`: a byte now and then, without end."""
    start = {
        "status": b"HTTP/1.1 ",
        "head": b"HTTP/1.1 200 OK\r\nX-Slow: ",
        "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    }[argument]
    handler.raw(start)
    for _ in range(100):
        handler.raw(b"0")
        time.sleep(0.1)


def endless(handler: Handler, argument: str) -> None:
    """Chunked, without end; `endless:text` calls it `text/html`."""
    kind = "text/html" if argument == "text" else "application/octet-stream"
    handler.head(200, ("Transfer-Encoding", "chunked"), ("Content-Type", kind))
    while True:
        handler.raw(b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def longer(handler: Handler, _: str) -> None:
    """Chunked, and twice as long as it should be."""
    handler.owner.content *= 2
    chunked(handler, "")


def gz(handler: Handler, argument: str) -> None:
    """Compressed, though identity was asked for; `gz:label` only says so.

    `gz:twice` is compressed twice, `gz:bomb` is 600 MiB of zeros. Only the start of the content is
    compressed, or a busy machine would take longer for it than clients wait.
    """
    data = handler.data if argument == "label" else gzip.compress(handler.data[: 64 << 10])
    if argument == "twice":
        data = gzip.compress(data)
    elif argument == "bomb":
        data = gzip.compress(bytes(1 << 20)) * 600
    handler.head(200, ("Content-Length", len(data)), ("Content-Encoding", "gzip"))
    handler.body(data)


def odd_head(handler: Handler, argument: str) -> None:
    """`odd_head:KIND`: headers that no server should send."""
    size = len(handler.data)
    if argument == "two":
        handler.head(200, ("Content-Length", size), ("Content-Length", size - 9))
    elif argument == "negative":
        handler.head(200, ("Content-Length", -size))
    elif argument == "big":
        handler.head(200, ("X-Big", "x" * 200_000), ("Content-Length", size))
    elif argument == "many":
        handler.head(200, *[(f"X-{n}", n) for n in range(500)], ("Content-Length", size))
    elif argument == "endless":
        handler.raw(b"HTTP/1.1 200 OK\r\n")
        while True:
            handler.raw(b"X-More: x\r\n" * 1000)
    elif argument == "garbage":
        handler.raw(b"\x16\x03\x01 what is this\r\n\r\n")
    elif argument == "unasked":
        handler.head(206, ("Content-Range", f"bytes 5-{size - 1}/{size}"), ("Content-Length", size))
    handler.body(handler.data)


MODES: dict[str, Callable[[Handler, str], None]] = {
    "ok": lambda handler, _: handler.whole(),
    **{
        function.__name__: function
        for function in (
            cut, reset, no_length, chunked, lie, stall, held, together, silent, slow, empty, flip,
            html, status,
            then_ok, redirect, loop, away, range_ignored, range_odd, limited, changing, dated,
            untagged, endless, longer, gz, odd_head, half, bare, trickle, redirect_long, plain,
        )
    },
}  # fmt: skip
