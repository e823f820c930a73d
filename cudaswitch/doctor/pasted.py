"""Read what somebody pastes: however long it is, and as terminals and editors leave it."""

from __future__ import annotations

import re
from typing import BinaryIO

from cudaswitch.errors import without_escapes
from cudaswitch.namedtuples import NamedTuple

LONGEST = 1 << 20
"""Bytes that are read of the beginning, and of the end."""
_ENDLESS = 1 << 28
"""Bytes after which the end is not waited for."""
_MOST_LINES = 20_000
"""Lines, each counted once, that are kept of beginning and end together."""
_CHUNK = 1 << 16

_BEFORE = re.compile(
    r"^(?:(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}Z|\d\d:\d\d:\d\d) "  # CI
    r"|(?:#\d+ )?(?:\d\.\d{3}|\d\d\.\d\d|\d{3,6}\.\d)(?: |(?!\S))"  # docker build
    r"|[\w.-]{0,80}[-_]\d{1,4} +\| "  # docker compose
    r"|\[(?:std(?:err|out)|rank\d+)\]:? ?"
    r"|[ \t]*>(?: |(?!\S))){1,4}",  # mail
    re.MULTILINE,
)
"""What programs write before each line that they pass on."""
_TYPOGRAPHIC: dict[int, str | None] = {
    **dict.fromkeys(range(0x2018, 0x201C), "'"),
    **dict.fromkeys(range(0x201C, 0x2020), '"'),
    0xA0: " ",
    0xFEFF: None,
}
"""Quotes and blanks of word processors, and the mark at the beginning of files."""
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Pasted(NamedTuple):
    """The text, each line once, and how many lines between its beginning and end are left out."""

    text: str
    left_out: int


def read(file: BinaryIO) -> Pasted:
    """Read the beginning and the end: the error is at the end of a log, its cause often before."""
    head = file.read(LONGEST)
    coding = _coding(head)
    end, length, left_out = bytearray(), len(head), 0
    while length < _ENDLESS and (chunk := file.read(_CHUNK)):
        length += len(chunk)
        end += chunk
        if len(end) > 2 * LONGEST:
            left_out += _shorten(end)
    left_out += _shorten(end)
    first, last = (_plain(part.decode(coding, "replace")) for part in (head, bytes(end)))
    if length > len(head) + len(end):
        left_out += 1
        # Drop the lines at the cut: neither is a whole message.
        first, last = first.rpartition("\n")[0] + "\n", last.partition("\n")[2]
    lines = list(dict.fromkeys((first + last).splitlines()))
    if len(lines) > _MOST_LINES:
        left_out += len(lines) - _MOST_LINES
        lines[_MOST_LINES // 2 : -_MOST_LINES // 2] = []
    return Pasted("\n".join(lines), left_out)


def _shorten(end: bytearray) -> int:
    """Keep the last bytes, cut off in pairs for UTF-16; return how many lines were cut off."""
    cut = max(0, len(end) - LONGEST) // 2 * 2
    lines = end.count(b"\n", 0, cut)
    del end[:cut]
    return lines


def _coding(head: bytes) -> str:
    """Tell the encoding: PowerShell's `>` writes UTF-16, with a mark or, in a pipe, without."""
    for mark, coding in _MARKS.items():
        if head.startswith(mark):
            return coding
    # A log that was cut by a power failure may begin with nothing but zeros.
    first, second = head[:400:2].count(0), head[1:400:2].count(0)
    if abs(first - second) * 4 < len(head[:400]):
        return "utf-8"
    return "utf-16-le" if second > first else "utf-16-be"


def _plain(text: str) -> str:
    """Remove marks, colours, links and what is before lines; write straight quotes, as messages."""
    return _BEFORE.sub("", without_escapes(text).translate(_TYPOGRAPHIC))
