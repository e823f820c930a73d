"""Completion scripts: where they are. `completions/generate.py` makes them."""

from __future__ import annotations

import os

from cudaswitch.shipped import place_of, shipped

SCRIPTS = {"bash": "cudaswitch.bash", "zsh": "_cudaswitch", "fish": "cudaswitch.fish"}
"""Shell → its script, named as the shell looks for it."""


def script(shell: str) -> str:
    """Return the completion script of a shell of SCRIPTS."""
    return shipped(SCRIPTS[shell])


def folder_of(shell: str) -> str:
    """Return the folder with the completion script of a shell, "" if there is none."""
    return os.path.dirname(place_of(SCRIPTS[shell])) if shell in SCRIPTS else ""
