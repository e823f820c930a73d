"""Frameworks: how each is recognised in an environment, and which CUDA it was built for.

One data file describes one framework; no code names any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar

from cudaswitch.compat.tables import DATA, Row, literal_start, read_table, rows_of, version_or_none
from cudaswitch.versions import Version

_Kind = TypeVar("_Kind", bound=Row)

Gives = Literal["cuda", "cudnn", "cuda_min", "gpu", "archs", "version"]
Read = Literal[
    "python",
    "json",
    "version",
    "name",
    "requires",
    "wheel",
    "listing",
    "elf",
    "conda-build",
    "conda-depends",
]


class Field(Row):
    """What one value of a file says.

    `key` is a regular expression over the value's name (a Python variable or dict key, a
    JSON path, a dependency); `match` one over its text, whose first group is the answer.
    `form` says how the answer is spelled: `version` (12.4), `digits` (124), `dotted`
    (805 = 8.0.5) or `number` (1204 = 12.4). `value` is given instead of the text.
    `null_is_cpu`: None means no CUDA.
    """

    gives: Gives
    key: str = ""
    match: str = ""
    form: Literal["version", "digits", "dotted", "number"] = "version"
    value: str | None = None
    null_is_cpu: bool = False


class Reader(Row):
    """One place to look: a `file` or `folder` below site-packages, or the package's record.

    Of an `elf` file the names of the libraries that it needs are read, of a `wheel` the tags.
    """

    read: Read
    fields: tuple[Field, ...]
    file: str = ""
    folder: str = ""


class Build(Row):
    """A build: framework `version` (prefix) for `cuda` and `cudnn`.

    `default` is what a plain install gives; others carry their `tag`. `cuda_min` is the oldest
    toolkit that serves it, if that is not `cuda` itself. `before` is the first release that is no
    longer built this way, where rows apply onward. No index has it if it is not `published`.
    """

    source: str
    confidence: str
    version: Version
    cuda: Version
    cudnn: Version | None
    os: str | None = None
    cuda_min: Version | None = None
    tag: str | None = None
    default: bool = True
    before: Version | None = None
    published: bool = True

    def holds(self, version: Version) -> bool:
        """Tell whether the row, applied onward, holds for a release."""
        return self.version <= version and (self.before is None or version < self.before)


class Code(Row):
    """The compute capabilities that releases from `since` on hold code for: `8.6`, `12.0+PTX`.

    If `cuda` is given, only their builds for that do. The row is about builds that the project
    publishes itself; other people's builds choose their own.
    """

    source: str
    confidence: str
    since: Version
    before: Version
    archs: tuple[str, ...]
    cuda: Version | None = None
    os: str | None = None


class CpuBuild(Row):
    """Builds without CUDA: of a distribution (regular expression), system or version range.

    `but` are releases in the range that have CUDA all the same. `firm` rows hold whatever the
    files in the package say. `hint` is what to do instead.
    """

    source: str
    confidence: str
    dist: str = ".*"
    os: str | None = None
    since: Version | None = None
    before: Version | None = None
    but: tuple[str, ...] = ()
    firm: bool = False
    hint: str | None = None


class OwnCuda(Row):
    """Pip packages that, from a release on, bring their CUDA: `always`, or as separate `wheels`.

    `never` is a regular expression over versions that do not: builds from source, for example,
    about which the table of published builds says nothing either. The component `shown_by` shows
    that the wheels are there; without them, the major of the component `toolkit_by` is that of the
    toolkit it takes. `loaded_by` are the calls that load the wheels if the framework does not look
    for them, and `beside` is the framework whose calls these are, without which nothing loads them.
    Releases that fail to look for the wheels are `mended` by another release.
    """

    source: str
    confidence: str
    pip: Literal["always", "wheels"]
    since: Version | None = None
    before: Version | None = None
    never: str | None = None
    shown_by: str = "cuda"
    toolkit_by: str | None = None
    loaded_by: str | None = None
    beside: str | None = None
    mended: str | None = None


class PrefixByPath(Row):
    """Pip packages that, from a release on, find a conda prefix's CUDA only by LD_LIBRARY_PATH.

    Their libraries have a RUNPATH, which makes the loader ignore the RPATH of conda's Python.
    """

    source: str
    confidence: str
    since: Version
    before: Version | None = None


class CudnnInside(Row):
    """Pip packages for a system that have cuDNN inside them, though their CUDA is a toolkit's."""

    source: str
    confidence: str
    os: str
    before: Version


class Takes(Row):
    """The toolkits, `oldest` to `newest`, that serve a framework built for none in particular."""

    source: str
    confidence: str
    oldest: Version
    newest: Version

    def accepts(self, cuda: Version) -> bool:
        return cuda >= self.oldest and (cuda < self.newest or cuda.starts_with(self.newest))

    def __str__(self) -> str:
        return f"from {self.oldest} to {self.newest}"


class Links(Row):
    """Of the libraries whose SONAME changes within a CUDA major, those that builds load by it."""

    source: str
    confidence: str
    libraries: tuple[str, ...]


class Opens(Row):
    """The libraries that releases from `since` on take from a toolkit, by names without `lib`.

    `nvvm` is libNVVM. From `extra_since` on, the `extra` brings all of them as wheels, and what
    wheels lack is looked for below CUDA_HOME. If `optional_in_conda`, conda may leave them out. If
    `runtime_inside`, libcudart is linked into the builds, and so not looked for.
    """

    source: str
    confidence: str
    libraries: tuple[str, ...]
    since: Version
    before: Version | None = None
    runtime_inside: bool = False
    optional_in_conda: bool = False
    extra: str | None = None
    extra_since: Version | None = None


class Loading(Row):
    """How a framework loads its libraries; paths are below site-packages.

    `folders` hold its libraries, `first` are those that it loads before all others. If these need a
    library named `when`, it then loads libraries by path: those that the source file `by_path`
    names in pairs of folder and pattern, such as ("nvjitlink", "libnvJitLink.so.*[0-9]").
    """

    source: str
    folders: tuple[str, ...]
    first: tuple[str, ...] = ()
    when: str | None = None
    by_path: str = ""


def within(release: Version | None, since: Version | None, before: Version | None) -> bool:
    """Tell whether a release is in a range; None, an unknown one, is taken to be the newest."""
    if release is None:
        return before is None
    return (since is None or release >= since) and (before is None or release < before)


class Framework:
    """Everything known of one framework, typed when it is asked for: most are not installed.

    `dists` are regular expressions over normalised distribution names, the most telling
    first. `rows_apply`: a row holds for its `minor` series, or `onward` until the next row.
    `follows` names the framework whose CUDA it uses, or `environment` for the CUDA that
    the environment brings; None when it is built for a CUDA of its own. From `by_major` on, a
    build for another CUDA release of the same major works with what it follows. With `one_only`,
    its distributions write the same files, so that only one of them can be installed. If it is
    `extended`, it has extensions built with nvcc, whose release it compares with its own CUDA:
    torch.utils.cpp_extension refuses another major, and warns of another minor.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.name: str = data["name"]
        self.title: str = data["title"]
        self.dists: tuple[str, ...] = tuple(data["dists"])
        self.conda: tuple[str, ...] = tuple(data["conda"])
        self.folders: tuple[str, ...] = tuple(data["folders"])
        self.rows_apply: Literal["minor", "onward"] = data["rows_apply"]
        self.follows: str | None = data.get("follows")
        self.by_major: Version | None = version_or_none(data.get("by_major"))
        self.one_only: bool = data.get("one_only", False)
        self.extended: bool = data.get("extended", False)
        self.other_build: str = data.get("other_build", "{title} {version} (CUDA {cuda})")
        self._data = data

    def rank(self, dist: str) -> int | None:
        """Tell how telling a distribution's name is, 0 being the most; None if not its own."""
        for rank, pattern in enumerate(self.dists):
            start = literal_start(pattern)
            if dist.startswith(start) and (dist == pattern or re.fullmatch(pattern, dist)):
                return rank
        return None

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        """Where to look, in the order of trust."""
        return tuple(_reader(reader) for reader in self._data["readers"])

    @cached_property
    def cpu_builds(self) -> tuple[CpuBuild, ...]:
        return tuple(map(CpuBuild.typed, rows_of(self._data, "cpu_builds")))

    @cached_property
    def builds(self) -> tuple[Build, ...]:
        """The published builds."""
        return tuple(it for it in map(Build.typed, rows_of(self._data, "rows")) if it.published)

    def code_of(self, version: Version, cuda: Version, platform: str) -> Code | None:
        """Find what the published build of a release for `cuda` holds code for.

        The rows are about builds for x86-64: those for other machines are made for other GPUs.
        """
        os, _, machine = platform.partition("-")
        for row in self._code if machine == "64" else ():
            # Compare the text first, as in `_rows`; a row for 12.1 is not one for 12.10.
            if f"{cuda}.".startswith(f"{row['cuda']}." if "cuda" in row else ""):
                code = Code.typed(row)
                if code.os in (None, os) and code.since <= version < code.before:
                    return code
        return None

    @property
    def knows_code(self) -> bool:
        """Tell whether it is known for any release what it holds code for."""
        return bool(self._code)

    @cached_property
    def _code(self) -> tuple[dict[str, Any], ...]:
        return tuple(rows_of(self._data, "code"))

    def own_cuda_of(self, release: Version | None) -> OwnCuda | None:
        """Find the rule by which a release brings its CUDA, None if it brings none."""
        return next((it for it in self._own_cuda if within(release, it.since, it.before)), None)

    def foreign(self, version: str) -> bool:
        """Tell whether a version is of a build that the project does not publish."""
        return any(rule.never and re.search(rule.never, version) for rule in self._own_cuda)

    @cached_property
    def _own_cuda(self) -> tuple[OwnCuda, ...]:
        return tuple(map(OwnCuda.typed, rows_of(self._data, "own_cuda")))

    @cached_property
    def prefix_by_path(self) -> PrefixByPath | None:
        return self._only("prefix_by_path", PrefixByPath)

    @cached_property
    def cudnn_inside(self) -> CudnnInside | None:
        return self._only("cudnn_inside", CudnnInside)

    @cached_property
    def takes(self) -> Takes | None:
        return self._only("takes", Takes)

    @cached_property
    def links(self) -> Links | None:
        return self._only("links", Links)

    def opens_of(self, release: Version | None) -> Opens | None:
        """Return what is known of the libraries that a release takes from a toolkit."""
        rules = map(Opens.typed, rows_of(self._data, "opens"))
        return next((it for it in rules if within(release, it.since, it.before)), None)

    @cached_property
    def loading(self) -> Loading | None:
        return self._only("loading", Loading)

    def _only(self, key: str, kind: type[_Kind]) -> _Kind | None:
        """Return the only row under a key, None if there is none."""
        row = self._data.get(key)
        return kind.typed(row | {"source": self._data["sources"][row["source"]]}) if row else None

    def builds_of(self, version: Version, os: str) -> list[Build]:
        """List the builds of a release, published or not: nearest row first, defaults first."""
        fits = [build for build in self._rows(version) if build.os in (None, os)]
        older = [build for build in fits if build.version <= version]
        newer = [build for build in fits if build.version > version]
        # Sorting is stable, so the file's order decides between rows of one version.
        older.sort(key=lambda build: build.version, reverse=True)
        newer.sort(key=lambda build: build.version)
        return older + newer

    def _rows(self, version: Version) -> Iterator[Build]:
        for row in rows_of(self._data, "rows"):
            # The version is compared as text first: typing every row costs more than the rest.
            if self.rows_apply == "onward" or _series(row["version"]) == version.minor:
                build = Build.typed(row)
                if self.rows_apply == "minor" or build.holds(version):
                    yield build


def _reader(data: dict[str, Any]) -> Reader:
    shared = {"conda-build": "build", "conda-depends": "depends", "wheel": "wheel"}
    rows = data["fields"] if "fields" in data else read_table("records")[shared[data["read"]]]
    known = Field.__annotations__
    fields = tuple(Field(**{key: row[key] for key in row if key in known}) for row in rows)
    return Reader(**{**data, "fields": fields})


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


@lru_cache
def framework_starts() -> tuple[str, ...]:
    """List what the names of the distributions of all frameworks start with."""
    return tuple({literal_start(name) for it in frameworks().values() for name in it.dists})


@lru_cache
def frameworks() -> dict[str, Framework]:
    """Load every framework that has a data file, by name."""
    files = sorted(os.listdir(DATA / "frameworks"))
    names = [name.removesuffix(".json") for name in files if name.endswith(".json")]
    return {name: Framework(read_table(f"frameworks/{name}")) for name in names}


def framework_called(text: str) -> Framework | None:
    """Return the framework with that name, title, package or import name, in any letter case."""
    low = text.lower().replace("_", "-")
    for one in frameworks().values():
        names = {one.name, one.title.lower(), *one.conda, *one.folders}
        if names & {low, text.lower()} or one.rank(low) is not None:
            return one
    return None
