"""What older releases of fish, tcsh and zsh lack. A current fish plays an old one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import cudaswitch
from shells.driver import FISH
from shells.kits import Person, foreign, switched
from shells.terminal import Terminal
from shells.venvs import activate, with_venv
from tools import executable

BARE: dict[str, Path] = {}
"""No file to load, so no integration."""


def says_it_is(release: str, text: Path) -> None:
    """Make a text of ours take the fish that reads it for another release."""
    before = text.read_text()
    assert "$version" in before
    text.write_text(before.replace("$version", release))


@pytest.fixture
def printed(person: Person, tmp_path: Path) -> Path:
    """What `init` prints, in a file."""
    text = tmp_path / "init.fish"
    text.write_text(person.home.run("init", "fish").stdout)
    return text


@pytest.fixture
def pinned(person: Person, tmp_path: Path) -> Path:
    """A virtualenv pinned to the first toolkit."""
    with_venv(tmp_path / "v")
    person.pin("10.1", tmp_path / "v")
    return tmp_path / "v"


@pytest.fixture
def terminal(person: Person, tmp_path: Path) -> Iterator[Terminal]:
    """A fish that has not loaded cudaswitch."""
    folder = tmp_path / "terminal"
    folder.mkdir()
    opened = Terminal(FISH, replace(person, init=BARE), folder)
    yield opened
    opened.child.close(force=True)


@pytest.mark.parametrize(("release", "asks"), [("3.3.1", True), ("3.5.1", True), ("3.6.0", False)])
def test_times_are_compared_by_who_can(
    release: str, asks: bool, person: Person, pinned: Path, tmp_path: Path
) -> None:
    says_it_is(release, pinned / "etc/cudaswitch/core.fish")
    programs = tmp_path / "programs"
    log = programs / "log"
    executable(programs / "env", f'#!/bin/sh\necho "$*" >>{log}\nexec /usr/bin/env "$@"\n')
    want = pinned / "etc/cudaswitch/want"
    # This is what the hook of a pin to `auto` asks.
    asking = f"__cudaswitch_newer {pinned} {want}; :"
    steps = [FISH.prepend("PATH", str(programs)), activate(FISH, pinned), "deactivate", asking]
    result = replace(person, init=BARE).play(FISH, *steps).check()
    before, entered, left = (foreign(result.snaps[str(n)]) for n in (1, 2, 3))
    assert entered["CUDA_HOME"] == switched(before, person.kits[0])["CUDA_HOME"]
    assert left == before
    said = log.read_text() if log.exists() else ""
    assert (f"test {want} -nt " in said) == asks
    assert (f" -nt {want}\n" in said) == asks


@pytest.mark.parametrize("release", ["2.7.1", "3.1.2"])
def test_one_that_is_too_old_is_left_alone(
    release: str, person: Person, pinned: Path, printed: Path, tmp_path: Path
) -> None:
    """In a fish that is too old, neither the integration nor the hooks try anything."""
    says_it_is(release, printed)
    says_it_is(release, pinned / "etc/cudaswitch/core.fish")
    (tmp_path / ".cuda-version").write_text("10.1\n")
    steps = [activate(FISH, pinned), f"cd {tmp_path}; emit fish_prompt", "deactivate"]
    for init in (BARE, {FISH.name: printed}):
        result = replace(person, init=init).play(FISH, *steps).check()
        assert sorted(result.snaps) == ["0", "1", "2", "3"]
        assert all("CUDA_HOME" not in snap for snap in result.snaps.values())


def test_one_that_is_too_old_says_so_once(pinned: Path, printed: Path, terminal: Terminal) -> None:
    says_it_is("3.1.2", printed)
    says_it_is("3.1.2", pinned / "etc/cudaswitch/core.fish")
    said = terminal.say(FISH.source(printed))
    assert "fish 3.1.2 is too old, nothing is switched: 3.2 or newer is needed" in said
    assert "too old" not in terminal.say(activate(FISH, pinned))
    assert "too old" not in terminal.say("deactivate")


@pytest.mark.parametrize(
    ("suffix", "lacking"),
    [
        # Only tcsh 6.24 goes on until nothing is left to remove; older ones stop after one.
        pytest.param("csh", r":a[htre](?![a-z])", id="a part of a path again and again"),
        # In tcsh 6.21, `:q` at the end takes the `a` back: only the first is replaced.
        pytest.param("csh", r":as(?:/[^/]*/[^/]*/(?::a?s)?)+:q", id="all, and then quoted"),
        # zsh before 5.3 looks for a program of that name.
        pytest.param("sh", r"\\command\b", id="a backslash before command"),
    ],
)
def test_what_older_ones_lack_is_not_used(suffix: str, lacking: str) -> None:
    shells = Path(cudaswitch.__file__).with_name("shells")
    texts = {path.name: path.read_text() for path in shells.glob(f"*.{suffix}")}
    assert f"core.{suffix}" in texts
    assert [name for name, text in texts.items() if re.search(lacking, text)] == []
