"""Which driver a CUDA release needs, and which one it came with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from cudaswitch.compat.tables import read_table, rows_of, version_or_none
from cudaswitch.versions import Version


class Driver(NamedTuple):
    """The driver that goes with a CUDA release or major, per system; None where none does."""

    source: str
    confidence: str
    cuda: Version
    linux: Version | None
    win: Version | None

    def on(self, os: str) -> Version | None:
        return self.win if os == "win" else self.linux


def _driver(row: dict[str, Any]) -> Driver:
    return Driver(
        cuda=Version(row["cuda"]),
        linux=version_or_none(row["linux"]),
        win=version_or_none(row["win"]),
        source=row["source"],
        confidence=row["confidence"],
    )


@lru_cache
def _table(key: str) -> tuple[Driver, ...]:
    return tuple(_driver(row) for row in rows_of(read_table("drivers"), key))


def releases() -> list[Version]:
    """List the CUDA releases `X.Y` that have a driver of their own, the newest first."""
    found = dict.fromkeys(row.cuda.minor for row in _table("corresponding"))
    return sorted(map(Version, found), reverse=True)


def corresponding(cuda: Version, os: str) -> Driver | None:
    """Find the oldest driver that NVIDIA lists with a release that `cuda` names.

    10.1 gives the driver of 10.1.105; 11.8.89, which no row spells, that of 11.8.
    """
    rows = [row for row in _table("corresponding") if row.on(os)]
    fits = [row for row in rows if row.cuda.starts_with(cuda)] or [
        row for row in rows if row.cuda.minor == cuda.minor and len(cuda.parts) > 1
    ]
    return min(fits, key=lambda row: row.on(os) or row.cuda, default=None)


def required(cuda: Version, os: str) -> Driver | None:
    """Find the oldest driver that runs `cuda` at all, or None when no table says.

    From 11 on any driver of the major's first generation does (minor version
    compatibility); before, and for a release older than that rule, its own driver.
    """
    own = corresponding(cuda, os) if len(cuda.parts) > 1 or cuda.major < 11 else None
    major = [row for row in _table("compatible") if row.cuda.major == cuda.major and row.on(os)]
    rows = [row for row in (own, *major) if row is not None]
    return min(rows, key=lambda row: row.on(os) or row.cuda, default=None)


def newest_cuda(driver: Version, os: str) -> Version | None:
    """Tell the newest CUDA release (as `X.Y`) whose own driver is not newer than `driver`.

    This is the number that nvidia-smi prints as `CUDA Version`.
    """
    fits = [row.cuda for row in _table("corresponding") if (own := row.on(os)) and own <= driver]
    return Version(max(fits).minor) if fits else None
