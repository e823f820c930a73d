"""Packages that put CUDA itself into an environment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cudaswitch.compat.tables import Row, read_table, rows_of


@dataclass(frozen=True)
class Carrier(Row):
    """A package (`kind` `dist` or `conda`, `name` a regular expression) and what it brings."""

    kind: str
    name: str
    component: str


@lru_cache
def _table(kind: str) -> tuple[tuple[re.Pattern[str], Carrier], ...]:
    rows = (Carrier(**row) for row in rows_of(read_table("carriers"), "carriers"))
    return tuple((re.compile(row.name), row) for row in rows if row.kind == kind)


def carried_by(kind: str, name: str) -> tuple[Carrier, str | None] | None:
    """Tell what a package brings and, where its name says so, for which CUDA major."""
    for pattern, row in _table(kind):
        if match := pattern.fullmatch(name):
            return row, match.groupdict().get("major")
    return None
