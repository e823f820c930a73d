"""Which host compilers and C libraries a CUDA release can compile with."""

from __future__ import annotations

from cudaswitch.compat.tables import Row, read_table, rows_of
from cudaswitch.versions import Version


class HostCompilers(Row):
    """Majors of gcc and clang that nvcc accepts (None: no bound known) and MSVC as printed."""

    source: str
    confidence: str
    cuda: Version
    gcc_min: int | None
    gcc_max: int | None
    clang_min: int | None
    clang_max: int | None
    msvc: str | None

    def accepts_gcc(self, major: int) -> bool:
        return (self.gcc_min or 0) <= major <= (self.gcc_max or major)


class GlibcLimit(Row):
    """Headers of CUDA up to `cuda_max` do not compile with glibc from `glibc_min` on."""

    source: str
    confidence: str
    cuda_max: Version
    glibc_min: Version
    text: str


def host_compilers(cuda: Version) -> HostCompilers | None:
    """Find the row of a CUDA release `X.Y`."""
    for row in rows_of(read_table("compilers"), "hosts"):
        if row["cuda"] == cuda.minor:
            return HostCompilers(**(row | {"cuda": Version(row["cuda"])}))
    return None


def glibc_limit(cuda: Version, glibc: Version) -> GlibcLimit | None:
    """Find the limit that `cuda` meets on a machine with `glibc`, if any."""
    for row in rows_of(read_table("compilers"), "glibc"):
        limit = GlibcLimit(**(row | {key: Version(row[key]) for key in ("cuda_max", "glibc_min")}))
        older = Version(cuda.minor) <= limit.cuda_max
        if older and len(cuda.parts) > 1 and glibc >= limit.glibc_min:
            return limit
    return None
