"""CUDA 11.8 and later from PyPI, through pip: all pieces of exactly one release.

Releases before 13.0.1 are only for running: PyPI has all of them but nvcc (`nvidia-cuda-nvcc-cu12`
has only ptxas and libdevice, and the nvcc of 13.0.0 lacks what it links with).

NVIDIA's `cuda-toolkit` says for each release which version of which piece belongs to it. Left
to itself, pip mixes releases: the wheels' own requirements name no versions, and nvcc 13.0
with a newer nvvm cannot compile. So we read that list and ask for just these versions, without
requirements.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from email import message_from_string
from pathlib import Path
from threading import Event
from typing import Any

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from cudaswitch.download.cache import file_sha256
from cudaswitch.download.several import WantedFile, at_once
from cudaswitch.download.urls import local_path, redact
from cudaswitch.errors import SourceError, brief
from cudaswitch.install import Artifact
from cudaswitch.platforms import current_platform
from cudaswitch.sources import Chosen, Delivery, Listed, Sought
from cudaswitch.sources.choosing import instead
from cudaswitch.sources.components import chosen
from cudaswitch.sources.kept_wheels import keep, kept, kept_versions
from cudaswitch.sources.pip_process import run_pip
from cudaswitch.sources.wheel_tags import markers_and_tags, tags_of
from cudaswitch.talk import say
from cudaswitch.versions import Request, Version

_FIRST_NVCC = Version("13.0.1")
"""The first CUDA whose wheels hold an nvcc that works: those of 11 and 12 have only what it calls;
those of 13.0.0 have no `bin/crt/link.stub`, and cicc where nvcc does not look for it."""

_CUDNN_FOR = (13, 12, 11)
"""The CUDA majors that cuDNN has wheels for."""
_META = "cuda-toolkit"
_META_LIMIT = 4 << 20
_OFFERED = re.compile(r"^Available versions: (.*)$", re.MULTILINE)
_RELEASE = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)(?:\.0)?|[0-9]+(?:\.[0-9]+){1,4}", re.ASCII)


def obtain(
    request: Request, *, components: str, workdir: Path, platform: str, offline: bool
) -> Delivery:
    """Bring the newest release that satisfies `request`, and cuDNN if it asks for that.

    `components` is as for `components.chosen`. The wheels are in fresh folders in `workdir`.
    Says on stderr if there is no nvcc among them. Raises SourceError or RequestError.
    """
    release, pins = _pins(request, components, workdir, platform, offline)
    wheels = _download(pins, workdir, platform, offline)
    return Delivery(tuple(_artifact(wheel) for wheel in wheels), release)


def choose(
    request: Request, *, components: str, workdir: Path, platform: str, offline: bool
) -> Chosen:
    """Tell what `obtain` would bring, according to pip's own report, which has no sizes.

    pip downloads a wheel if its index keeps no metadata next to it.
    """
    release, pins = _pins(request, components, workdir, platform, offline)
    beside = _reported({_META: SpecifierSet(f"=={release}")}, workdir, platform, offline)
    return Chosen(_reported(pins, workdir, platform, offline), release, beside)


def _pins(
    request: Request, components: str, workdir: Path, platform: str, offline: bool
) -> tuple[Version, dict[str, SpecifierSet]]:
    release = choose_release(request, _offered(offline), offline=offline)
    if not _has_nvcc(release):
        say(f"no working nvcc: PyPI's first is in {_FIRST_NVCC}; for building use --from nvidia")
    [meta] = _download({_META: SpecifierSet(f"=={release}")}, workdir, platform, offline)
    pins = parse_pins(_metadata(meta), components, platform, f"CUDA {release}")
    if request.wanted_cudnn:
        pins |= _cudnn_pin(request.wanted_cudnn, release)
    return release, pins


def _reported(
    pins: Mapping[str, SpecifierSet], workdir: Path, platform: str, offline: bool
) -> tuple[WantedFile, ...]:
    """Ask pip which files it would install for the pins."""
    folder = Path(tempfile.mkdtemp(prefix="pypi-", dir=workdir))
    report = folder / "report.json"
    run_pip(
        [
            *("install", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:"),
            *(*tags_of(platform), "--target", str(folder), "--report", str(report)),
            *(f"{name}{versions}" for name, versions in pins.items()),
        ],
        f"{next(iter(pins)) if len(pins) == 1 else f'{len(pins)} packages'} for {platform}",
        offline=offline,
    )
    try:
        rows = json.loads(report.read_bytes())["install"]
        files = [
            (row["download_info"]["url"], row["download_info"]["archive_info"]) for row in rows
        ]
        found = tuple(WantedFile(redact(url), _hash_of(url, info), None) for url, info in files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SourceError("cannot read pip's report", "pip 23.1 or newer is needed") from None
    if len(found) != len(pins):
        raise SourceError(f"pip reports {len(found)} files for {len(pins)} packages")
    return found


def _hash_of(url: str, info: Mapping[str, Any]) -> str:
    """Return the sha256 that the index states; a folder of wheels states none."""
    known = info.get("hashes", {}).get("sha256")
    if isinstance(known, str):
        return known
    if not url.startswith("file:"):
        raise SourceError(
            f"pip's index does not state the sha256 of `{redact(url)}`", "lock from another index"
        )
    return file_sha256(local_path(url))


def obtain_cudnn(
    cudnn: str, cuda: Version, *, workdir: Path, platform: str, offline: bool
) -> Delivery:
    """Bring the newest cuDNN with the version prefix `cudnn` built for that CUDA (11 or later)."""
    wheels = _download(_cudnn_pin(cudnn, cuda), workdir, platform, offline)
    return Delivery(tuple(_artifact(wheel) for wheel in wheels))


def newest(request: Request, *, platform: str) -> Version:
    """Tell which release `obtain` would bring."""
    markers_and_tags(platform)
    return choose_release(request, _offered(False))


def newest_cudnn(cudnn: str, cuda: Version, *, platform: str) -> Version:
    """Tell which cuDNN `obtain_cudnn` would bring."""
    [(project, versions)] = _cudnn_pin(cudnn, cuda).items()
    for version in _versions(project, False, platform):
        if versions.contains(str(version)):
            return version
    raise SourceError(f"PyPI has no cuDNN {cudnn} for CUDA {cuda.major}")


def listed(sought: Sought, *, platform: str, offline: bool) -> list[Listed]:
    """List what matches `sought`; pip tells only versions."""
    asked = {"cuda": (_META,), "cudnn": tuple(f"nvidia-cudnn-cu{major}" for major in _CUDNN_FOR)}
    projects = [name for component in sought.components for name in asked[component]]
    answers = at_once(
        lambda name, stop: _try_versions(name, platform, offline, stop), projects, len(projects)
    )
    if all(isinstance(answer, SourceError) for answer in answers):
        raise next(answer for answer in answers if isinstance(answer, SourceError))
    found = []
    for name, answer in zip(projects, answers, strict=True):
        if isinstance(answer, SourceError):
            continue
        for version in answer:
            if name == _META:
                found.append(_listed("cuda", version, version.minor, platform))
            else:
                found.append(_listed("cudnn", version, name[-2:], platform))
    return list(filter(sought.wants, found))


def _listed(component: str, version: Version, cuda: str, platform: str) -> Listed:
    has_nvcc = _has_nvcc(version) if component == "cuda" else None
    return Listed(component, version, cuda, platform, "pypi", has_nvcc=has_nvcc)


def _try_versions(
    project: str, platform: str, offline: bool, stop: Event
) -> list[Version] | SourceError:
    """Return the versions, or why there are none: a platform without wheels is no failure."""
    try:
        return _versions(project, offline, platform, stop)
    except SourceError as error:
        return error


def _cudnn_pin(cudnn: str, cuda: Version) -> dict[str, SpecifierSet]:
    return {f"nvidia-cudnn-cu{cuda.major}": SpecifierSet(f"=={Version(cudnn)}.*")}


def _artifact(wheel: Path) -> Artifact:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    return Artifact(wheel, f"pypi:{name}=={version}", "pypi")


def _offered(offline: bool) -> list[Version]:
    return _versions(_META, offline, current_platform())


def _versions(
    project: str, offline: bool, platform: str, stop: Event | None = None
) -> list[Version]:
    search = ["index", "versions", "--only-binary=:all:", *tags_of(platform), project]
    what = "the list of CUDA releases" if project == _META else f"the versions of {project}"
    texts = kept_versions(project, platform) if offline else []
    try:
        found = _OFFERED.search(run_pip(search, what, offline=offline, stop=stop))
    except SourceError:
        if not texts:
            raise
    else:
        texts += found[1].split(", ") if found else []
    return sorted({release for text in texts if (release := nvidia_release(text))}, reverse=True)


def nvidia_release(text: str) -> Version | None:
    """Read a version of `cuda-toolkit` as NVIDIA's release: 13.0.3.0 is 13.0.3."""
    match = _RELEASE.fullmatch(text.strip())
    return Version(match[1] or match[0]) if match else None


def _has_nvcc(release: Version) -> bool:
    return release >= _FIRST_NVCC


def choose_release(
    request: Request, offered: Sequence[Version], *, offline: bool = False
) -> Version:
    """Return the newest of the offered releases that satisfies the request."""
    fitting = list(filter(request.accepts, offered))
    if fitting:
        return max(fitting)
    said = f"no CUDA {request.text} from PyPI is known offline"
    if not offline:
        said = f"PyPI has no CUDA {request.text}"
    raise SourceError(f"{said}{request.asked}", instead(request, offered))


def parse_pins(
    metadata: str, components: str, platform: str, release: str
) -> dict[str, SpecifierSet]:
    """Read which wheels make the components, each with the versions of this one release.

    `metadata` is that of `cuda-toolkit`; `release` names it in messages. A requirement
    without an upper bound is narrowed to the X.Y of its lower bound.
    Raises RequestError for an unknown component, SourceError for metadata of another kind.
    """
    headers = message_from_string(metadata)
    offered = set(map(str, headers.get_all("Provides-Extra", [])))
    wanted = chosen(components, offered, release)
    markers, _ = markers_and_tags(platform)
    pins: dict[str, SpecifierSet] = {}
    for text in map(str, headers.get_all("Requires-Dist", [])):
        requirement = _requirement(text, release)
        if any(_applies(requirement, {**markers, "extra": extra}) for extra in wanted):
            name = canonicalize_name(requirement.name)
            pins[name] = pins.get(name, SpecifierSet()) & _pinned(requirement, release)
    if not pins:
        raise SourceError(f"{release} has none of `{components}` for {platform}")
    return pins


def _requirement(text: str, release: str) -> Requirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise SourceError(f"cannot tell what {release} consists of: `{brief(text)}`") from None
    if requirement.url is not None:
        raise SourceError(f"{release} names a URL instead of a version of {requirement.name}")
    return requirement


def _applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    try:
        return requirement.marker is None or requirement.marker.evaluate(environment)
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False


def _pinned(requirement: Requirement, release: str) -> SpecifierSet:
    pins = {spec.operator: spec.version for spec in requirement.specifier}
    if "==" in pins:
        return requirement.specifier
    if ">=" not in pins:
        raise SourceError(f"{release} does not say which {requirement.name} belongs to it")
    return requirement.specifier & SpecifierSet(f"=={Version(pins['>=']).minor}.*")


def _metadata(wheel: Path) -> str:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".dist-info/METADATA"):
                    with archive.open(name) as file:
                        return file.read(_META_LIMIT).decode()
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise SourceError(f"pip delivered a damaged `{wheel.name}`: {error}") from None
    raise SourceError(f"pip delivered `{wheel.name}`, which has no METADATA")


def _download(
    pins: Mapping[str, SpecifierSet], workdir: Path, platform: str, offline: bool
) -> list[Path]:
    """Let pip download exactly these wheels, check that it did, and keep them in the cache.

    Offline, wheels kept earlier are taken, and only the rest is looked for in pip's folders.
    """
    found: dict[str, Path] = {}
    if offline:
        folder = Path(tempfile.mkdtemp(prefix="kept-", dir=workdir))
        for name, versions in pins.items():
            if wheel := kept(name, versions, platform, folder):
                found[name] = wheel
    missing = {name: versions for name, versions in pins.items() if name not in found}
    if missing:
        found |= _brought(missing, workdir, platform, offline)
    if not offline:
        for wheel in found.values():
            keep(wheel)
    return [found[name] for name in pins]


def _brought(
    pins: Mapping[str, SpecifierSet], workdir: Path, platform: str, offline: bool
) -> dict[str, Path]:
    folder = Path(tempfile.mkdtemp(prefix="pypi-", dir=workdir))
    wanted = [f"{name}{versions}" for name, versions in pins.items()]
    more = f" and {len(wanted) - 1} more for {platform}" if wanted[1:] else ""
    run_pip(
        [
            *("download", "--no-deps", "--only-binary=:all:", *tags_of(platform)),
            *("--dest", str(folder), *wanted),
        ],
        wanted[0] + more,
        offline=offline,
        show=sys.stderr.isatty(),
    )
    return _checked(folder, pins)


def _checked(folder: Path, pins: Mapping[str, SpecifierSet]) -> dict[str, Path]:
    """Return the wheels by project; raises SourceError unless they are exactly those pinned."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        try:
            name, version, _, _ = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            raise SourceError(f"pip delivered `{path.name}`, which is not a wheel") from None
        if name in found or not pins.get(name, SpecifierSet("<0")).contains(
            str(version), prereleases=True
        ):
            raise SourceError(f"pip delivered `{path.name}`, which was not requested")
        found[name] = path
    if missing := sorted(set(pins) - set(found)):
        raise SourceError(f"pip did not deliver {', '.join(missing)}")
    return found
