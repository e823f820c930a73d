"""Which CUDA releases have a library under a SONAME, whose number is seldom CUDA's own."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from cudaswitch.doctor.model import Facts
from cudaswitch.resolver.machine import check_driver
from cudaswitch.versions import Version


@lru_cache
def _table() -> dict[tuple[str, str], list[str]]:
    file = Path(__file__).parent / "data" / "sonames.json"
    return {
        (library, number): releases
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]
        for library in row["libraries"]
        for number, releases in row["sonames"].items()
    }


def releases_with(library: str, number: str) -> list[Version]:
    """List the CUDA releases, or whole majors, whose lib`library`.so.`number` has that SONAME.

    Where no row says, the number is CUDA's: libcublas.so.12 and libcublas.so.9.0.
    """
    return sorted(map(Version, _table().get((library, number), [number])))


def release_with(facts: Facts, library: str, number: str) -> str:
    """Choose a CUDA release with a library: the framework's, the active one, else the newest.

    What the driver here does not run is chosen last.
    """
    releases = releases_with(library, number)
    active = facts.active.version if facts.active else None
    for mine in (facts.resolution.cuda, str(active or "")):
        if mine and any(Version(mine).starts_with(one) for one in releases):
            return Version(mine).minor
    runs = [one for one in releases if not check_driver(one, facts.needs).blocks]
    return str((runs or releases)[-1])
