"""Which source a version is asked of where nobody names one: by a fixed order, without asking.

1. `pypi` for CUDA 13 and later: pip reaches it through the mirrors that people have set up.
2. `nvidia` for 11.4.2 and later: it has nvcc of each release.
3. `conda` for what is older: libraries, and cuDNN built for them. `runfile` has nvcc of these
   too, in files ten times as large, and so only where somebody names it.

A source that is not reached is not replaced by another one: the same command would bring
something else tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cudaswitch.compat.redist import FIRST_TOOLKIT, known_releases
from cudaswitch.versions import Request, Version, is_version, range_part, spelling_hint

_USUAL = (
    ("pypi", Version("13.0"), "it has nvcc for CUDA 13 and later"),
    ("nvidia", FIRST_TOOLKIT, f"it has nvcc for CUDA {FIRST_TOOLKIT} to 12"),
)
_OLDEST = (
    "conda",
    f"it has the libraries of CUDA before {FIRST_TOOLKIT}; for nvcc: --from runfile",
)

_FEW = 5
"""Releases that a hint names where there are many."""


def usual_source(request: Request) -> tuple[str, str]:
    """Return the name of the source for a request, and why that one.

    A range gets the first that has a known release which the range accepts; what is newer than
    all that is known gets the first of all.
    """
    least = _least(request)
    for name, first, why in _USUAL:
        known = (one for one in known_releases("cuda") if one >= first)
        if (least and least >= first) or any(map(request.accepts, known)):
            return name, why
    return _OLDEST


def _least(request: Request) -> Version | None:
    """Return the version that no answer to a request is older than, None where it names none."""
    bounds = filter(None, map(range_part, request.text.split(",")))
    lower = (bound for operator, bound in bounds if operator in (">=", ">", "=="))
    return request.prefix or max(lower, default=None)


def source_for(
    request: Request, named: str | None, channels: Sequence[str]
) -> tuple[str, str | None]:
    """Return the source of a request, and what is to be said of why where nobody has named it.

    Channels are conda's alone.
    """
    if named or channels:
        return named or "conda", None
    name, why = usual_source(request)
    return name, f"from {name}: {why}"


def instead(request: Request, there: Iterable[Version]) -> str | None:
    """Return the hint that names what a source has, the nearest few of many; None for nothing.

    For `124` it is 12.4.
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
    """Tell at which part of a version another one differs from it, counted from 0 down; how far."""
    for at, (have, want) in enumerate(zip(one.parts, asked.parts, strict=False)):
        if have != want:
            return -at, abs(have - want)
    return -len(asked.parts), 0
