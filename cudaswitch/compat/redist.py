"""Which releases NVIDIA's redist index has, for when it cannot be asked."""

from __future__ import annotations

from functools import lru_cache

from cudaswitch.compat.tables import read_table, rows_of
from cudaswitch.versions import Version

FIRST_TOOLKIT = Version("11.4.2")
"""The first CUDA whose index lists a toolkit."""


@lru_cache
def known_releases(product: str) -> tuple[Version, ...]:
    """List the releases of `cuda` or `cudnn`, each spelled as in its file's name."""
    rows = rows_of(read_table("redist"), "indexes")
    return tuple(
        Version(release) for row in rows if row["product"] == product for release in row["releases"]
    )
