"""Which CUDA releases have a library under a SONAME, whose number is seldom CUDA's own."""

from __future__ import annotations

from functools import lru_cache

from cudaswitch.compat.drivers import releases
from cudaswitch.compat.tables import read_table, rows_of
from cudaswitch.versions import Version, is_version

_NUMBERED_AS_CUDA = ("nvJitLink", "nvfatbin")
"""Libraries whose number is CUDA's own in all releases, so that no row has to say."""


@lru_cache
def _table() -> dict[tuple[str, str], list[Version]]:
    return {
        (library, number): sorted(map(Version, releases))
        for row in rows_of(read_table("sonames"), "rows")
        for library in row["libraries"]
        for number, releases in row["sonames"].items()
    }


@lru_cache
def _first() -> dict[str, Version]:
    rows = rows_of(read_table("sonames"), "first")
    return {library: Version(row["cuda"]) for row in rows for library in row["libraries"]}


def is_in(library: str, cuda: Version) -> bool:
    """Tell whether a CUDA release has a library; one that no row names is in all of them."""
    first = _first().get(library)
    return first is None or cuda >= first


def releases_with(library: str, number: str) -> list[Version]:
    """List the CUDA releases, or whole majors, whose lib`library`.so.`number` has that SONAME.

    If no row says, the number is CUDA's: libcublas.so.12 and libcublas.so.9.0.
    """
    return _table().get((library, number)) or [Version(number)]


def soname(library: str, cuda: Version) -> str | None:
    """Return a library's SONAME in a CUDA release.

    None if there is no such library, or a bare major leaves its name open.
    """
    if not is_in(library, cuda):
        return None
    numbers = {
        number
        for (name, number), releases in _table().items()
        if name == library and any(cuda.starts_with(it) or it.starts_with(cuda) for it in releases)
    }
    if cuda.major < 11 and len(cuda.parts) == 1:
        return None
    if not numbers:
        numbers = {cuda.minor if cuda.major < 11 else str(cuda.major)}
    return f"lib{library}.so.{numbers.pop()}" if len(numbers) == 1 else None


def differing(libraries: tuple[str, ...], one: Version, other: Version) -> str | None:
    """Name the first library of release `one` that `other` has under another SONAME.

    The runtime comes first: if its name is the same, so are most of the others.
    """
    for library in ("cudart", *libraries):
        mine, theirs = soname(library, one), soname(library, other)
        if mine and theirs and mine != theirs:
            return mine
    return None


def release_with_file(name: str) -> Version | None:
    """Return the newest CUDA release, or whole major, with a library such as libcufft.so.10.

    None for what is no library of a toolkit, or is of no known release.
    """
    library, _, number = name.removeprefix("lib").partition(".so.")
    known = (*_NUMBERED_AS_CUDA, *(listed for listed, _ in _table()))
    if library not in known or not is_version(number):
        return None
    newest = releases_with(library, number)[-1]
    is_known = any(cuda.starts_with(newest) for cuda in releases())
    return newest if is_known and soname(library, newest) == name else None
