"""What `--help` prints: the texts beside this, written ahead by `completions/generate.py`.

They are as wide as most terminals allow. Where one is narrower click fills the same anew.
"""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)
WIDTH = 78
"""Columns that help takes where the terminal has them."""


def width() -> int:
    """Return how many columns help takes here.

    click itself asks shutil, which loads four kinds of compression first.
    """
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else 0
    try:
        columns = columns or os.get_terminal_size(1).columns
    except OSError:
        columns = 80
    return max(50, min(columns or 80, WIDTH + 2) - 2)


def file_of(*commands: str) -> str:
    """Return the file of a command's text, by its words, as manuals are named."""
    return f"{'-'.join(('cudaswitch', *commands))}.txt"


def text(arguments: list[str]) -> str | None:
    """Return what is printed for a command line that asks for nothing but help, else None."""
    *commands, last = arguments or ["--help"]
    if last not in ("-h", "--help") or not all(word.isalpha() for word in commands):
        return None
    if width() != WIDTH:
        return None
    try:
        with open(f"{_HERE}/{file_of(*commands)}", encoding="utf-8") as file:
            return file.read()
    except OSError:  # no such command, nor any of so long a name
        return None
