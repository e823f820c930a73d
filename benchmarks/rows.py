"""What a row of the table is."""

from __future__ import annotations

from dataclasses import dataclass

from measure import Loop


@dataclass(frozen=True)
class Row:
    """One operation, compared with the row named `against`.

    `most` is the target: how many times `against` the operation may cost or, with `absolute`,
    how many microseconds. Rows of rivals have none.
    """

    group: str
    name: str
    loop: Loop
    against: str = ""
    most: float | None = None
    absolute: bool = False
