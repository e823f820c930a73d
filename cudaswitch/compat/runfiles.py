"""NVIDIA's runfiles: where each release is, and its hash. No server lists them."""

from __future__ import annotations

from functools import lru_cache

from cudaswitch.compat.tables import read_table, rows_of
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.versions import Version


class Runfile(NamedTuple):
    """The runfile of a release for linux-64: `path` below `base`, which a mirror may replace."""

    source: str
    confidence: str
    cuda: Version
    base: str
    path: str
    sha256: str


@lru_cache
def runfiles() -> tuple[Runfile, ...]:
    """Return all that are known, the newest release first."""
    table = read_table("runfiles")
    rows = (
        Runfile(
            cuda=Version(row["cuda"]),
            base=table["hosts"][row["host"]],
            path=row["path"],
            sha256=row["sha256"],
            source=row["source"],
            confidence=row["confidence"],
        )
        for row in rows_of(table, "runfiles")
    )
    return tuple(sorted(rows, key=lambda row: row.cuda, reverse=True))
