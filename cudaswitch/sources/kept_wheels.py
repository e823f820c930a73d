"""Wheels that pip has downloaded, kept in the download cache by content, and found by name.

pip does not reveal where a wheel came from, so its name stands in for a URL in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from cudaswitch.download.cache import Cache, unusable
from cudaswitch.durable import make_link
from cudaswitch.errors import StoreError
from cudaswitch.paths import cache
from cudaswitch.sources.wheel_tags import runs_on

_URL = "pypi:"


def keep(wheel: Path) -> str:
    """Move a wheel into the cache, leaving a link in its place; return its sha256.

    Raises StoreError where the cache cannot be written.
    """
    try:
        return Cache(cache()).keep(wheel, f"{_URL}{wheel.name}")
    except OSError as error:
        raise unusable(cache(), error) from None


def kept_versions(project: str, platform: str) -> list[str]:
    """Return the versions of a project's wheels for a platform that are kept."""
    return [str(version) for version, _, _ in _wheels(project, platform)]


def kept(project: str, versions: SpecifierSet, platform: str, folder: Path) -> Path | None:
    """Return the newest kept wheel of a project that fits, as a link with its name in `folder`."""
    store = Cache(cache())
    for version, name, sha256 in sorted(_wheels(project, platform), reverse=True):
        if versions.contains(version, prereleases=True) and (path := store.find(sha256)):
            link = folder / name
            try:
                make_link(link, path.absolute())
            except OSError as error:
                raise StoreError(f"cannot write `{link}`: {error.strerror}") from None
            return link
    return None


def _wheels(project: str, platform: str) -> Iterator[tuple[Version, str, str]]:
    for name, sha256 in Cache(cache()).names(_URL).items():
        try:
            found, version, _, tags = parse_wheel_filename(name)
        except InvalidWheelFilename:
            continue
        if found == project and runs_on(tags, platform):
            yield version, name, sha256
