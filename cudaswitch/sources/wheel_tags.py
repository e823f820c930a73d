"""Platforms as pip sees them: the values of markers, and the tags of the wheels that run there."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from packaging.tags import Tag, sys_tags

from cudaswitch.errors import RequestError
from cudaswitch.platforms import current_platform


def _linux(machine: str) -> tuple[dict[str, str], tuple[str, ...]]:
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(39, 4, -1)]
    tags += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010", "manylinux1")]
    names = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
    return names | {"platform_machine": machine}, tuple(tags)


_WINDOWS = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"}
_PLATFORMS = {
    "linux-64": _linux("x86_64"),
    "linux-aarch64": _linux("aarch64"),
    "win-64": (_WINDOWS | {"platform_machine": "AMD64"}, ("win_amd64",)),
}


def markers_and_tags(name: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the values of markers on a platform, and the wheel tags that run there.

    Raises RequestError if PyPI has no CUDA for it.
    """
    if name not in _PLATFORMS:
        raise RequestError(f"PyPI has no CUDA for `{name}`", f"choose from {', '.join(_PLATFORMS)}")
    return _PLATFORMS[name]


def tags_of(platform: str) -> list[str]:
    """Return pip's options for a platform; none for this one, which pip knows best itself."""
    _, tags = markers_and_tags(platform)
    return [] if platform == current_platform() else [f"--platform={tag}" for tag in tags]


def runs_on(tags: Collection[Tag], platform: str) -> bool:
    """Tell whether a wheel of those tags is for a platform."""
    if platform == current_platform():
        return not _usable_here().isdisjoint(tags)
    _, platforms = markers_and_tags(platform)
    return any(tag.platform == "any" or tag.platform in platforms for tag in tags)


@cache
def _usable_here() -> frozenset[Tag]:
    return frozenset(sys_tags())
