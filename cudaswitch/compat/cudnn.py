"""Which CUDA releases and GPUs a cuDNN serves."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from cudaswitch.compat.redist import FIRST_ON_PYPI, has_toolkit, known_releases
from cudaswitch.compat.tables import Row, read_table, rows_of
from cudaswitch.versions import Version

_ONE_BUILD = Version("8.2")
"""The first cuDNN of which NVIDIA's matrix lists one build for several releases of CUDA 11."""


class Support(Row):
    """A line of NVIDIA's support matrix; `complete` is False if it was read only in part."""

    source: str
    confidence: str
    cudnn: Version
    cuda: tuple[Version, ...]
    complete: bool
    cc_min: Version | None
    cc_max: Version | None


@lru_cache
def _table(major: int) -> tuple[Support, ...]:
    return tuple(
        Support.typed(row)
        for row in rows_of(read_table("cudnn"), "supports")
        if row["cudnn"].startswith(f"{major}.")
    )


def unsupported_cuda(cudnn: Version, cuda: Version) -> Support | None:
    """Find the complete row that leaves `cuda` out for this cuDNN release, if there is one."""
    for row in _table(cudnn.major):
        if not cudnn.starts_with(row.cudnn) or not row.complete:
            continue
        # From CUDA 11 on, builds are for a whole major, so newer minors are served too.
        newest = max((entry for entry in row.cuda if entry.major == cuda.major), default=None)
        listed = any(cuda.starts_with(entry) for entry in row.cuda)
        newer = cuda.major >= 11 and newest is not None and cuda > newest
        if not listed and not newer:
            return row
    return None


def built_for(cudnn: Version, cuda: str) -> str:
    """Return which CUDA NVIDIA's archive of a cuDNN is for (a request text); its name says `cuda`.

    8.2 to 8.4 name the release of CUDA 11 that they were built with, and are for all of them.
    """
    built = Version(cuda)
    return str(built.major) if built.major >= 11 and cudnn >= _ONE_BUILD else cuda


def newest_support(major: int) -> Support | None:
    """Find the row of the newest release of a major."""
    return max(_table(major), key=lambda row: row.cudnn, default=None)


def _lowest_capability(cudnn: Version) -> Support | None:
    """Find the row that bounds the GPUs of a cuDNN: its own, or the newest one before it.

    For a bare major, it is the row that serves the oldest GPUs. Majors are not mixed: nothing
    is concluded for 9.0 from 8.9.
    """
    rows = [row for row in _table(cudnn.major) if row.cc_min]
    if len(cudnn.parts) == 1:
        return min(rows, key=lambda row: (row.cc_min or row.cudnn, row.cudnn), default=None)
    exact = [row for row in rows if cudnn.starts_with(row.cudnn) or row.cudnn.starts_with(cudnn)]
    before = [row for row in rows if row.cudnn <= cudnn]
    return max(exact or before, key=lambda row: row.cudnn, default=None)


def unsupported_gpus(cudnn: Version, gpus: Collection[Version]) -> Support | None:
    """Find the row that says a cuDNN serves none of the GPUs any more; None without GPUs."""
    row = _lowest_capability(cudnn)
    return row if row and row.cc_min and gpus and max(gpus) < row.cc_min else None


def first_without(cudnn: Version, gpus: Collection[Version]) -> Version:
    """Return the release before which a cuDNN of that major serves one of the GPUs, if any does.

    It comes right after the newest release known to serve one: later ones, even before the next
    in the table, may not.
    """
    rows = [row for row in _table(cudnn.major) if row.cc_min]
    most = max(gpus, default=None)
    fits = [row.cudnn for row in rows if most is None or not row.cc_min or row.cc_min <= most]
    newest = max(fits, default=None)
    if newest is None or newest == max(row.cudnn for row in rows):
        return Version(str(cudnn.major + 1))
    return Version(f"{newest.major}.{newest.parts[1] + 1}")


def lists_all(cudnn: Version, gpus: Collection[Version]) -> bool:
    """Tell whether a cuDNN, or the newest known one before it, lists each of the GPUs."""
    rows = [row for row in _table(cudnn.major) if row.cc_max and row.cudnn <= cudnn]
    high = max(rows, key=lambda row: row.cudnn, default=None)
    most = high.cc_max.major if high and high.cc_max else None
    return not any(unsupported_gpus(cudnn, (cc,)) or (most and cc.major > most) for cc in gpus)


def spelled_for(cudnn: Version, cuda: Version, gpus: Collection[Version]) -> str:
    """Spell the request for a cuDNN that serves like this one, is to be had, and lists the GPUs.

    If that is any of its major, and newer ones do not list them, it names the newest that does.
    """
    if len(cudnn.parts) > 1 and not lists_all(cudnn, gpus):
        return str(cudnn.major)
    if len(cudnn.parts) > 1 and _is_offered(cudnn, cuda):
        return cudnn.minor
    bare = Version(str(cudnn.major))
    if first_without(bare, gpus).major > bare.major:
        return str(bare)
    near = (row.cudnn for row in _table(bare.major) if row.cudnn >= cudnn)
    fits = (one for one in near if lists_all(one, (max(gpus),)))
    return max(fits, key=lambda one: (_is_offered(one, cuda), one), default=cudnn).minor


def _is_offered(cudnn: Version, cuda: Version) -> bool:
    """Tell whether the usual source of a CUDA (`sources.choosing`) has a cuDNN of that minor.

    Only what is known offline counts. PyPI keeps every cuDNN.
    """
    if cuda >= FIRST_ON_PYPI:
        return True
    minor = Version(cudnn.minor)
    if has_toolkit(cuda):
        return any(one.starts_with(minor) for one in known_releases("cudnn"))
    rows = rows_of(read_table("cudnn"), "conda")
    return any(minor.text in row["minors"] for row in rows)


def highest_capability(cudnn: Version) -> Support | None:
    """Find the row with the newest GPUs that any cuDNN of the same major lists.

    A framework takes a newer library of its major, but never one of another.
    """
    rows = [row for row in _table(cudnn.major) if row.cc_max]
    return max(rows, key=lambda row: row.cc_max or row.cudnn, default=None)
