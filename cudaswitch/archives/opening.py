"""Which format a file has, by its first bytes and, for zip, by what it holds."""

from __future__ import annotations

from cudaswitch.archives.conda import CondaTarball, CondaZip
from cudaswitch.archives.faults import ForeignError
from cudaswitch.archives.layout import Layout
from cudaswitch.archives.nvidia import NvidiaTarball, NvidiaZip
from cudaswitch.archives.runfiles import Runfile
from cudaswitch.archives.streams import Source, packing_of
from cudaswitch.archives.wheels import Wheel
from cudaswitch.archives.zips import ZipDirectory

ZIP, SCRIPT = b"PK\3\4", b"#!"
FOREIGN = {
    b"<": "is a web page, not an archive",
    b"{": "is a JSON file, not an archive",
    b"!<arch>\n": "is a Debian package or a static library, which the system installs",
    b"\x7fELF": "is a program or a library, not an archive",
    b"MZ": "is a Windows program, not an archive",
    b"Rar!": "is a RAR archive",
    b"7z\xbc\xaf": "is a 7-Zip archive",
    b"PK\5\6": "holds nothing",
}
"""Starts of files that people take for a package."""
_PAGE_HINT = "download it again: the link led to a page, perhaps a login page"


def layout_of(source: Source, file_name: str) -> Layout:
    """Return the layout of the archive; ForeignError when cudaswitch knows no such format."""
    start = source.read_at(0, min(source.size, 8))
    packing = packing_of(start)
    if packing in ("gzip", "xz"):
        return NvidiaTarball(source, file_name, packing)
    if packing == "bzip2":
        return CondaTarball(source, file_name)
    if start.startswith(ZIP):
        return _zip_layout(source, file_name)
    if start.startswith(SCRIPT):
        return Runfile(source, file_name)
    for beginning, verdict in FOREIGN.items():
        if start.lstrip().startswith(beginning):
            raise ForeignError(verdict, _PAGE_HINT if beginning == b"<" else None)
    raise ForeignError("is not a kind of archive that cudaswitch knows")


def _zip_layout(source: Source, file_name: str) -> Layout:
    directory = ZipDirectory(source)
    names = [record.name for record in directory.records]
    if any(name.startswith("info-") and name.endswith(".tar.zst") for name in names):
        return CondaZip(source, file_name, directory)
    if any(name.endswith(".dist-info/METADATA") for name in names):
        return Wheel(source, file_name, directory)
    return NvidiaZip(source, file_name, directory)
