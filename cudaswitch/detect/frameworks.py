"""Find the frameworks of an environment and collect what its files claim of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cudaswitch.compat.frameworks import Field, Framework, Reader, frameworks
from cudaswitch.detect.packages import Dist, Record, normalised
from cudaswitch.detect.reading import Reading
from cudaswitch.resolver import Claim, FoundFramework

_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,4}", re.ASCII)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)(?:;(.*))?", re.ASCII)
_BOUND = re.compile(
    r"(===?|~=|>=|=)\s*(\d+(?:\.\d+){0,4})|(?:^|\s|\()(\d+(?:\.\d+){0,4})", re.ASCII
)


@dataclass(frozen=True)
class Place:
    """Where one framework was found: in a site-packages, as a conda record, or both."""

    framework: Framework
    site: Path | None
    dist: Dist | None
    record: Record | None

    @property
    def version(self) -> str:
        if self.dist:
            return self.dist.version
        return self.record.version if self.record else ""

    @property
    def name(self) -> str:
        if self.dist:
            return self.dist.name
        return self.record.name if self.record else self.framework.name


def places(
    sites: list[tuple[Path, list[Dist], set[str]]], records: list[Record]
) -> Iterator[Place]:
    """Match everything installed against the frameworks that are known."""
    by_name = {record.name: record for record in reversed(records)}
    for framework in frameworks().values():
        record = next((by_name[name] for name in framework.conda if name in by_name), None)
        seen = False
        for site, dists, others in sites:
            dist = _best_dist(framework, dists)
            folder = any(name in others for name in framework.folders)
            if dist or folder:
                seen = True
                yield Place(framework, site, dist, _same_release(record, dist))
        if record and not seen:
            yield Place(framework, None, None, record)


def _same_release(record: Record | None, dist: Dist | None) -> Record | None:
    """Drop conda's record when pip has put another version over it."""
    if record is None or dist is None:
        return record
    return record if dist.version.partition("+")[0] == record.version else None


@lru_cache
def _known() -> re.Pattern[str]:
    # One pattern for all names: an environment can have a thousand distributions.
    return re.compile("|".join(f"(?:{p})" for f in frameworks().values() for p in f.dists))


def _best_dist(framework: Framework, dists: list[Dist]) -> Dist | None:
    candidates = [dist for dist in dists if _known().fullmatch(dist.name)]
    for pattern in framework.dists:
        for dist in candidates:
            if re.fullmatch(pattern, dist.name):
                return dist
    return None


def inspect(place: Place, reading: Reading, os: str) -> FoundFramework | None:
    """Collect the claims on a framework; None when a bare folder turns out to hold nothing."""
    claims: list[Claim] = []
    for reader in place.framework.readers:
        claims += _claims(reader, list(_observe(reader, place, reading, os)))
    if not (claims or place.dist or place.record):
        return None
    return FoundFramework(
        name=place.framework.name,
        dist=place.name,
        version=place.version,
        origin="conda" if place.record else "pip",
        source=reading.name(_evidence(place)),
        claims=tuple(claims),
    )


def _evidence(place: Place) -> Path:
    if place.dist:
        return place.dist.record
    return place.record.path if place.record else place.site or Path()


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
        yield from (("", entry.name, reading.name(folder)) for entry in reading.names(folder))
    elif reader.read == "name" and place.dist:
        yield "", place.dist.name, source
    elif reader.read == "version" and place.version:
        yield "", place.version, source
    elif reader.read == "requires" and place.dist:
        yield from _requires(place.dist, reading, os)
    elif reader.read == "conda-build" and place.record:
        yield "", place.record.build, reading.name(place.record.path)
    elif reader.read == "conda-depends" and place.record:
        yield from _depends(place.record, reading)


def _requires(dist: Dist, reading: Reading, os: str) -> Iterator[tuple[str, str, str]]:
    for name in ("METADATA", "PKG-INFO"):
        path = dist.record / name
        for key, value in reading.metadata(path):
            match = _REQUIREMENT.match(value) if key == "requires-dist" else None
            # Wheels for all systems carry the requirements of all systems.
            if match and not (os == "win" and "linux" in (match[3] or "").lower()):
                yield normalised(match[1]), match[2], reading.name(path)


def _depends(record: Record, reading: Reading) -> Iterator[tuple[str, str, str]]:
    text = reading.json_values(record.path).get("depends")
    for entry in text if isinstance(text, list) else []:
        if isinstance(entry, str):
            name, _, spec = entry.strip().partition(" ")
            yield name, spec, reading.name(record.path)


def _claims(reader: Reader, seen: list[tuple[str, Any, str]]) -> Iterator[Claim]:
    """Hold what a reader saw against its fields; the fields' order is the order of trust."""
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
    """Turn a value that a file holds into what it claims, or None when it is nothing of use."""
    if rule.gives == "archs":
        return _archs(value)
    if rule.value is None and isinstance(value, bool) and rule.gives == "gpu":
        return "gpu" if value else "cpu"
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str):
        return None
    match = re.search(rule.match, value) if rule.match else None
    if rule.match and match is None:
        return None
    if rule.value is not None:
        return rule.value
    text = match[1] if match and match.groups() else value
    return _spelled(text, rule.form)


def _spelled(text: str, form: str) -> str | None:
    """Write a version as CUDA's maker does: 124 and 92 as digits are 12.4 and 9.2."""
    if form == "version":
        match = _NUMBER.match(text.strip())
        return match[0] if match else None
    if not (text.isascii() and text.isdigit() and 2 <= len(text) <= 4):
        return None
    if form == "dotted":
        return ".".join(text)
    if len(text) == 2 and text[0] == "1":
        return text  # a bare major: there was no CUDA 1.x to build a framework for
    return f"{text[:-1]}.{text[-1]}"


def _archs(value: Any) -> str | None:
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
    return " ".join(name for name in names if name.isascii() and " " not in name) or None


def _lower_bound(spec: Any) -> str | None:
    """Take the version from a requirement: the pinned one, else the lower bound."""
    found = list(_BOUND.finditer(str(spec)))
    pinned = [match[2] or match[3] for match in found if not match[1] or match[1].startswith("=")]
    lower = [match[2] for match in found if match[2]]
    return (pinned or lower or [None])[0]
