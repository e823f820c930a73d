"""Which source a version comes from if the user names none: a fixed order, without the network.

1. `pypi` for CUDA 13 and later: pip reaches it through the mirrors that people have set up.
2. `nvidia` for 11.4.2 and later: it has nvcc of each release.
3. `conda` for older ones: libraries, and cuDNN built for them. `runfile` has their nvcc too,
   but in files ten times as large, so it is used only if it is named.

A source that cannot be reached is not replaced by another one: the same command would bring
something else tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cudaswitch.compat.redist import FIRST_ON_PYPI, FIRST_TOOLKIT, known_releases
from cudaswitch.versions import Request, Version, is_version, range_part, spelling_hint

_USUAL = (
    ("pypi", FIRST_ON_PYPI, "it has nvcc for CUDA 13 and later"),
    ("nvidia", FIRST_TOOLKIT, f"it has nvcc for CUDA {FIRST_TOOLKIT} to 12"),
)
_OLDEST = (
    "conda",
    f"it has the libraries of CUDA before {FIRST_TOOLKIT}; for nvcc: --from runfile",
)

_FEW = 5
"""Releases that a hint names if there are many."""


def usual_source(request: Request) -> tuple[str, str]:
    """Return the name of the source for a request, and why that one.

    A range gets the first source with a known release that the range accepts; a request newer
    than all known releases gets the first of all.
    """
    least = _least(request)
    for name, first, why in _USUAL:
        known = (one for one in known_releases("cuda") if one >= first)
        if (least and least >= first) or any(map(request.accepts, known)):
            return name, why
    return _OLDEST


def _least(request: Request) -> Version | None:
    """Return the lower bound of a request; None if it has none."""
    bounds = filter(None, map(range_part, request.text.split(",")))
    lower = (bound for operator, bound in bounds if operator in (">=", ">", "=="))
    return request.prefix or max(lower, default=None)


def source_for(
    request: Request, named: str | None, channels: Sequence[str]
) -> tuple[str, str | None]:
    """Return the source of a request, and the reason to tell the user, unless they named it.

    Only conda has channels.
    """
    if named or channels:
        return named or "conda", None
    name, why = usual_source(request)
    return name, f"from {name}: {why}"


def instead(request: Request, there: Iterable[Version]) -> str | None:
    """Return a hint that names what a source has, or the nearest few; None if it has nothing.

    For `124`, the hint is 12.4.
    """
    bound = request.text.partition(",")[0].lstrip("<>=!")
    if meant := spelling_hint(bound):
        return meant
    newest = sorted(there, reverse=True)
    if len(newest) <= _FEW + 1:
        return f"available: {', '.join(map(str, newest))}" if newest else None
    if is_version(bound):
        newest.sort(key=lambda one: _distance(one, Version(bound)))
    named = ", ".join(map(str, newest[:_FEW]))
    return f"the closest are {named}; cudaswitch search lists all"


def _distance(one: Version, asked: Version) -> tuple[int, int]:
    """Return a sort key, nearest first: the first part that differs (negated), and how much."""
    for at, (have, want) in enumerate(zip(one.parts, asked.parts, strict=False)):
        if have != want:
            return -at, abs(have - want)
    return -len(asked.parts), 0
