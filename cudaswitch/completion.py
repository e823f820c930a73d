"""Completion scripts: where they are. `completions/generate.py` makes them."""

from __future__ import annotations

from cudaswitch.shipped import shipped

SCRIPTS = {"bash": "cudaswitch.bash", "zsh": "_cudaswitch", "fish": "cudaswitch.fish"}
"""Shell → its script, named as the shell looks for it."""


def script(shell: str) -> str:
    """Return the completion script of a shell of SCRIPTS."""
    return shipped(SCRIPTS[shell])
