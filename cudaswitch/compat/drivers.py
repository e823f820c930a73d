"""Which driver a CUDA release needs, and which one it came with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cudaswitch.compat.tables import Row, read_table, rows_of
from cudaswitch.versions import Version


class Driver(Row):
    """The driver that goes with a CUDA release or major, per system; None if there is none."""

    source: str
    confidence: str
    cuda: Version
    linux: Version | None
    win: Version | None

    def on(self, os: str) -> Version | None:
        return self.win if os == "win" else self.linux


@lru_cache
def _rows(key: str) -> tuple[dict[str, Any], ...]:
    """Return a list's rows as they are in the file: typing all costs more than reading them."""
    return tuple(rows_of(read_table("drivers"), key))


def releases() -> list[Version]:
    """List the CUDA releases `X.Y` that have a driver of their own, the newest first."""
    found = dict.fromkeys(Driver.typed(row).cuda.minor for row in _rows("corresponding"))
    return sorted(map(Version, found), reverse=True)


def corresponding(cuda: Version, os: str) -> Driver | None:
    """Find the oldest driver that NVIDIA lists with a release that `cuda` names.

    10.1 gives the driver of 10.1.105; 11.8.89, which has no row, that of 11.8.
    """
    start = f"{cuda.minor}."
    near = [row for row in _rows("corresponding") if f"{row['cuda']}.".startswith(start)]
    rows = [Driver.typed(row) for row in near if row[os]]
    fits = [row for row in rows if row.cuda.starts_with(cuda)] or [
        row for row in rows if row.cuda.minor == cuda.minor and len(cuda.parts) > 1
    ]
    return min(fits, key=lambda row: row.on(os) or row.cuda, default=None)


def required(cuda: Version, os: str) -> Driver | None:
    """Find the oldest driver that runs `cuda` at all, or None when no table says.

    From 11 on, that is any driver of the major's first generation (minor version
    compatibility); before, and for a release older than that rule, its own driver.
    """
    own = corresponding(cuda, os) if len(cuda.parts) > 1 or cuda.major < 11 else None
    majors = map(Driver.typed, _rows("compatible"))
    major = [row for row in majors if row.cuda.major == cuda.major and row.on(os)]
    rows = [row for row in (own, *major) if row is not None]
    return min(rows, key=lambda row: row.on(os) or row.cuda, default=None)


def newest_served(driver: Version, os: str) -> Driver | None:
    """Find the newest CUDA release whose own driver is not newer than `driver`.

    This is the number that nvidia-smi prints as `CUDA Version` (from driver 610 on, as
    `CUDA UMD Version`), or a newer one where the driver is of a later branch than that
    release's own.
    """
    for row in _rows("corresponding"):  # the newest first
        if row[os] and Version(row[os]) <= driver:
            return Driver.typed(row)
    return None
