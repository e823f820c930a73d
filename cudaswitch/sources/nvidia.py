"""CUDA 11.4.2 and later, and cuDNN, from NVIDIA's redist index: component archives.

The folder `<base>/cuda/redist/` (or `cudnn`) has an index for each release, and below it
the archives. CUDASWITCH_NVIDIA_URL names another base, such as a mirror or `file:///...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

from cudaswitch import settings
from cudaswitch.archives.components import PIECES, named_component
from cudaswitch.compat.redist import FIRST_TOOLKIT, known_releases
from cudaswitch.download.cache import discard
from cudaswitch.download.fetching import fetch
from cudaswitch.download.pages import read_page
from cudaswitch.download.several import WantedFile, at_once
from cudaswitch.download.urls import local_path, redact
from cudaswitch.errors import NotFoundError, RequestError, SourceError
from cudaswitch.paths import cache
from cudaswitch.sources import Chosen, Delivery, Listed, Sought
from cudaswitch.sources.bringing import bring
from cudaswitch.sources.choosing import instead
from cudaswitch.sources.components import chosen
from cudaswitch.sources.licences import tell_once
from cudaswitch.sources.redist import FOLDERS, LIMIT, Index, Offer, read_index
from cudaswitch.versions import Request, Version

BASE = "https://developer.download.nvidia.com/compute"
_LISTED = re.compile(r"redistrib_([0-9]{1,9}(?:\.[0-9]{1,9}){0,4})\.json", re.ASCII)
_LISTING_LIMIT = 4 << 20
_AT_ONCE = 8
"""Indexes that are fetched at a time; they are small, and there are many."""


def available(*, offline: bool) -> list[Version]:
    """List the CUDA releases that can be obtained, newest first."""
    return [release for release in _releases("cuda", offline) if release >= FIRST_TOOLKIT]


def obtain(
    request: Request, *, components: str, workdir: Path, platform: str, offline: bool
) -> Delivery:
    """Bring the newest release that satisfies `request`, and cuDNN if it asks for that.

    Each archive is, under its own name, in a fresh folder in `workdir`.
    Raises SourceError or RequestError.
    """
    offers, release = _offers(request, components, platform, offline)
    return _bring(offers, release, workdir, offline)


def choose(
    request: Request, *, components: str, workdir: Path, platform: str, offline: bool
) -> Chosen:
    """Tell what `obtain` would bring; `components` is as for `components.chosen`."""
    offers, release = _offers(request, components, platform, offline)
    return Chosen(_wanted(offers), release)


def _offers(
    request: Request, components: str, platform: str, offline: bool
) -> tuple[list[Offer], Version]:
    _require(platform)
    index = _newest(request, offline)
    major = index.release.major
    pieces = _toolkit(index, platform)
    names = chosen(components, pieces.keys(), f"CUDA {index.release}")
    offers = [index.offer(at, platform, major) for name in sorted(names) for at in pieces[name]]
    if not offers:
        raise SourceError(f"NVIDIA's CUDA {index.release} has no {components} for {platform}")
    if request.wanted_cudnn:
        offers.append(_cudnn(request.wanted_cudnn, index.release, platform, offline)[1])
    return offers, index.release


def obtain_cudnn(
    cudnn: str, cuda: Version, *, workdir: Path, platform: str, offline: bool
) -> Delivery:
    """Bring the newest cuDNN with the version prefix `cudnn` that was built for that CUDA."""
    _require(platform)
    return _bring([_cudnn(cudnn, cuda, platform, offline)[1]], None, workdir, offline)


def _bring(
    offers: Sequence[Offer], release: Version | None, workdir: Path, offline: bool
) -> Delivery:
    found = Chosen(_wanted(offers), release)
    delivery = bring(found, "nvidia", workdir=workdir, offline=offline)
    # Not before: a licence is accepted only for what has arrived.
    for offer in offers:
        tell_once(offer.licence, offer.licence_url)
    return delivery


def newest(request: Request, *, platform: str) -> Version:
    """Tell which release `obtain` would bring."""
    _require(platform)
    return _newest(request, False).release


def newest_cudnn(cudnn: str, cuda: Version, *, platform: str) -> Version:
    """Tell which cuDNN `obtain_cudnn` would bring."""
    _require(platform)
    release, offer = _cudnn(cudnn, cuda, platform, False)
    return offer.version or release


def listed(sought: Sought, *, platform: str, offline: bool) -> list[Listed]:
    """List what matches `sought`, by the index of each release."""
    _require(platform)
    todo = [
        *(("cuda", at) for at in available(offline=offline) if sought.wants_toolkit(at)),
        *(("cudnn", at) for at in _releases("cudnn", offline) if sought.wants_cudnn(at)),
    ]
    found: list[Listed] = []
    missing: NotFoundError | None = None

    def one(each: tuple[str, Version], _stop: Event) -> list[Listed] | NotFoundError:
        try:
            return _indexed(*each, platform, offline)
        except NotFoundError as error:
            return error

    # The first one alone: if the server does not answer, that is said once and soon.
    for group in (todo[:1], todo[1:]):
        for answer in at_once(one, group, _AT_ONCE):
            if isinstance(answer, NotFoundError):
                missing = missing or answer
            else:
                found += answer
    if missing and not found:
        raise missing
    return list(filter(sought.wants, found))


def _indexed(product: str, release: Version, platform: str, offline: bool) -> list[Listed]:
    """List what the index of one release has: a toolkit, or cuDNN for each CUDA major."""
    index = _index(product, release, offline)
    if product == "cuda":
        pieces = _toolkit(index, platform)
        if not pieces:
            return []
        usual = chosen("build", pieces.keys(), f"CUDA {release}")
        offers = [index.offer(at, platform, release.major) for each in usual for at in pieces[each]]
        return [
            Listed(
                "cuda",
                release,
                release.minor,
                platform,
                "nvidia",
                size=sum(offer.size for offer in offers),
                has_nvcc="nvcc" in pieces,
                url=redact(index.url),
            )
        ]
    built = index.majors("cudnn", platform)
    offers = [index.offer("cudnn", platform, major) for major in built]
    return [
        Listed(
            "cudnn",
            offer.version or release,
            None if major is None else str(major),
            platform,
            "nvidia",
            size=offer.size,
            url=redact(offer.url),
            sha256=offer.sha256,
        )
        for major, offer in zip(built, offers, strict=True)
    ]


def _require(platform: str) -> None:
    if platform not in FOLDERS:
        raise RequestError(
            f"NVIDIA's index has no CUDA for `{platform}`", f"choose from {', '.join(FOLDERS)}"
        )


def _folder(product: str) -> str:
    base = settings.value("mirrors.nvidia") or BASE
    return f"{base.rstrip('/')}/{product}/redist/"


def _releases(product: str, offline: bool) -> list[Version]:
    """List a product's releases, newest first: those that the folder lists, else those known."""
    folder = _folder(product)
    listed: tuple[Version, ...] = ()
    if urlsplit(folder).scheme == "file":
        names = local_path(folder).glob("redistrib_*.json")
        listed = tuple(Version(found[1]) for path in names if (found := _LISTED.search(path.name)))
    elif not offline:
        try:
            page = read_page(folder, _LISTING_LIMIT)
        except SourceError:
            # Many servers do not list folders; fetching an index will show whether it exists.
            page = ""
        listed = tuple(Version(text) for text in dict.fromkeys(_LISTED.findall(page)))
    return sorted(listed or known_releases(product), reverse=True)


def _newest(request: Request, offline: bool) -> Index:
    offered = available(offline=offline)
    fitting = [release for release in offered if request.accepts(release)]
    if fitting:
        return next(_indexes("cuda", fitting, offline))
    if request.prefix and request.prefix < FIRST_TOOLKIT:
        raise SourceError(
            f"NVIDIA's index has no toolkit before CUDA {FIRST_TOOLKIT}, so no CUDA {request.text}"
            f"{request.asked}",
            "try --from runfile, or --from conda for its libraries alone",
        )
    said = f"no CUDA {request.text} of NVIDIA's index is known offline"
    if not offline:
        said = f"NVIDIA's index has no CUDA {request.text}"
    raise SourceError(f"{said}{request.asked}", instead(request, offered))


def _indexes(product: str, releases: list[Version], offline: bool) -> Iterator[Index]:
    """Yield the indexes that exist; raises NotFoundError for the first release if none does."""
    missing: NotFoundError | None = None
    found = False
    for release in releases:
        try:
            index = _index(product, release, offline)
        except NotFoundError as error:
            missing = missing or error
            continue
        found = True
        yield index
    if missing and not found:
        raise missing


def _index(product: str, release: Version, offline: bool) -> Index:
    url = f"{_folder(product)}redistrib_{release}.json"
    path = fetch(url, cache(), limit=LIMIT, offline=offline, show=False)
    try:
        return read_index(path.read_bytes(), product, release, url)
    except SourceError:
        discard(path, cache())
        raise


def _toolkit(index: Index, platform: str) -> dict[str, list[str]]:
    """List the index's pieces of a toolkit, by component; those of the driver do not count."""
    found: dict[str, list[str]] = {}
    for name in index.components:
        component = named_component(name)
        if component in PIECES and index.has(name, platform, index.release.major):
            found.setdefault(component, []).append(name)
    return found


def _cudnn(cudnn: str, cuda: Version, platform: str, offline: bool) -> tuple[Version, Offer]:
    """Find the newest cuDNN with that version prefix, built for that CUDA's major: its release
    and its archive.
    """
    prefix = Version(cudnn)
    # The index of release 8.9.7 has the archive 8.9.7.29, and people ask for either.
    fitting = [
        release
        for release in _releases("cudnn", offline)
        if release.starts_with(prefix) or prefix.starts_with(release)
    ]
    for index in _indexes("cudnn", fitting, offline):
        if index.has("cudnn", platform, cuda.major):
            offer = index.offer("cudnn", platform, cuda.major)
            if (offer.version or index.release).starts_with(prefix):
                return index.release, offer
    raise SourceError(
        f"NVIDIA's index has no cuDNN {cudnn} for CUDA {cuda.major} on {platform}",
        f"cudaswitch search cudnn {cudnn}",
    )


def _wanted(offers: Sequence[Offer]) -> tuple[WantedFile, ...]:
    return tuple(WantedFile(offer.url, offer.sha256, offer.size) for offer in offers)
