"""Find the frameworks of an environment and collect what its files claim about each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cudaswitch.compat.frameworks import Field, Framework, Reader, frameworks
from cudaswitch.detect.linked import develop_install, files_of
from cudaswitch.detect.packages import Dist, Layer, PrefixRecord, newest_of, normalised
from cudaswitch.detect.reading import RECORD_LIMIT, Reading
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver import Carried, Claim, FoundFramework
from cudaswitch.resolver.releases import release_of
from cudaswitch.versions import Version

# Compiled where they are first used: most environments need one or two of them.
_NUMBER = r"(?a:\d{1,9}(?:\.\d{1,9}){0,4})"
_REQUIREMENT = r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)(?:;(.*))?"
_BOUND = r"(?a:(?<![<!])(===?|~=|>=|=)\s*(\d+(?:\.\d+){0,4})|^\s*\(?(\d+(?:\.\d+){0,4}))"


class Place(NamedTuple):
    """Where one framework was found: in a site-packages, in conda's records, or both.

    `records` come in the order in which the framework's data file names its packages.
    """

    framework: Framework
    site: Path | None
    dist: Dist | None
    records: tuple[PrefixRecord, ...]

    @property
    def version(self) -> str:
        if self.dist:
            return self.dist.version
        return self.records[0].version if self.records else ""

    @property
    def name(self) -> str:
        if self.dist:
            return self.dist.name
        return self.records[0].name if self.records else self.framework.name


def places(found: list[Layer], reading: Reading) -> Iterator[Place]:
    """Match everything installed against the frameworks that are known.

    A framework in a virtualenv hides the same one in the base whose packages it sees as well.
    """
    for framework in frameworks().values():
        for layer in found:
            mine = list(_in_layer(framework, layer, reading))
            if mine:
                yield from mine
                break


def _in_layer(framework: Framework, layer: Layer, reading: Reading) -> Iterator[Place]:
    mine = [record for record in layer.records if record.name in framework.conda]
    by_name = {record.name: record for record in newest_of(mine, reading)}
    records = tuple(by_name[name] for name in framework.conda if name in by_name)
    seen = False
    for site in layer.sites:
        dist = _best_dist(framework, site.dists, reading)
        if dist and dist.folder.endswith(".egg-link"):
            dist = develop_install(dist.record, reading)
        if dist or any(name in site.names for name in framework.folders):
            seen = True
            path = files_of(dist, reading) if dist else site.path
            yield Place(framework, path, dist, _of_dist(framework, records, dist, reading))
    if records and not seen:
        yield Place(framework, None, None, records)


def _of_dist(
    framework: Framework, records: tuple[PrefixRecord, ...], dist: Dist | None, reading: Reading
) -> tuple[PrefixRecord, ...]:
    """Drop conda's records if pip has put another version, or a build with CUDA, over them."""
    if dist is None or not records:
        return records
    version, local, _ = dist.version.partition("+")
    # Old conda packages also name pip as their installer, but have no local version.
    by_pip = (reading.text(dist.record / "INSTALLER") or "conda").strip() != "conda"
    # `pip install "jax[cuda12]"` adds plugins to conda's jaxlib of the same release.
    if by_pip and (local or _more_telling(framework, dist, records)):
        return ()
    # conda-forge's PyTorch has its build number after the release: 2.0.0.post200.
    named = ((it.version, f"{it.version}.post{it.build.rpartition('_')[2]}") for it in records)
    return records if any(version in names for names in named) else ()


def _more_telling(framework: Framework, dist: Dist, records: tuple[PrefixRecord, ...]) -> bool:
    """Tell whether a distribution's name says more than those of conda's packages do."""
    rank = framework.rank(dist.name)
    others = [framework.rank(it.name) for it in records]
    return all(rank is not None and other is not None and rank < other for other in others)


def _best_dist(framework: Framework, dists: tuple[Dist, ...], reading: Reading) -> Dist | None:
    """Take the distribution with the most telling name; of several records of it, the newest.

    Installers that were interrupted leave records of a release that is no longer there.
    """
    ranked = [(rank, dist) for dist in dists if (rank := framework.rank(dist.name)) is not None]
    if not ranked:
        return None
    top = min(rank for rank, _ in ranked)
    fits = [dist for rank, dist in ranked if rank == top]
    best = max(fits, key=lambda dist: release_of(dist.version) or Version("0"))
    for rank, other in ranked:
        text = _quarrel(framework, best, other, equal=rank == top) if other is not best else None
        if text:
            reading.note(text, other.record)
    return best


def _quarrel(framework: Framework, best: Dist, other: Dist, *, equal: bool) -> str | None:
    """Say why two distributions of one framework should not be side by side, or None."""
    if other.name == best.name:
        return f"is a second record of {best.name}, beside {best.folder}"
    if framework.one_only or equal:
        return f"is {other.name} beside {best.name}, which conflict: keep one"
    one, two = release_of(best.version), release_of(other.version)
    if framework.follows or one is None or two is None or one.parts[:3] == two.parts[:3]:
        return None
    return f"is {other.name} {other.version}, and {best.name} beside it is {best.version}"


def inspect(
    place: Place, reading: Reading, os: str, carried: list[Carried]
) -> FoundFramework | None:
    """Collect the claims about a framework; None when a bare folder turns out to hold nothing."""
    claims: list[Claim] = []
    for reader in place.framework.readers:
        claims += _claims(reader, list(_observe(reader, place, reading, os)))
    if not (claims or place.dist or place.records):
        return None
    if place.records and any(claim.gives in ("gpu", "cuda") for claim in claims):
        # conda's solver has put the CUDA that the framework was built for into the same prefix.
        claims += [
            Claim("cudnn" if it.component == "cudnn" else "cuda", release.text, it.source)
            for it in carried
            if it.kind == "conda"
            and it.component in ("cuda", "release", "cudnn")
            and (release := release_of(it.version))
        ]
    return FoundFramework(
        name=place.framework.name,
        dist=place.name,
        version=_version(place, claims, reading),
        origin="conda" if place.records else "pip",
        source=reading.name(_evidence(place)),
        claims=tuple(dict.fromkeys(claims)),
    )


def _version(place: Place, claims: list[Claim], reading: Reading) -> str:
    """Return the release: as recorded, unless the package's own file states another."""
    own = next((claim for claim in claims if claim.gives == "version"), None)
    recorded = release_of(place.version)
    if own is None or (recorded and recorded == release_of(own.value)):
        return place.version
    if place.version:
        text = f"is of release {place.version}, but the files are of {own.value}"
        reading.note(text, _evidence(place))
    return own.value


def _evidence(place: Place) -> Path:
    if place.dist:
        return place.dist.record
    return place.records[0].path if place.records else place.site or Path()


def _observe(
    reader: Reader, place: Place, reading: Reading, os: str
) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and source of everything a reader sees."""
    source = reading.name(_evidence(place))
    if reader.read in ("python", "json") and place.site:
        path = place.site / reader.file
        python = reader.read == "python"
        values = reading.python_values(path) if python else reading.json_values(path)
        yield from ((key, value, reading.name(path)) for key, value in values.items())
    elif reader.read == "listing" and place.site:
        folder = place.site / reader.folder
        yield from (("", name, reading.name(folder)) for name in sorted(reading.names(folder)))
    elif reader.read == "elf" and place.site:
        path = place.site / reader.file
        yield from (("", name, reading.name(path)) for name in reading.needed(path))
    elif reader.read == "name":
        if place.dist:
            yield "", place.dist.name, source
        yield from (("", record.name, reading.name(record.path)) for record in place.records)
    elif reader.read == "wheel" and place.dist:
        path = place.dist.record / "WHEEL"
        tags = (value for key, value in reading.metadata(path) if key == "tag")
        yield from (("", value, reading.name(path)) for value in tags)
    elif reader.read == "version" and place.version:
        yield "", place.version, source
    elif reader.read == "requires" and place.dist:
        yield from _requires(place.dist, reading, os)
    elif reader.read == "conda-build":
        yield from (("", record.build, reading.name(record.path)) for record in place.records)
    elif reader.read == "conda-depends":
        for record in place.records:
            yield from _depends(record, reading)


def _requires(dist: Dist, reading: Reading, os: str) -> Iterator[tuple[str, str, str]]:
    for name in ("METADATA", "PKG-INFO"):
        path = dist.record / name
        for key, value in reading.metadata(path):
            match = re.match(_REQUIREMENT, value) if key == "requires-dist" else None
            # Wheels for all systems carry the requirements of all systems.
            if match and not (os == "win" and "linux" in (match[3] or "").lower()):
                yield normalised(match[1]), match[2], reading.name(path)


def _depends(record: PrefixRecord, reading: Reading) -> Iterator[tuple[str, str, str]]:
    text = reading.json_values(record.path, RECORD_LIMIT).get("depends")
    for entry in text if isinstance(text, list) else []:
        if isinstance(entry, str):
            name, _, spec = entry.strip().partition(" ")
            yield name, spec, reading.name(record.path)


def _claims(reader: Reader, seen: list[tuple[str, Any, str]]) -> Iterator[Claim]:
    """Match what a reader saw against its fields; the fields' order is the order of trust."""
    bounds = reader.read in ("requires", "conda-depends")
    for rule in reader.fields:
        for key, value, source in seen:
            if rule.key and not re.fullmatch(rule.key, key):
                continue
            claim = _claim(rule, _lower_bound(value) if bounds else value)
            if claim is not None:
                yield Claim(rule.gives, claim, f"{source}: {key}" if key else source)
            elif value is None and rule.null_is_cpu:
                yield Claim("gpu", "cpu", f"{source}: {key} = None")


def _claim(rule: Field, value: Any) -> str | None:
    """Turn a value from a file into what it claims; None if it is of no use."""
    if rule.gives == "archs":
        return _archs(value)
    if rule.value is None and isinstance(value, bool) and rule.gives == "gpu":
        return "gpu" if value else "cpu"
    text = _matched(rule, str(value) if isinstance(value, bool | int | float) else value)
    if text is None or rule.value is not None:
        return text
    if rule.gives == "version":
        return text.strip() if text.isprintable() and release_of(text.strip()) else None
    return _spelled(text, rule.form)


def _matched(rule: Field, value: Any) -> str | None:
    """Return the part of a text that the rule asks for, or the value that the rule itself gives."""
    if not isinstance(value, str):
        return None
    match = re.search(rule.match, value) if rule.match else None
    if rule.match and match is None:
        return None
    if rule.value is not None:
        return rule.value
    return str(match[1]) if match and match.groups() else value


def _spelled(text: str, form: str) -> str | None:
    """Write a version as NVIDIA does: 124 and 92 as digits are 12.4 and 9.2."""
    if form == "version":
        match = re.match(_NUMBER, text.strip())
        return match[0] if match else None
    if not (text.isascii() and text.isdigit() and 2 <= len(text) <= 4):
        return None
    if form == "dotted":
        return ".".join(text)
    if form == "number":
        return f"{int(text) // 100}.{int(text) % 100}"
    if len(text) == 2 and text[0] == "1":
        return text  # a bare major: there was no CUDA 1.x to build a framework for
    return f"{text[:-1]}.{text[-1]}"


def _archs(value: Any) -> str | None:
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
    return " ".join(name for name in names if name.isascii() and " " not in name) or None


def _lower_bound(spec: Any) -> str | None:
    """Take the version from a requirement: the pinned one, else the lower bound."""
    found = list(re.finditer(_BOUND, str(spec)))
    pinned = [match[2] or match[3] for match in found if not match[1] or match[1].startswith("=")]
    lower = [match[2] for match in found if match[2]]
    return (pinned or lower or [None])[0]
