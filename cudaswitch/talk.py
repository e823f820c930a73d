"""How commands talk: data on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys

from cudaswitch.errors import CudaswitchError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_FEW = 5
"""Names that a line of prose can hold."""


def data(value: Any) -> None:
    """Print a value as JSON."""
    import json  # noqa: PLC0415  # few ask for it

    print(json.dumps(value, indent=2), flush=True)


def line(text: str) -> None:
    """Print one line of data."""
    print(printable(text), flush=True)


def script(text: str) -> None:
    """Print text for a shell or another program as it is, including bytes that are not text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(text))


def say(text: str) -> None:
    """Say something to the user, on stderr."""
    print(f"cudaswitch: {printable(from_here(text))}", file=sys.stderr)


def from_here(text: str) -> str:
    """Shorten the asking version file's path to `./` if it is in the working directory."""
    asker = "asked for by {}/.cuda-version".format
    if "/.cuda-version" not in text:
        return text
    try:
        here, told = os.getcwd(), os.environ.get("PWD", "")
        spellings = {here, told} if told and os.path.samefile(told, here) else {here}
    except OSError:
        return text
    for folder in spellings:
        text = text.replace(asker(folder.rstrip("/")), asker("."))
    return text


def some_of(names: Sequence[str]) -> str:
    """Name the first few of many, and how many more there are."""
    left = len(names) - _FEW
    return f"{', '.join(names[:_FEW])} and {left} more" if left > 1 else ", ".join(names)


def counted(count: int, what: str) -> str:
    """Spell a number of things: `1 package`, `2 packages`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def show(text: str) -> None:
    """Show one line of what is about to be done, on stderr."""
    print(printable(text), file=sys.stderr)


def hint(text: str) -> None:
    """Name the next step, on stderr."""
    print(f"hint: {printable(text)}", file=sys.stderr)


def caution(error: CudaswitchError | None) -> None:
    """Print the message and hint of an error that was not raised; nothing for None."""
    if error:
        say(error.message)
        if error.hint:
            hint(error.hint)


def warn_of_forced_libraries(libraries: str | None, bundled: str | None) -> None:
    """Warn that `--libraries always` puts a toolkit's libraries before an environment's own.

    `bundled` is what shows that the environment brings some.
    """
    if bundled and libraries == "always":
        say(
            "the toolkit's libraries come before those that the environment brings"
            f" ({bundled}), and these may then fail to load with an undefined symbol"
        )
        hint("--libraries auto leaves LD_LIBRARY_PATH alone there")


def table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, each as wide as its widest cell."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))] if rows else []
    for row in rows:
        # The last cell is not padded, rather than stripped: a path may end with a blank.
        last = max((at for at, cell in enumerate(row) if cell), default=0)
        cells = [cell.ljust(width) for cell, width in zip(row[:last], widths, strict=False)]
        line("  ".join([*cells, row[last]]))
