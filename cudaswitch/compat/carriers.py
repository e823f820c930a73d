"""Packages that put CUDA itself into an environment."""

from __future__ import annotations

import re
from functools import lru_cache

from cudaswitch.compat.tables import Row, literal_start, read_table, rows_of


class Carrier(Row):
    """A package (`kind` `dist` or `conda`, `name` a regular expression) and what it brings.

    `writes` is the folder below site-packages that all distributions of that name share.
    """

    source: str
    confidence: str
    kind: str
    name: str
    component: str
    writes: str | None = None


@lru_cache
def _table(kind: str) -> tuple[tuple[str, Carrier], ...]:
    rows = (Carrier(**row) for row in rows_of(read_table("carriers"), "carriers"))
    return tuple((literal_start(row.name), row) for row in rows if row.kind == kind)


def carried_by(kind: str, name: str) -> tuple[Carrier, str | None] | None:
    """Tell what a package brings and, where its name says so, for which CUDA major."""
    for start, row in _table(kind):
        if name.startswith(start) and (match := re.fullmatch(row.name, name)):
            return row, match.groupdict().get("major")
    return None


@lru_cache
def carrier_starts() -> tuple[str, ...]:
    """List what the names of the distributions that bring CUDA start with."""
    return tuple({start for start, _ in _table("dist")})
