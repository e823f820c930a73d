"""Which GPUs a CUDA release has code for."""

from __future__ import annotations

from functools import lru_cache

from cudaswitch.compat.tables import Row, read_table, rows_of
from cudaswitch.versions import Version


class Architectures(Row):
    """The compute capabilities that the tools and libraries of a CUDA release serve."""

    source: str
    confidence: str
    cuda: Version
    min_cc: Version
    max_cc: Version
    sm: tuple[int, ...]

    def lists(self, cc: Version) -> bool:
        """Tell whether nvcc can be asked for a GPU's own machine code."""
        return number(cc) in self.sm


@lru_cache
def _families() -> dict[str, str]:
    rows = rows_of(read_table("architectures"), "families")
    return {row["cc"]: ": ".join(dict.fromkeys((row["family"], row["examples"]))) for row in rows}


def architectures(cuda: Version) -> list[Architectures]:
    """List the rows that `cuda` names: one for a release, all of its minors for a major."""
    whole, start = cuda.minor, f"{cuda.major}."
    rows = rows_of(read_table("architectures"), "toolkits")
    if len(cuda.parts) > 1:
        return [Architectures.typed(row) for row in rows if row["cuda"] == whole]
    return [Architectures.typed(row) for row in rows if row["cuda"].startswith(start)]


def given_up(cuda: Version, cc: Version) -> Architectures | None:
    """Find the row that says that no release `cuda` names has code for so old a GPU any more.

    A release newer than the table is taken to serve no GPU that the newest in it has given up.
    """
    rows = architectures(cuda)
    if not rows:
        *_, last = rows_of(read_table("architectures"), "toolkits")
        newest = Architectures.typed(last)
        rows = [newest] if cuda > newest.cuda else []
    return rows[0] if rows and all(cc < row.min_cc for row in rows) else None


def number(cc: Version) -> int:
    """Write a compute capability as nvcc does: 12.0 is 120."""
    return cc.major * 10 + (cc.parts[1] if len(cc.parts) > 1 else 0)


def gpu_name(cc: Version) -> str:
    """Write a compute capability with the cards that people know it by."""
    family = _families().get(cc.minor)
    return f"compute capability {cc}" + (f" ({family})" if family else "")
