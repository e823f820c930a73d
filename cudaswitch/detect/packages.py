"""What is installed in an environment: distributions and conda records, by name alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.detect.reading import Reading

_SEPARATORS = re.compile(r"[-_.]+")
_SITES = ("lib/python*/site-packages", "lib64/python*/site-packages", "Lib/site-packages")


@dataclass(frozen=True)
class Dist:
    """A Python distribution: `record` is its dist-info or egg-info, `site` the folder around."""

    name: str
    version: str
    record: Path
    site: Path


@dataclass(frozen=True)
class Record:
    """A conda package: `path` is its file in conda-meta."""

    name: str
    version: str
    build: str
    path: Path


def normalised(name: str) -> str:
    """Spell a distribution's name as indexes do: nvidia_cudnn_cu12 is nvidia-cudnn-cu12."""
    return _SEPARATORS.sub("-", name).lower()


def site_packages(prefix: Path) -> list[Path]:
    """List the site-packages of a prefix: any Python version, Linux and Windows layout."""
    found: dict[Path, Path] = {}
    for pattern in _SITES:
        for site in sorted(prefix.glob(pattern)):
            try:
                found.setdefault(site.resolve(), site)
            except (OSError, RuntimeError):
                continue  # a cycle of links: nothing can be in it
    return list(found.values())


def distributions(site: Path, reading: Reading) -> tuple[list[Dist], set[str]]:
    """List the distributions in a site-packages and the names of everything else in it."""
    dists, others = [], set()
    for entry in reading.names(site):
        stem, dot, kind = entry.name.rpartition(".")
        if not dot or kind not in ("dist-info", "egg-info"):
            others.add(entry.name)
            continue
        name, dash, version = stem.partition("-")
        if dash and name:
            # egg-info names end with the Python they are for: torch-1.7.1-py3.8.egg-info
            release = version.partition("-py")[0] if kind == "egg-info" else version
            dists.append(Dist(normalised(name), release, site / entry.name, site))
    return dists, others


def conda_records(prefix: Path, reading: Reading) -> list[Record]:
    """List the packages that conda installed, from the names of their records."""
    records = []
    for entry in reading.names(prefix / "conda-meta"):
        stem, dot, kind = entry.name.rpartition(".")
        name, version, build = stem.rsplit("-", 2) if stem.count("-") >= 2 else ("", "", "")
        if dot and kind == "json" and name:
            records.append(Record(name, version, build, prefix / "conda-meta" / entry.name))
    return records
