"""How commands talk: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from cudaswitch.errors import printable

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")


def data(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2))


def line(text: str) -> None:
    """Print one line of data."""
    click.echo(printable(text))


def say(text: str) -> None:
    """Say something to the person, on stderr."""
    click.echo(f"cudaswitch: {printable(text)}", err=True)


def hint(text: str) -> None:
    """Name the next step, on stderr."""
    click.echo(f"hint: {printable(text)}", err=True)


def warn_of_forced_libraries(libraries: str | None, bundled: str | None) -> None:
    """Warn that `--libraries always` puts a toolkit's libraries before an environment's own.

    `bundled` is what shows that the environment brings some.
    """
    if bundled and libraries == "always":
        say(
            "the toolkit's libraries go before those that the environment brings"
            f" ({bundled}), and these may then fail to load with an undefined symbol"
        )
        hint("--libraries auto leaves LD_LIBRARY_PATH alone there")


def table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, each as wide as its widest cell."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line("  ".join(cells).rstrip())
