"""What can go wrong, as one family: a message of one line, what to do next, and an exit code."""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def printable(text: str) -> str:
    """Return `text` with control and invisible characters, such as ESC, escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in text)


def _escaped(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # how Python represents a byte that is not text
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def without_escapes(text: str) -> str:
    """Return `text` without what colours it, or steers a terminal otherwise."""
    import re  # noqa: PLC0415  # slow to load, and few commands need it

    return re.sub(_ESCAPE, "", text)


_ESCAPE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
"""A control sequence of ECMA-48."""


def brief(text: str) -> str:
    """Return `text` for a message: only its two ends if it is too long for a line."""
    return text if len(text) <= 120 else f"{text[:60]}…{text[-40:]}"


FULL = (errno.ENOSPC, errno.EDQUOT)
"""How the system says that there is no room for more."""
_HINTS = {
    **dict.fromkeys(FULL, "free some space there"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "check `ulimit -n`"),
    errno.EFBIG: "check `ulimit -f`, and how large files may be there",
}
UNREADABLE = "check who can read it, and whether its disk works"
"""The usual hint for a file of somebody's that cannot be read."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the one of the known words that a mistyped one may have meant."""
    from difflib import get_close_matches  # noqa: PLC0415  # slow to load, and few mistype

    return next(iter(get_close_matches(word, list(known), 1)), None)


class SudoError(PermissionError):
    """A write by which `sudo` would leave root's files in a folder of its caller."""


class NoLinksError(OSError):
    """A symbolic link cannot be made, as the file system has none."""

    def __init__(self, number: int | None = None) -> None:
        super().__init__(number, "its file system has no symbolic links")


def hint_for(error: OSError, usual: str) -> str:
    """Return the hint for what cannot be written: `usual`, if nothing better is known."""
    if isinstance(error, SudoError):
        return "run it without sudo"
    if isinstance(error, NoLinksError):
        return f"{usual}, on a file system that has them, such as ext4"
    if isinstance(error, FileExistsError):
        return f"`{error.filename}` is not a folder, or is a dangling link: move it away"
    return _HINTS.get(error.errno or 0, usual)


class CudaswitchError(Exception):
    """A refusal or failure that the user can act on.

    `message` is one line without a full stop; `hint`, if any, is the next step,
    usually a command; `exit_code` is what the process returns: 1, 2 or 127.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = printable(message)
        self.hint = printable(hint) if hint else None


class RequestError(CudaswitchError):
    """The request cannot be read: not a version, range, alias or keyword."""


class ChoiceError(CudaswitchError):
    """A word is not one of the choices, or is out of place: wrong usage."""

    exit_code = 2


class NotInstalledError(CudaswitchError):
    """No toolkit in any store satisfies the request."""


class ArchiveError(CudaswitchError):
    """A file is not an archive that we know, is damaged, or is not safe to unpack."""


class SourceError(CudaswitchError):
    """A source does not have what was asked for, or did not deliver it completely."""


class UnreachableError(SourceError):
    """A source does not answer, or not completely, however often it is asked."""


class NotFoundError(SourceError):
    """A source answers, but has no such file."""


class StoreError(CudaswitchError):
    """The store cannot be read or written, or the change asked for would break something."""


class EnvironmentNotFoundError(CudaswitchError):
    """No conda prefix or virtualenv is at the place named."""


class UnfitError(CudaswitchError):
    """What an environment holds cannot run on this machine."""


class ToolMissingError(CudaswitchError):
    """The chosen toolkit lacks the tool that was called."""

    exit_code = 127
