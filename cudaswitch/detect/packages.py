"""What is installed in an environment: distributions and conda records, by name alone."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from cudaswitch.detect.reading import Reading

_SEPARATORS = re.compile(r"[-_.]+")
_SITES = (
    "lib/python*/site-packages",
    "lib64/python*/site-packages",
    "lib/pypy*/site-packages",
    "Lib/site-packages",
)
_DEBIAN_SITES = ("local/lib/python*/dist-packages", "lib/python3/dist-packages")


class Dist(NamedTuple):
    """A Python distribution; `folder` is its dist-info or egg-info in the site-packages `site`.

    A tuple, as there can be thousands and only a few are looked at.
    """

    name: str
    version: str
    folder: str
    site: Path

    @property
    def record(self) -> Path:
        return self.site / self.folder


class Record(NamedTuple):
    """A conda package: `path` is its file in conda-meta."""

    name: str
    version: str
    build: str
    path: Path


def normalised(name: str) -> str:
    """Spell a distribution's name as indexes do: nvidia_cudnn_cu12 is nvidia-cudnn-cu12."""
    return _SEPARATORS.sub("-", name).lower()


class Site(NamedTuple):
    """A site-packages: its distributions, and the names of everything else in it."""

    path: Path
    dists: tuple[Dist, ...]
    others: frozenset[str]


class Layer(NamedTuple):
    """What one prefix holds. A virtualenv that sees its base's packages is two layers."""

    sites: tuple[Site, ...]
    records: tuple[Record, ...]


def layers(prefix: Path, reading: Reading) -> list[Layer]:
    """List what an environment can import, the layer that wins first."""
    found = [Layer(_sites(prefix, _SITES, reading), tuple(conda_records(prefix, reading)))]
    base, python = _seen_base(prefix, reading)
    if base:
        patterns = _SITES + _DEBIAN_SITES
        sites = tuple(site for site in _sites(base, patterns, reading) if _reads(python, site.path))
        found.append(Layer(sites, tuple(conda_records(base, reading))))
    return found


def _sites(prefix: Path, patterns: tuple[str, ...], reading: Reading) -> tuple[Site, ...]:
    """List the site-packages of a prefix: any Python version, Linux and Windows layout."""
    found: dict[str, Path] = {}
    for pattern in patterns:
        for site in _matching(prefix, pattern):
            # A cycle of links is no folder; lib64 is often a link to lib.
            if os.path.isdir(site):  # noqa: PTH112 - it is a string
                found.setdefault(os.path.realpath(site), Path(site))
    return tuple(Site(site, *_contents(site, reading)) for site in found.values())


def _matching(prefix: Path, pattern: str) -> list[str]:
    """Match a path with at most one `*`, at the end of a name. Path.glob compiles patterns."""
    before, star, after = pattern.partition("*")
    if not star:
        return [f"{prefix}/{pattern}"]
    folder, _, start = f"{prefix}/{before}".rpartition("/")
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(start))  # noqa: PTH208
    except OSError:
        return []
    return [f"{folder}/{name}{after}" for name in names]


def _reads(python: str, site: Path) -> bool:
    """Tell whether Python X.Y reads a site-packages: its folder may say for which one it is."""
    version = site.parent.name.removeprefix("python").removeprefix("pypy")
    return "." not in version or not python or version == python


def _seen_base(prefix: Path, reading: Reading) -> tuple[Path | None, str]:
    """Find the prefix whose packages a virtualenv sees too, and for which Python."""
    text = reading.text(prefix / "pyvenv.cfg") or ""
    pairs = (line.partition("=") for line in text.splitlines())
    values = {key.strip().lower(): value.strip() for key, _, value in pairs}
    home = values.get("home", "")
    if values.get("include-system-site-packages", "").lower() != "true" or not home:
        return None, ""
    # venv and uv write `version_info` or `version`; both begin with X.Y.
    python = values.get("version_info") or values.get("version", "")
    folder = Path(home)
    base = folder.parent if folder.name in ("bin", "Scripts") else folder
    return base, ".".join(python.split(".")[:2])


def _contents(site: Path, reading: Reading) -> tuple[tuple[Dist, ...], frozenset[str]]:
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
            dists.append(Dist(normalised(name), release, entry.name, site))
    return tuple(dists), frozenset(others)


def conda_records(prefix: Path, reading: Reading) -> list[Record]:
    """List the packages that conda installed, from the names of their records."""
    records = []
    for entry in reading.names(prefix / "conda-meta"):
        stem, dot, kind = entry.name.rpartition(".")
        name, version, build = stem.rsplit("-", 2) if stem.count("-") >= 2 else ("", "", "")
        if dot and kind == "json" and name:
            records.append(Record(name, version, build, prefix / "conda-meta" / entry.name))
    return records
