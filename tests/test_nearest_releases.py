"""What a source has instead of a release: the nearest few, and what it knows offline."""

from __future__ import annotations

import pytest

from checks import refused
from cudaswitch.sources import pypi
from cudaswitch.sources.choosing import instead
from cudaswitch.versions import Version, parse_request
from homes import Home

MANY = [Version(f"{major}.{minor}.{patch}") for major in (11, 12, 13)
        for minor in range(6) for patch in range(3)]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("13.0.99", "13.0.2, 13.0.1, 13.0.0, 13.1.2, 13.1.1"),
        ("99", "13.5.2, 13.5.1, 13.5.0, 13.4.2, 13.4.1"),
        ("99.1", "13.5.2, 13.5.1, 13.5.0, 13.4.2, 13.4.1"),
        ("12.9", "12.5.2, 12.5.1, 12.5.0, 12.4.2, 12.4.1"),
        (">13.5,<14", "13.5.2, 13.5.1, 13.5.0, 13.4.2, 13.4.1"),
        ("latest", "13.5.2, 13.5.1, 13.5.0, 13.4.2, 13.4.1"),
    ],
)
def test_the_nearest_are_named(asked: str, nearest: str) -> None:
    said = instead(parse_request(asked), MANY)
    assert said == f"the closest are {nearest}; cudaswitch search lists all"


def test_few_are_all_named() -> None:
    assert instead(parse_request("99"), MANY[:2]) == "available: 11.0.1, 11.0.0"
    assert instead(parse_request("99"), []) is None


@pytest.mark.parametrize("source", ["nvidia", "runfile"])
def test_a_hint_is_a_line(home: Home, source: str) -> None:
    """Sources that know their releases offline name the closest ones, in one line."""
    done = home.run("install", "99", "--from", source, "--offline")
    refused(done, "CUDA 99", hint="hint: the closest are 1")
    hint = done.stderr.splitlines()[1]
    assert len(hint) < 100
    assert hint.endswith("; cudaswitch search lists all")
    assert ("is known offline" in done.stderr) is (source == "nvidia")


def test_offline_a_source_is_not_said_to_have_none() -> None:
    with pytest.raises(pypi.SourceError, match="no CUDA 9 from PyPI is known offline"):
        pypi.choose_release(parse_request("9"), MANY, offline=True)
