"""Which host compilers and C libraries a CUDA release can compile with."""

from __future__ import annotations

from cudaswitch.compat.tables import Row, read_table, rows_of
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.versions import Version


class Bounds(NamedTuple):
    """The majors of gcc and clang that an nvcc accepts, None where no bound is known."""

    gcc_min: int | None
    gcc_max: int | None
    clang_min: int | None
    clang_max: int | None
    source: str
    confidence: str = "quoted"

    def of(self, kind: str) -> tuple[int | None, int | None]:
        """Return the least and greatest major of `gcc` or `clang`."""
        if kind == "gcc":
            return self.gcc_min, self.gcc_max
        return self.clang_min, self.clang_max

    def range_of(self, kind: str) -> str:
        """Spell the majors that are accepted: `up to 12`, `6 to 12`, `3 or newer`, `any`."""
        least, most = self.of(kind)
        if most is None:
            return f"{least} or newer" if least else "any"
        return f"{least} to {most}" if least else f"up to {most}"

    def accepts(self, kind: str, major: int) -> bool:
        least, most = self.of(kind)
        return (least or 0) <= major <= (most or major)


class GlibcLimit(Row):
    """Headers of CUDA up to `cuda_max` do not compile with glibc from `glibc_min` on.

    Both declare the `functions`, and not in the same way.
    """

    source: str
    confidence: str
    cuda_max: Version
    glibc_min: Version
    text: str
    functions: tuple[str, ...]


def host_compilers(cuda: Version) -> Bounds | None:
    """Tell what the nvcc of a CUDA release `X.Y` accepts."""
    for row in rows_of(read_table("compilers"), "hosts"):
        if row["cuda"] == cuda.minor:
            return Bounds(**{name: row[name] for name in Bounds._fields})
    return None


def glibc_limit(cuda: Version, glibc: Version) -> GlibcLimit | None:
    """Find the limit that `cuda` meets on a machine with `glibc`, if any."""
    for row in rows_of(read_table("compilers"), "glibc"):
        limit = GlibcLimit.typed(row)
        older = Version(cuda.minor) <= limit.cuda_max
        if older and len(cuda.parts) > 1 and glibc >= limit.glibc_min:
            return limit
    return None
