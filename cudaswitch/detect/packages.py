"""What is installed in an environment: distributions and conda records, by name alone."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cudaswitch.detect.reading import Reading
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver.releases import release_of
from cudaswitch.sites import base_in, minor_of, python_in, read_by, sites_of, user_sites
from cudaswitch.versions import Version

_SEPARATORS = re.compile(r"[-_.]+")
_RECORDS = ("-info", ".egg-link", ".egg")


class Dist(NamedTuple):
    """A Python distribution; `folder` is its dist-info or egg-info in the site-packages `site`.

    An egg is a `site` of its own; after `setup.py develop`, the folder is the `.egg-link` file.
    A tuple, as there can be thousands, and only a few are looked at.
    """

    name: str
    version: str
    folder: str
    site: Path

    @property
    def record(self) -> Path:
        return self.site / self.folder


class PrefixRecord(NamedTuple):
    """A conda package: `path` is its file in conda-meta."""

    name: str
    version: str
    build: str
    path: Path


def normalised(name: str) -> str:
    """Spell a distribution's name as indexes do: nvidia_cudnn_cu12 is nvidia-cudnn-cu12.

    The rule is that of PEP 503; `packaging`, which has it too, takes long to load.
    """
    return _SEPARATORS.sub("-", name).lower()


class Site(NamedTuple):
    """A site-packages: the distributions of interest, and the names of all that is in it."""

    path: Path
    dists: tuple[Dist, ...]
    names: frozenset[str]


class Layer(NamedTuple):
    """What one prefix holds. A virtualenv that sees its base's packages is two layers."""

    sites: tuple[Site, ...]
    records: tuple[PrefixRecord, ...]


def layers(prefix: Path, reading: Reading, starts: tuple[str, ...]) -> list[Layer]:
    """List what an environment's Python can import, the layer that wins first.

    Only distributions whose normalised names begin with one of `starts` are listed.
    """
    config, records = reading.text(prefix / "pyvenv.cfg") or "", conda_records(prefix, reading)
    own, base = _read_there(prefix, config, records), base_in(config)
    user = [Path(site) for site in user_sites(own, os.environ)]
    # Python puts the user's site-packages before those of its own prefix, but after a
    # virtualenv's; a virtualenv that does not see its base does not see the user's either.
    places: list[tuple[list[PrefixRecord], list[Path]]] = [(records, own)]
    if base:
        below = [Path(site) for site in base.sites()]
        places += [([], user), (conda_records(Path(base.prefix), reading), below)]
    elif os.path.isdir(prefix / "conda-meta"):
        places = [([], user), *places]
    return [
        Layer(tuple(_contents(site, reading, starts) for site in sites), tuple(those))
        for those, sites in places
    ]


def _read_there(prefix: Path, config: str, records: list[PrefixRecord]) -> list[Path]:
    """List the site-packages that the Python of a prefix reads; all, if its version is not known.

    An upgrade of Python leaves those of the old version behind.
    """
    named = [python_in(config), *(minor_of(it.version) for it in records if it.name == "python")]
    sites, pythons = [Path(site) for site in sites_of(prefix)], list(filter(None, named))
    return [site for site in sites if any(read_by(it, site) for it in pythons)] or sites


def _contents(site: Path, reading: Reading, starts: tuple[str, ...]) -> Site:
    names = reading.names(site)
    dists = []
    for entry in names:
        if not entry.endswith(_RECORDS):
            continue
        # Only a handful of a thousand distributions matter: this alone rules out the others.
        if not entry.lower().replace("_", "-").replace(".", "-").startswith(starts):
            continue
        stem, dot, kind = entry.rpartition(".")
        name, dash, version = stem.partition("-")
        if kind == "egg-link":
            dists.append(Dist(normalised(stem), "", entry, site))
        elif dot and kind in ("dist-info", "egg-info", "egg") and dash and name:
            # egg-info names end with the Python they are for: torch-1.7.1-py3.8.egg-info
            release = version if kind == "dist-info" else version.partition("-py")[0]
            # An egg is a site-packages of its own.
            place = ("EGG-INFO", site / entry) if kind == "egg" else (entry, site)
            dists.append(Dist(normalised(name), release, *place))
    return Site(site, tuple(sorted(dists, key=lambda dist: dist.folder)), frozenset(names))


def conda_records(prefix: Path, reading: Reading) -> list[PrefixRecord]:
    """List the packages that conda installed, by name, from the names of their records."""
    records = []
    for entry in sorted(reading.names(prefix / "conda-meta")):
        stem, dot, kind = entry.rpartition(".")
        name, version, build = stem.rsplit("-", 2) if stem.count("-") >= 2 else ("", "", "")
        if dot and kind == "json" and name:
            records.append(PrefixRecord(name, version, build, prefix / "conda-meta" / entry))
    return records


def newest_of(records: list[PrefixRecord], reading: Reading) -> list[PrefixRecord]:
    """Return one record of each package, the newest, and note the others.

    Installers that were interrupted leave records of a release that is no longer there.
    """
    best: dict[str, PrefixRecord] = {}
    for record in sorted(records, key=lambda it: release_of(it.version) or Version("0")):
        best[record.name] = record
    for record in records:
        if (kept := best[record.name]) != record:
            text = f"is a second record of {record.name}, beside {kept.path.name}"
            reading.note(text, record.path)
    return list(best.values())
