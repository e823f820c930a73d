"""Frameworks: how each is recognised in an environment, and for which CUDA it was built.

One data file describes one framework; no code names any.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from cudaswitch.compat.tables import DATA, Row, read_table, rows_of, version_or_none
from cudaswitch.versions import Version

Gives = Literal["cuda", "cudnn", "cuda_min", "gpu", "archs"]
Read = Literal[
    "python", "json", "version", "name", "requires", "listing", "conda-build", "conda-depends"
]


@dataclass(frozen=True)
class Field:
    """What one value of a file says.

    `key` is a regular expression over the value's name (a Python variable or dict key, a
    JSON path, a dependency); `match` one over its text, whose first group is the answer.
    `form` says how the answer is spelled: `version` (12.4), `digits` (124) or `dotted`
    (805 = 8.0.5). `value` is given instead of the text. `null_is_cpu`: None means no CUDA.
    """

    gives: Gives
    key: str = ""
    match: str = ""
    form: Literal["version", "digits", "dotted"] = "version"
    value: str | None = None
    null_is_cpu: bool = False


@dataclass(frozen=True)
class Reader:
    """One place to look: a `file` or `folder` below site-packages, or the package's record."""

    read: Read
    fields: tuple[Field, ...]
    file: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Build(Row):
    """A published build: framework `version` (prefix) for `cuda` and `cudnn`.

    `default` is what a plain install gives; others carry their `tag`. `cuda_min` is the
    oldest toolkit that serves it, where that is not `cuda` itself. `archs` are the compute
    capabilities it holds code for (`12.0+PTX`), empty when unknown.
    """

    version: Version
    cuda: Version
    cudnn: Version | None
    os: str | None = None
    cuda_min: Version | None = None
    tag: str | None = None
    default: bool = True
    archs: tuple[str, ...] = ()


@dataclass(frozen=True)
class CpuBuild(Row):
    """Builds without CUDA: of a distribution (regular expression), system or version range.

    `firm` ones hold whatever the files in the package say. `hint` is what to do instead.
    """

    dist: str = ".*"
    os: str | None = None
    since: Version | None = None
    before: Version | None = None
    firm: bool = False
    hint: str | None = None


@dataclass(frozen=True)
class OwnCuda(Row):
    """Pip packages that bring their CUDA: `always`, or as `wheels` beside them, `since` when."""

    pip: Literal["always", "wheels"]
    since: Version | None = None


@dataclass(frozen=True)
class Framework:
    """Everything known of one framework. `readers` come in the order of trust.

    `dists` are regular expressions over normalised distribution names, the most telling
    first. `rows_apply`: a row holds for its `minor` series, or `onward` until the next row.
    """

    name: str
    title: str
    dists: tuple[str, ...]
    conda: tuple[str, ...]
    folders: tuple[str, ...]
    rows_apply: Literal["minor", "onward"]
    readers: tuple[Reader, ...]
    cpu_builds: tuple[CpuBuild, ...]
    builds: tuple[Build, ...]
    own_cuda: OwnCuda | None = None
    other_build: str = "{title} {version} (CUDA {cuda})"

    def builds_of(self, version: Version, os: str) -> list[Build]:
        """List the builds that a release can be, nearest row first, defaults before others."""
        fits = [
            build
            for build in self.builds
            if build.os in (None, os) and self._applies(build.version, version)
        ]
        older = [build for build in fits if build.version <= version]
        newer = [build for build in fits if build.version > version]
        # Sorting is stable, so the file's order decides between rows of one version.
        older.sort(key=lambda build: build.version, reverse=True)
        newer.sort(key=lambda build: build.version)
        return older + newer

    def _applies(self, row: Version, version: Version) -> bool:
        if self.rows_apply == "onward":
            return row <= version
        return row.minor == version.minor


def _fields(rows: list[dict[str, Any]]) -> tuple[Field, ...]:
    known = Field.__dataclass_fields__
    return tuple(Field(**{key: row[key] for key in row if key in known}) for row in rows)


def _reader(data: dict[str, Any]) -> Reader:
    shared = {"conda-build": "build", "conda-depends": "depends"}
    rows = data["fields"] if "fields" in data else read_table("conda")[shared[data["read"]]]
    return Reader(**{**data, "fields": _fields(rows)})


def _load(name: str) -> Framework:
    data = read_table(f"frameworks/{name}")
    versions = ("version", "cuda", "cudnn", "cuda_min", "since", "before")

    def typed(row: dict[str, Any]) -> dict[str, Any]:
        return {key: version_or_none(row[key]) if key in versions else row[key] for key in row}

    own = data.get("own_cuda")
    optional = {key: data[key] for key in ("other_build",) if key in data}
    return Framework(
        name=data["name"],
        title=data["title"],
        dists=tuple(data["dists"]),
        conda=tuple(data["conda"]),
        folders=tuple(data["folders"]),
        rows_apply=data["rows_apply"],
        readers=tuple(_reader(reader) for reader in data["readers"]),
        cpu_builds=tuple(CpuBuild(**typed(row)) for row in rows_of(data, "cpu_builds")),
        builds=tuple(
            Build(**(typed(row) | {"archs": tuple(row.get("archs", ()))}))
            for row in rows_of(data, "rows")
        ),
        own_cuda=OwnCuda(**typed(own | {"source": data["sources"][own["source"]]}))
        if own
        else None,
        **optional,
    )


@lru_cache
def frameworks() -> dict[str, Framework]:
    """Load every framework that has a data file, by name."""
    names = sorted(path.stem for path in (DATA / "frameworks").glob("*.json"))
    return {name: _load(name) for name in names}
