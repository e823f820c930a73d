"""Read our data files. Every row cites its source; a file keeps the long texts once, by key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cudaswitch.versions import Version

DATA = Path(__file__).parent / "data"

_Row = TypeVar("_Row", bound="Row")


class Fact(Protocol):
    """A row of a table. `source` says where it was read; `confidence` is one of two.

    `quoted`: read in a primary source (the vendor's table, the project's repository, the
    package itself). `secondary`: another project's table or listing.
    """

    @property
    def source(self) -> str: ...

    @property
    def confidence(self) -> str: ...


def cite(fact: Fact) -> str:
    """Write the source of a fact as answers show it."""
    return fact.source if fact.confidence == "quoted" else f"{fact.source} [secondary]"


class Row:
    """A typed row, with what its class annotates; what has a default there may be left out.

    Not a NamedTuple or dataclass: making such a class takes longer than reading a table.
    """

    def __init__(self, **fields: Any) -> None:
        known = type(self).__annotations__
        if not fields.keys() <= known.keys():
            raise TypeError(f"{type(self).__name__} has no {sorted(fields.keys() - known.keys())}")
        missing = [name for name in known if name not in fields and not hasattr(type(self), name)]
        if missing:
            raise TypeError(f"{type(self).__name__} lacks {missing}")
        self.__dict__.update(fields)

    @classmethod
    def typed(cls: type[_Row], row: dict[str, Any]) -> _Row:
        """Make a row from one in a data file, where versions are texts, and tuples are lists."""
        known = cls.__annotations__
        return cls(**{key: _AS.get(known.get(key), _same)(row[key]) for key in row})


@lru_cache
def read_table(name: str) -> dict[str, Any]:
    """Read a data file by its path below `data` without `.json`."""
    with open(f"{DATA}/{name}.json", encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    return data


def rows_of(table: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list with the key of their source replaced by its text."""
    for row in table.get(key, ()):
        yield row | {"source": table["sources"][row["source"]]}


def literal_start(pattern: str) -> str:
    """Return the plain text that a regular expression over names starts with.

    Names are compared with it first: compiling a pattern costs more than reading a file. A
    schema test makes sure that no quantifier applies to it.
    """
    end = next((at for at, char in enumerate(pattern) if not (char.isalnum() or char == "-")), None)
    return pattern[:end]


def version_or_none(text: str | None) -> Version | None:
    """Read a version from a table, if it has one. Raises what Version raises."""
    return None if text is None else Version(text)


def _same(value: Any) -> Any:
    return value


_AS: dict[str | None, Callable[[Any], Any]] = {
    "Version": Version,
    "Version | None": version_or_none,
    "tuple[Version, ...]": lambda texts: tuple(map(Version, texts)),
    "tuple[int, ...]": tuple,
    "tuple[str, ...]": tuple,
}
"""Annotation, as it is written → what makes such a value out of a file's."""
