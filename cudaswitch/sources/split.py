"""CUDA 12 and later from a conda channel: one toolkit in many packages, solved by rattler.

rattler solves for `cuda-toolkit` of one release, over the channel's records of CUDA alone: the
compilers and system libraries that conda would bring along are the machine's own here. Of the
solution, only those packages are taken that the wanted components need.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cudaswitch.archives.components import CUDA_NUMBERED, PIECES, is_cuda, named_component
from cudaswitch.download.urls import redact
from cudaswitch.errors import SourceError
from cudaswitch.sources.channels import Channel, Record
from cudaswitch.sources.components import chosen
from cudaswitch.versions import Version

FIRST = 12
"""The first CUDA that comes in many packages."""
META = "cuda-toolkit"
"""The package whose versions are the releases."""

_EMPTY = frozenset(("cuda", META, "cuda-version"))
"""Packages that only require others."""
_SYSTEMS = {
    "linux-64": ("__linux", "__unix"),
    "linux-aarch64": ("__linux", "__unix"),
    "win-64": ("__win",),
}
"""conda's virtual packages that describe a machine, by platform."""
_OTHERS = frozenset(("__linux", "__osx", "__unix", "__win"))


def pieces_of(
    release: Version, channel: Channel, components: str, platform: str, workdir: Path
) -> tuple[list[Record], list[Record]]:
    """Return the packages of that release that make up the components, and its other packages.

    Raises SourceError if rattler is not installed or finds no solution, or if the channel's
    packages do not say which release they belong to.
    """
    records = {(record.folder, record.file): record for record in channel.everything}
    solved = _solved(release, channel, records, platform, workdir)
    _refuse_mixed(release, channel, solved.values())
    offered = {named_component(name) or "" for name in solved} & PIECES
    if not offered and META in solved:
        # A private channel may have the whole toolkit in the package of that name.
        return [solved[META]], []
    wanted = chosen(components, offered, f"CUDA {release}")
    todo = [name for name in solved if named_component(name) in wanted]
    needed: dict[str, Record] = {}
    while todo:
        name = todo.pop()
        if name in needed or name in _EMPTY or name not in solved:
            continue
        needed[name] = solved[name]
        todo += map(_name, solved[name].depends)
    if not needed:
        raise SourceError(f"CUDA {release} in `{redact(channel.name)}` has no {components}")
    rest = solved.keys() - needed.keys()
    return [needed[name] for name in sorted(needed)], [solved[name] for name in sorted(rest)]


def _solved(
    release: Version,
    channel: Channel,
    records: Mapping[tuple[str, str], Record],
    platform: str,
    workdir: Path,
) -> dict[str, Record]:
    """Return the packages of the solution by their names."""
    try:
        import asyncio  # noqa: PLC0415  # large, and only needed here

        import rattler  # noqa: PLC0415  # an extra, and large
    except ImportError:
        raise SourceError(
            f"CUDA {release} comes in many packages there, and choosing them requires py-rattler",
            "pip install 'cudaswitch[conda]', or try --from nvidia",
        ) from None
    with tempfile.TemporaryDirectory(prefix="solve-", dir=workdir) as folder:
        indexes = []
        for subdir in (platform, "noarch"):
            path = Path(folder) / f"{subdir}.json"
            path.write_text(json.dumps(_index(records.values(), channel, subdir)))
            at = rattler.Channel(Path(folder).as_uri())
            indexes.append(rattler.SparseRepoData(at, subdir, path))
        zero = rattler.Version("0"), rattler.package.BuildString("0")
        machine = [
            rattler.GenericVirtualPackage(rattler.PackageName(name), *zero)
            for name in _SYSTEMS[platform]
        ]
        try:
            solution = asyncio.run(
                rattler.solve_with_sparse_repodata(
                    [f"{META} =={release}"], indexes, virtual_packages=machine
                )
            )
        except Exception as error:  # rattler's errors have no common base class
            why = " ".join(str(error).split())[:300]
            raise SourceError(
                f"`{redact(channel.name)}` has an incomplete CUDA {release}: {why}",
                "use another channel with --channel, or another source with --from",
            ) from None
    found = {}
    for each in solution:
        record = records[f"{channel.url}/{each.subdir}", each.file_name]
        found[record.name] = record
    return found


def _index(records: Iterable[Record], channel: Channel, subdir: str) -> dict[str, Any]:
    """Return an index of these records, with no requirements but CUDA's own and the system's."""
    sections: dict[str, dict[str, Any]] = {"packages": {}, "packages.conda": {}}
    for record in records:
        if record.folder != f"{channel.url}/{subdir}":
            continue
        section = "packages.conda" if record.file.endswith(".conda") else "packages"
        sections[section][record.file] = {
            "name": record.name,
            "version": str(record.version),
            "build": record.build,
            "build_number": record.rank[1],
            "depends": [one for one in record.depends if _counts(_name(one))],
            "subdir": subdir,
        }
    return {"info": {"subdir": subdir}, **sections, "repodata_version": 1}


def _counts(name: str) -> bool:
    return name in _OTHERS or is_cuda(name)


def _name(dependency: str) -> str:
    words = dependency.split()
    return words[0].rpartition("::")[2] if words else ""


def _refuse_mixed(release: Version, channel: Channel, solved: Iterable[Record]) -> None:
    """Refuse what a channel with loose requirements gives: each piece from its newest release."""
    for record in solved:
        if named_component(record.name) not in CUDA_NUMBERED:
            continue
        if not record.version.starts_with(Version(release.minor)):
            raise SourceError(
                f"`{redact(channel.name)}` would mix CUDA {release} with {record.name}"
                f" {record.version}",
                f"use a channel for just that release: --channel nvidia/label/cuda-{release}",
            )
