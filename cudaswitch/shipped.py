"""Files of the top-level folders `shims` and `completions`, which a wheel carries inside."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)
_FOLDERS = ("share", "../shims", "../completions")
"""In a wheel, the first has all of them; an editable install reads the other two."""


def place_of(name: str) -> str:
    """Return where one of the files is, by its name alone."""
    places = [os.path.abspath(f"{_HERE}/{folder}/{name}") for folder in _FOLDERS]
    return next(filter(os.path.isfile, places), places[0])


def shipped(name: str) -> str:
    """Read one of the files, by its name alone."""
    with open(place_of(name), encoding="utf-8") as file:
        return file.read()
