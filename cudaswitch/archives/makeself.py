"""Runfiles as makeself writes them: a shell script, followed by one compressed tar.

The script is read for the few lines that say where the tar is; nothing of it is ever run.
Forms (makeself's own headers of 2.1.4 to 2.5.0): the script has N lines, as stated by `skip="N"`
or, before 2.4.2, by `head -n N "$0"`; `filesizes` is the number of bytes after the script, and
`MD5` is their checksum, all zeros if the maker wanted none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cudaswitch.archives.faults import DamagedError, ForeignError, shown
from cudaswitch.archives.streams import decoded, packing_of
from cudaswitch.archives.tarball import BLOCK

SCRIPT_BYTES = 1 << 20
"""The script must end within these; makeself's has about 20 thousand, and may hold a licence."""

_MAKER = re.compile(rb"^#.{0,80}\bMakeself ([0-9][0-9A-Za-z.-]{0,20})", re.MULTILINE)
_FIELD = re.compile(rb'^(label|targetdir|filesizes|MD5|skip)="?([^"\n]{0,4096})"?$', re.MULTILINE)
_LINES = re.compile(rb'\bhead -n ([0-9]{1,6}) "\$[01]"')
_NUMBER = re.compile(rb"[0-9]{1,15}")
_MD5 = re.compile(rb"[0-9a-f]{32}")
_DRIVER = re.compile(rb"NVIDIA-Linux-")
_TAR_MAGIC_AT = 257


@dataclass(frozen=True)
class Header:
    """What the script says: `offset` and `size` (bytes) of the packed tar after it.

    `packing` is as for streams.decoded, None for a bare tar; `md5` is None where the maker
    states none.
    """

    label: str
    offset: int
    size: int
    packing: str | None
    md5: str | None

    def tar(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the tar; `pieces` are the packed bytes from `offset` to the end."""
        packed = pieces if self.md5 is None else _checked(pieces, self.md5)
        return packed if self.packing is None else decoded(packed, self.packing)


def read_header(start: bytes, size: int) -> Header:
    """Read the header of a runfile of `size` bytes from `start`, its first SCRIPT_BYTES.

    Raises ForeignError for a script of another kind and for NVIDIA's driver, DamagedError
    if the file does not end where its script says.
    """
    maker = _MAKER.search(start)
    if maker is None:
        raise ForeignError("is a script, but not one of NVIDIA's runfiles")
    fields = dict(reversed(_FIELD.findall(start)))
    label = fields.get(b"label", b"").decode("utf-8", "replace")
    if _DRIVER.match(fields.get(b"targetdir", b"")):
        raise ForeignError("is a driver; cudaswitch installs only toolkits")
    lines = _LINES.search(start)
    count = fields.get(b"skip") or (lines[1] if lines else b"")
    sizes = fields.get(b"filesizes", b"").strip()
    if not _NUMBER.fullmatch(count) or not _NUMBER.fullmatch(sizes):
        made = maker[1].decode("ascii")
        raise ForeignError(f"is a runfile of makeself {made} in a form that cudaswitch cannot read")
    offset = _end_of_line(start, int(count))
    end = offset + int(sizes)
    if end != size:
        raise DamagedError("it is cut short" if end > size else "data follows its end")
    md5 = fields.get(b"MD5", b"").strip()
    stated = _MD5.fullmatch(md5) and md5.strip(b"0")
    return Header(
        label, offset, int(sizes), _packing(start, offset, label), md5.decode() if stated else None
    )


def _end_of_line(start: bytes, number: int) -> int:
    offset = 0
    for _ in range(number):
        offset = start.find(b"\n", offset) + 1
        if offset == 0:
            raise DamagedError("its script does not end where it says")
    return offset


def _packing(start: bytes, offset: int, label: str) -> str | None:
    first = start[offset : offset + BLOCK]
    packing = packing_of(first)
    if packing or first[_TAR_MAGIC_AT:].startswith(b"ustar"):
        return packing
    raise ForeignError(f"is a runfile ({shown(label)}) packed in a way that cudaswitch cannot read")


def _checked(pieces: Iterator[bytes], stated: str) -> Iterator[bytes]:
    digest = hashlib.md5(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != stated:
        raise DamagedError("its content does not have the md5 that its script states")
