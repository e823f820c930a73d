"""Choosing components of a toolkit, with the same names for every source."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cudaswitch.archives.components import PIECES
from cudaswitch.errors import RequestError, nearest

_MINIMAL = ("nvcc", "crt", "nvvm", "cudart", "cccl", "culibos")
_LIBRARIES = ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvjitlink", "nvrtc", "nvtx")
SETS: Mapping[str, tuple[str, ...]] = {
    "minimal": _MINIMAL,
    "build": (*_MINIMAL, *_LIBRARIES, "cupti", "profiler"),
}
"""Named choices, in the words of `cuda-toolkit`'s extras on PyPI."""
FULL = "full"
_WITH: Mapping[str, tuple[str, ...]] = {"nvcc": ("crt", "nvvm")}
"""What a component does not work without: up to 12 in one archive with it, then on its own."""


def refuse_unknown(components: str) -> None:
    """Raise RequestError for a component that no source has; no release is looked at for that."""
    known = {*SETS, FULL, *PIECES}
    names = {name.strip() for name in components.split(",")}
    if unknown := sorted(names - known):
        raise RequestError(
            f"unknown component `{'`, `'.join(unknown)}`",
            _instead(unknown[0], sorted(known)),
        )


def _instead(name: str, known: list[str]) -> str:
    near, there = nearest(name, known), ", ".join(known)
    return f"did you mean `{near}`? Components: {there}" if near else f"choose from {there}"


def chosen(components: str, offered: Collection[str], release: str) -> set[str]:
    """Return the names among `offered` that `components` stands for.

    That is `minimal`, `build`, `full` or names with commas; `release` is for messages. A
    named set takes what the release has; single names must all be there, or RequestError
    is raised. `nvcc` brings the packages that it does not compile without.
    """
    if components == FULL:
        return set(offered)
    if named := SETS.get(components):
        return set(named) & set(offered)
    names = {name.strip() for name in components.split(",")}
    if unknown := sorted(names - set(offered)):
        raise RequestError(
            f"{release} has no component `{'`, `'.join(unknown)}`",
            # PyPI's `all` is our `full`.
            _instead(unknown[0], [*SETS, FULL, *sorted({*offered} - {"all"})]),
        )
    return names | {part for name in names for part in _WITH.get(name, ()) if part in offered}
