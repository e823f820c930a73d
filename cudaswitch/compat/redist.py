"""Which releases NVIDIA's redist index has, for when it cannot be asked, and where PyPI's begin."""

from __future__ import annotations

from functools import lru_cache

from cudaswitch.compat.tables import read_table, rows_of
from cudaswitch.versions import Version

FIRST_TOOLKIT = Version("11.4.2")
"""The first CUDA whose index lists a toolkit."""
FIRST_ON_PYPI = Version("13.0")
"""The first CUDA that comes from PyPI if no source is named."""


@lru_cache
def known_releases(product: str) -> tuple[Version, ...]:
    """List the releases of `cuda` or `cudnn`, each spelled as in its file's name."""
    rows = rows_of(read_table("redist"), "indexes")
    return tuple(
        Version(release) for row in rows if row["product"] == product for release in row["releases"]
    )


def has_toolkit(cuda: Version) -> bool:
    """Tell whether the index is known to have a toolkit of a CUDA release."""
    listed = (one for one in known_releases("cuda") if one >= FIRST_TOOLKIT)
    return any(one.starts_with(cuda) for one in listed)
