"""What a composed toolkit holds: its files with their hashes, and the packages that they are of.

The list is beside the toolkit's record, not in it: every command reads the record, so it must stay
small. The list is the same on every machine that composed the toolkit of the same packages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cudaswitch.errors import RequestError, StoreError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.ownership import is_open_as
from cudaswitch.paths import CONTENTS
from cudaswitch.regular import read_json
from cudaswitch.toolkit import Entry, Package

_LIMIT = 256 << 20
"""Bytes of a list; those of whole toolkits have some MiB."""

_DEEPEST, _LONGEST = 100, 2048
"""Folders above one that is looked into, and characters of its path: archives may have fewer."""

_TOLD = {
    *("name", "version", "build", "platform", "component"),
    *("form", "source", "origin", "sha256", "size"),
}
"""What the list says about a package: enough to fetch it again if the store has lost it."""


class Contents(NamedTuple):
    """A toolkit's packages, without their files, and its files and links by path.

    A file with a `placeholder` is listed with the size and hash that it has in its package; in
    the toolkit it holds the toolkit's own path.
    """

    packages: tuple[Package, ...]
    entries: tuple[Entry, ...]

    def to_text(self) -> str:
        data = {
            "packages": [
                {key: value for key, value in each.to_json().items() if key in _TOLD}
                for each in self.packages
            ],
            "files": [entry.to_json() for entry in self.entries],
        }
        return json.dumps(data, indent=1) + "\n"


def contents_of(folder: Path, packages: Sequence[Package], placed: Mapping[str, Entry]) -> Contents:
    """Describe a toolkit just composed; `placed` are the packages' files in it, by place."""
    from hashlib import sha256  # noqa: PLC0415  # slow to load, and reading needs none

    entries = []
    for where, found in walk(folder):
        if where in placed:
            # Where the file system has no hard links, it is a symbolic link to the package's.
            entries.append(placed[where]._replace(path=where, copy=False))
        elif os.path.islink(found):
            entries.append(Entry(where, target=str(Path(found.path).readlink())))
        else:
            content = Path(found.path).read_bytes()
            entries.append(Entry(where, len(content), sha256(content).hexdigest()))
    return Contents(tuple(packages), tuple(sorted(entries)))


def read_contents(toolkit: Path) -> Contents | None:
    """Return the list in a toolkit's folder, None if there is none.

    Raises StoreError if it is damaged.
    """
    path = toolkit / CONTENTS
    try:
        data = read_json(path, _LIMIT)
        packages = tuple(Package.from_json({**row, "files": []}) for row in data["packages"])
        return Contents(packages, tuple(Entry(**row) for row in data["files"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read `{path}`: {error.strerror}", "check who owns it") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, RequestError):
        raise StoreError(
            f"the list `{path}` is damaged", "cudaswitch verify --repair rewrites it"
        ) from None


def walk(
    folder: Path, below: str = "", store: int | None = None
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files and links below a folder by relative path; links are not followed.

    Folders are yielded only if nobody looks into them (`is_left_out`) or, given the mode of a
    `store`, if they are not open as that is (`is_open_as`).
    """
    with os.scandir(folder / below if below else folder) as found:
        for entry in sorted(found, key=lambda one: one.name):
            where = f"{below}/{entry.name}" if below else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield where, entry
                continue
            left_out = is_left_out(where, entry)
            if left_out or (store and not is_open_as(store, entry.stat().st_mode)):
                yield where, entry
            if not left_out:
                yield from walk(folder, where, store)


def is_left_out(where: str, folder: os.DirEntry[str]) -> bool:
    """Tell whether a folder stands for all that is in it: it is closed to us, or too deep."""
    return where.count("/") >= _DEEPEST or len(where) > _LONGEST or is_closed(folder)


def is_closed(folder: str | os.PathLike[str]) -> bool:
    """Tell whether we may not look into a folder."""
    return not os.access(folder, os.R_OK | os.X_OK)
