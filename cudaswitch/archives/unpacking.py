"""The walk through an archive: to identify it, and to put its members on disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from cudaswitch.archives.faults import naming
from cudaswitch.archives.layout import Layout
from cudaswitch.archives.limits import Budget
from cudaswitch.archives.members import Content, Member
from cudaswitch.archives.opening import layout_of
from cudaswitch.archives.placing import Folders, Placing
from cudaswitch.archives.streams import Source
from cudaswitch.archives.writing import Writers
from cudaswitch.toolkit import Package


def identify(path: Path, origin: str | None = None) -> Package:
    """Return what the archive at `path` is, without unpacking it; it has no entries and no hash.

    It reads no more than it needs to be sure: a conda package's metadata, a wheel's directory,
    the top folder of an NVIDIA archive, and cuDNN as far as its header. `unpack` returns
    the same identity. Raises ArchiveError, naming `origin` if given, when it is not a CUDA
    package, or is damaged in the part that was read.
    """
    with naming(path, origin), Source(path) as source:
        layout = layout_of(source, path.name)
        with closing(layout.glance()) as members:
            for member in Budget.for_archive(source.size).watch(members):
                layout.witness.see(member)
                count = layout.wanted(member)
                if count:
                    layout.take(member.path, _start_of(member.content, count))
                if layout.is_known():
                    break
        return layout.package()._replace(size=source.size)


def unpack(
    path: Path,
    tree: Path,
    info: Path,
    origin: str | None = None,
    seen: Callable[[int], object] | None = None,
) -> Package:
    """Unpack the archive at `path` into the existing, empty folder `tree`, and verify it.

    conda's `info/` goes to the empty folder `info`. The file is opened once and hashed in the same
    pass. Returns the package with its sha256 and an entry for each file and link, sorted by path.
    `seen` is called again and again with how many bytes of the file have been read.

    Raises ArchiveError, naming `origin` if given, when anything is wrong; what was written until
    then is in `tree` and `info` only, and the caller has to remove it. Nothing is flushed to disk
    (fsync) here.
    """
    with naming(path, origin), Source(path, seen) as source, ExitStack() as open_things:
        layout = layout_of(source, path.name)
        folders = open_things.enter_context(Folders(tree))
        aside = open_things.enter_context(Folders(info))
        writers = open_things.enter_context(Writers())
        placing = Placing(folders, layout.aside, aside, writers)
        members = open_things.enter_context(closing(layout.members()))
        package = None
        for member in Budget.for_archive(source.size).watch(members):
            layout.expect(member)
            if package is None:
                layout.witness.see(member)
            _place(member, layout, placing)
            if package is None and layout.is_known():
                package = layout.package()
        package = package or layout.package()
        placing.finish()
        layout.verify(placing)
        return package._replace(
            sha256=source.sha256,
            size=source.size,
            entries=tuple(entry for _, entry in sorted(placing.entries.items())),
        )


def _place(member: Member, layout: Layout, placing: Placing) -> None:
    """Place a member, and give the layout as much of its start as the layout wants."""
    count = layout.wanted(member)
    kept: list[bytes] = []
    if count:
        member.content = _keeping(member.content, count, kept)
    placing.put(member, layout.executable(member))
    if count:
        layout.take(member.path, b"".join(kept)[:count])


def _keeping(content: Content, count: int, kept: list[bytes]) -> Content:
    for piece in content:
        if count > 0:
            kept.append(bytes(piece))
            count -= len(piece)
        yield piece


def _start_of(content: Content, count: int) -> bytes:
    start = bytearray()
    for piece in content:
        start += piece
        if len(start) >= count:
            break
    return bytes(start[:count])


def sha256_of(path: Path) -> str:
    """Return the sha256 (hex) of a regular file. Raises ArchiveError when it cannot be read."""
    with naming(path), Source(path) as source:
        for _ in source.pieces():
            pass  # reading is hashing
        return source.sha256
