"""What a project of these tests asks for, and what a home then has of it."""

from __future__ import annotations

from homes import Home

KIT = "10.1.243+cudnn7.6.5"


def manifests(home: Home) -> dict[str, str]:
    """Return each toolkit's list of its files with their hashes."""
    found = (home.store / "toolkits").glob("*/cudaswitch-files.json")
    return {path.parent.name: path.read_text() for path in found}
