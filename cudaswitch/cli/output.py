"""How commands of the command line talk, and the option that lets them talk JSON."""

from __future__ import annotations

import click

from cudaswitch.talk import data, hint, line, say, table, warn_of_forced_libraries

__all__ = [
    "data",
    "hint",
    "json_option",
    "line",
    "say",
    "size",
    "table",
    "warn_of_forced_libraries",
]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")


def size(count: int) -> str:
    """Spell a number of bytes for people."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}" if unit == 1 << 30 else f"{count / unit:.0f} {name}"
    return f"{count} B"
