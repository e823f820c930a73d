"""A marked block in somebody's file: inserted, found, removed; half a block is never edited.

Everything else stays byte for byte.
"""

from __future__ import annotations

import re

from cudaswitch.errors import StoreError

OURS, CONDAS = b"cudaswitch", b"conda initialize"
"""Whose block it is, as its markers say."""
_UNENDED, _NEW = b" the line above had no end", b" a file of its own"
_CONTINUED = rb"(?<!\\)(?:\\\\)*\\\r?\n\Z"
"""The end of a text whose last line continues on the next one."""


def _opening(owner: bytes) -> bytes:
    return b"# >>> " + owner + b" >>>"


def _closing(owner: bytes) -> bytes:
    return b"# <<< " + owner + b" <<<"


def _block(owner: bytes = OURS) -> re.Pattern[bytes]:
    start = _opening(owner)
    return re.compile(
        rb"^[ \t]*%s(?P<note>%s|%s)?(?P<end>\r?\n)(?:(?![ \t]*%s).*\n)*?[ \t]*%s(?:\r?\n|\Z)"
        % (start, _UNENDED, _NEW, start, _closing(owner)),
        re.MULTILINE,
    )


OPENING = _opening(OURS)
"""What the first line of our block begins with."""
_CLOSE = _closing(OURS)


def opens_in(text: bytes) -> bool:
    """Tell whether a block of ours, or half of one, is in a text."""
    return OPENING in text


def is_all_ours(text: bytes) -> bool:
    """Tell whether our block began the file that it is in."""
    return any(match["note"] == _NEW for match in _block().finditer(text))


def is_half(text: bytes) -> bool:
    """Tell whether one of our two markers is missing: then the block's extent is unknown."""
    rest = _block().sub(b"", text)
    return OPENING in rest or _CLOSE in rest


def refuse_half(text: bytes, path: object) -> None:
    """Raise StoreError, which names `path`, if one of our two markers is missing."""
    if is_half(text):
        raise StoreError(
            f"`{path}` has only one of cudaswitch's two markers",
            f"remove the lines from `{OPENING.decode()}` to `{_CLOSE.decode()}` by hand",
        )


def put_in(text: bytes, line: bytes, *, is_new: bool = False) -> bytes:
    """Insert a line at the end, or in place of our block; `is_new` means there was no file."""
    first = _block().search(text)
    # A block keeps its line ends: they show which one was inserted before it.
    ended = first or re.search(rb"(?P<end>\r?\n)", text)
    end = ended["end"] if ended else b"\n"
    if end == b"\r\n":
        # Most shells take the carriage return as part of the last word, unless in a comment.
        line += b" #"
    block = end.join([line, _CLOSE, b""])
    if first:
        opened = OPENING + (first["note"] or b"") + end
        return text[: first.start()] + opened + block + _block().sub(b"", text[first.end() :])
    if is_new:
        return OPENING + _NEW + end + block
    if text and (not text.endswith(b"\n") or re.search(_CONTINUED, text)):
        return text + end + OPENING + _UNENDED + end + block
    return text + OPENING + end + block


def taken_out(text: bytes) -> bytes:
    """Remove our blocks, and the line break that was inserted with one."""
    match = _block().search(text)
    if match and match["note"] == _UNENDED and match.end() == len(text):
        return text[: match.start()].removesuffix(match["end"])
    return _block().sub(b"", text)


def blanked(text: bytes, *owners: bytes) -> bytes:
    """Empty the lines of blocks: line numbers stay, but the content is not examined."""
    for owner in owners or (OURS,):
        text = _block(owner).sub(lambda match: b"\n" * match[0].count(b"\n"), text)
    return text
