"""What was meant by what nobody can read: the hint is the command, in words that work."""

from __future__ import annotations

import shlex

import pytest

from checks import refused
from cudaswitch.versions import parse_request
from homes import Home

RANGES = {
    **dict.fromkeys(("12.4-12.6", "12.6-12.4", "12.4 - 12.6", "cuda 12.4-12.6"), ">=12.4,<=12.6"),
    "11.8-12.4": ">=11.8,<=12.4",
    "12+": ">=12",
    "12.4+": ">=12.4",
    "~=12.4": ">=12.4,<13",
    "~=12.4.1": ">=12.4.1,<12.5",
}


@pytest.mark.parametrize("command", ["exec", "pin", "install", "lock", "search"])
@pytest.mark.parametrize("text", RANGES)
def test_a_range_as_others_write_it(home: Home, command: str, text: str) -> None:
    done = home.run(command, text, *(["--", "true"] if command == "exec" else []))
    # `search cuda 12.4` is one of its own words.
    refused(
        done,
        f"{text.removeprefix('cuda ')}` is not a CUDA version",
        hint=f"write it as '{RANGES[text]}'",
    )
    [word] = shlex.split(done.stderr.partition("write it as ")[2])
    assert parse_request(word).is_range


@pytest.mark.parametrize("text", ["12.4,11.8", "12.4, 11.8", "12.4_11.8", "12.4,11.8,10.1"])
def test_several_versions_make_no_other_one(home: Home, text: str) -> None:
    names = text.replace(",", " ").replace("_", " ").split()
    hint = f"name one of them; for cudaswitch install one after the other: {' '.join(names)}"
    for command in ("install", "pin"):
        refused(home.run(command, text), f"`{text}` is not a CUDA version", hint=hint)


def test_a_cudnn_without_a_version(home: Home) -> None:
    refused(
        home.run("install", "12.4+cudnn"), "`12.4+cudnn` is not a toolkit", hint="10.1+cudnn7.6"
    )
