"""Putting members on disk, one by one, so that nothing can land outside the folder.

Names are looked up relative to open folders and never through a link; symbolic links are made
last, when the whole tree is known; modes are ours, not the archive's.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from cudaswitch.archives.faults import UnsafeError, shown
from cudaswitch.archives.limits import FOLDERS
from cudaswitch.archives.members import Member
from cudaswitch.archives.threads import PIECE
from cudaswitch.archives.writing import Writers, Written
from cudaswitch.durable import NO_HARD_LINKS, make_link
from cudaswitch.errors import ArchiveError
from cudaswitch.regular import write_out
from cudaswitch.toolkit import Entry, parents

FOLDER_MODE = 0o755
"""The group may write as well if it may write to the destination folder."""
FILE_MODE = 0o644
EXECUTABLE_MODE = 0o755
OPEN_FOLDERS = 64
"""Folders held open at a time; more than MAX_DEPTH, so that opening a path closes no part of it."""

Placed = Literal["directory", "file", "symlink"]


class Folders:
    """Open descriptors of the folders below an empty one, opened without following links."""

    def __init__(self, root: Path) -> None:
        self.root = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self._open: OrderedDict[str, int] = OrderedDict()
        groups = os.fstat(self.root).st_mode & (stat.S_IWGRP | stat.S_ISGID)
        self._mode = FOLDER_MODE | groups
        with os.scandir(self.root) as found:
            empty = next(found, None) is None
        if not empty:
            os.close(self.root)
            raise ArchiveError(f"`{root}` is not empty", "archives are unpacked into a new folder")

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (self.root, *self._open.values()):
            os.close(descriptor)

    def make(self, path: str) -> None:
        name = path.rpartition("/")[2]
        os.mkdir(name, 0o700, dir_fd=self.above(path))
        os.fchmod(self.open(path), self._mode)

    def above(self, path: str) -> int:
        """Return the folder that holds `path`."""
        return self.open(path.rpartition("/")[0])

    def open(self, path: str) -> int:
        if not path:
            return self.root
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        descriptor = os.open(path.rpartition("/")[2], flags, dir_fd=self.above(path))
        self._open[path] = descriptor
        if len(self._open) > OPEN_FOLDERS:
            os.close(self._open.popitem(last=False)[1])
        return descriptor


class _File(NamedTuple):
    written: Written
    size: int
    executable: bool


class Placing:
    """Writes the members of one archive below `tree`.

    Members below the top folder `aside` (conda's `info`) go to the folder `aside_tree`
    instead. `entries` holds what is in `tree` once `finish` has run. Raises UnsafeError for any
    member that has no single lawful place.
    """

    def __init__(
        self, tree: Folders, aside: str | None, aside_tree: Folders, writers: Writers
    ) -> None:
        self._folders_left = FOLDERS
        self.entries: dict[str, Entry] = {}
        self._aside = aside
        self._kinds: dict[str, Placed] = {"": "directory"}
        self._folded: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._files: dict[str, _File] = {}
        self._writers = writers
        self._tree = tree
        self._aside_tree = aside_tree

    def put(self, member: Member, executable: bool) -> None:
        """Place one member."""
        if member.kind == "directory":
            self._make_folder(member.path)
        elif member.kind == "symlink":
            self._note_link(member.path, member.target)
        elif member.kind == "hardlink":
            self._claim(member.path, "file")
            self._repeat(member.path, member.target)
        else:
            self._claim(member.path, "file")
            self._write(member.path, executable, member.content)

    def finish(self) -> None:
        """Wait for the files, then make the symbolic links, each checked against the whole tree."""
        for path in self._files:
            self._note(self._entry(path))
        for path, target in sorted(self._links.items()):
            self._check_target(path, target)
            folders, inner = self._place(path)
            make_link(inner.rpartition("/")[2], target, folders.above(inner))
            self._note(Entry(path, target=target))

    def is_folder(self, path: str) -> bool:
        return self._kinds.get(path) == "directory"

    def _is_aside(self, path: str) -> bool:
        return path.split("/", 1)[0] == self._aside

    def _place(self, path: str) -> tuple[Folders, str]:
        """Return the root and the path below it for a path of the archive."""
        if self._is_aside(path):
            return self._aside_tree, path.partition("/")[2]
        return self._tree, path

    def _claim(self, path: str, kind: Placed) -> None:
        """Claim a name that no other member has, in any spelling, not even as a folder."""
        if path in self._kinds:
            raise UnsafeError(f"it holds {shown(path)} twice")
        if path == self._aside and kind != "directory":
            raise UnsafeError(f"{shown(path)} is not a folder")
        above = path.rpartition("/")[0]
        if self._kinds.get(above) != "directory":
            for folder in parents(path):
                self._make_folder(folder)
        # A case-insensitive or normalising file system would take these for the same name.
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        other = self._folded.setdefault(folded, path)
        if other != path:
            raise UnsafeError(
                f"{shown(other)} and {shown(path)} differ only in letter case or accents"
            )
        self._kinds[path] = kind

    def _make_folder(self, path: str) -> None:
        kind = self._kinds.get(path)
        if kind == "directory":
            return
        if kind is not None:
            raise UnsafeError(f"{shown(path)} is a folder and a {kind}")
        self._claim(path, "directory")
        self._folders_left -= 1
        if self._folders_left < 0:
            raise UnsafeError("it has more folders than any CUDA package")
        folders, inner = self._place(path)
        if inner:
            folders.make(inner)

    def _note(self, entry: Entry) -> None:
        if not self._is_aside(entry.path):
            self.entries[entry.path] = entry

    def _note_link(self, path: str, target: str) -> None:
        # Some conda packages list the same link twice.
        if self._links.get(path) != target:
            self._claim(path, "symlink")
            self._links[path] = target

    def _write(self, path: str, executable: bool, content: Iterable[bytes | memoryview]) -> None:
        folders, inner = self._place(path)
        mode = EXECUTABLE_MODE if executable else FILE_MODE
        file = self._writers.file(_create(folders, inner), mode)
        size = 0
        try:
            for piece in content:
                size += len(piece)
                file.add(piece)
        finally:
            file.close()
        self._files[path] = _File(file, size, executable)

    def _entry(self, path: str) -> Entry:
        """Wait for a file to be written and return its entry."""
        found = self._files[path]
        return Entry(path, found.size, found.written.sha256(), found.executable)

    def _repeat(self, path: str, target: str) -> None:
        if target not in self._files:
            raise UnsafeError(
                f"{shown(path)} is a hard link to {shown(target)}, which is not an earlier file"
            )
        earlier = self._entry(target)
        _link_or_copy(*self._place(target), *self._place(path), earlier)
        self._files[path] = self._files[target]

    def _check_target(self, path: str, target: str) -> None:
        """Refuse a link whose text leaves its root, or goes up from something not a folder."""
        here = path.split("/")[:-1]
        floor = 1 if self._is_aside(path) else 0
        if not target or target.startswith("/"):
            raise UnsafeError(f"{shown(path)} is a link to {shown(target)}, outside the archive")
        for part in target.split("/"):
            if part in ("", "."):
                continue
            if part != "..":
                here.append(part)
                continue
            # `link/..` is the parent of what the link points to, not of the link.
            if not self.is_folder("/".join(here)):
                raise UnsafeError(
                    f"{shown(path)} is a link that goes up from something that is not a folder"
                )
            if len(here) <= floor:
                raise UnsafeError(
                    f"{shown(path)} is a link to {shown(target)}, outside the archive"
                )
            here.pop()


def _create(folders: Folders, inner: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.open(inner.rpartition("/")[2], flags, 0o600, dir_fd=folders.above(inner))


def _link_or_copy(
    from_folders: Folders, from_inner: str, to_folders: Folders, to_inner: str, earlier: Entry
) -> None:
    from_name, to_name = from_inner.rpartition("/")[2], to_inner.rpartition("/")[2]
    from_folder, to_folder = from_folders.above(from_inner), to_folders.above(to_inner)
    try:
        os.link(
            from_name, to_name, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False
        )
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
    else:
        return
    original = os.open(from_name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=from_folder)
    try:
        copy = _create(to_folders, to_inner)
        try:
            while piece := os.read(original, PIECE):
                write_out(copy, piece)
            os.fchmod(copy, EXECUTABLE_MODE if earlier.executable else FILE_MODE)
        finally:
            os.close(copy)
    finally:
        os.close(original)
