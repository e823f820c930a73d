"""Which release a version means, as people, wheels and conda write it."""

from __future__ import annotations

import re

from cudaswitch.versions import Version

_RELEASE = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,4}(?!\d)", re.ASCII)


def release_of(version: str) -> Version | None:
    """Take the release out of a Python or conda version: 2.15.0.post1+local gives 2.15.0."""
    match = _RELEASE.match(version)
    return Version(match[0]) if match else None


def agree(one: Version, other: Version) -> bool:
    """Tell whether two statements can mean the same release: 10 and 10.1.243 can."""
    length = min(len(one.parts), len(other.parts), 2)
    return one.parts[:length] == other.parts[:length]
