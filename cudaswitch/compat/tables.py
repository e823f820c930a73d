"""Read our data files. Every row cites its source; a file keeps the long texts once, by key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cudaswitch.versions import Version

DATA = Path(__file__).parent / "data"
CONFIDENCES = ("quoted", "secondary")


@dataclass(frozen=True)
class Row:
    """A fact. `source` says where it was read; `confidence` is `quoted` or `secondary`.

    Quoted: read in a primary source (the vendor's table, the project's repository, the
    package itself). Secondary: another project's table or listing.
    """

    source: str
    confidence: str

    @property
    def cited(self) -> str:
        """The source as answers show it."""
        return self.source if self.confidence == "quoted" else f"{self.source} [secondary]"


@lru_cache
def read_table(name: str) -> dict[str, Any]:
    """Read a data file by its path below `data` without `.json`."""
    data: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return data


def rows_of(table: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list with the key of their source replaced by its text."""
    for row in table.get(key, ()):
        yield row | {"source": table["sources"][row["source"]]}


def version_or_none(text: str | None) -> Version | None:
    return None if text is None else Version(text)
