"""Fewer tests than all combinations: each two values of two axes meet in one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pytest
from allpairspy import AllPairs


def every_pair(
    axes: Mapping[str, Iterable[object]],
    possible: Callable[[list[object]], bool] = lambda _: True,
) -> pytest.MarkDecorator:
    """Parametrize a test so that each value of an axis meets each value of each other axis.

    Faults that take three values at once are for the random histories. An axis that is named
    "a, b" has tuples of two values. `possible` tells whether values may meet, of some axes or all.
    """
    names = [name.split(", ") for name in axes]
    rows = []
    for row in AllPairs([list(values) for values in axes.values()], filter_func=possible):
        each = zip(names, row, strict=True)
        rows.append(tuple(v for name, cell in each for v in (cell if name[1:] else (cell,))))
    flat = [name for group in names for name in group]
    return pytest.mark.parametrize(flat, rows, ids=["-".join(map(str, row)) for row in rows])
