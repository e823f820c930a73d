"""Folders in a store that are deeper than Python's recursion, or the system's paths, can go."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checks import snapshot, succeeded
from cudaswitch.sweeping import sweep
from homes import Home
from stock import BARE, FULL, kit
from verifying import CUDNN, findings

Deepen = Callable[[Path], None]

TREE = f"{CUDNN}/tree"
DEEP = {"recursion": (1100, 1), "path": (3000, 1), "name": (40, 255)}
"""Levels, and the length of their names: more than Python's recursion or a system's path has."""


@pytest.fixture(params=DEEP)
def deep(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deepen]:
    """Put folders into a folder, each in the one before, and a file into the last."""

    def deepen(folder: Path) -> None:
        levels, length = DEEP[request.param]
        here = os.open(folder, os.O_RDONLY)
        for _ in range(levels):
            os.mkdir("d" * length, dir_fd=here)
            below = os.open("d" * length, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
        os.close(here)

    yield deepen
    # pytest could not delete what is left of them, either.
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


@pytest.mark.parametrize("owner", [TREE, f"toolkits/{FULL}"])
def test_a_deep_folder_is_found_and_set_aside(stocked: Home, owner: str, deep: Deepen) -> None:
    deep(stocked.store / owner)
    [(kind, path)] = findings(stocked)
    assert (kind, path.rstrip("d/")) == ("extra", owner)
    done = stocked.run("verify")
    assert (done.returncode, done.stdout) == (1, f"extra  {stocked.store / path}\n")
    succeeded(stocked.run("verify", "--repair"))
    assert findings(stocked) == set()
    assert list(stocked.store.glob(f"set-aside/*/{path}"))


def test_a_toolkit_with_a_deep_folder_is_removed(stocked: Home, deep: Deepen) -> None:
    """It goes with its packages, and no later command has anything to finish."""
    deep(stocked.store / TREE)
    deep(kit(stocked))
    succeeded(stocked.run("remove", FULL))
    assert os.listdir(stocked.store / ".staging") == []
    assert not (stocked.store / CUDNN).exists()
    assert succeeded(stocked.run("alias", "lab", "10.1")) == []
    assert succeeded(stocked.run("gc")) == []
    assert findings(stocked) == set()


def test_what_is_deep_and_not_needed_is_removed(stocked: Home, deep: Deepen) -> None:
    """`gc` removes it, and so does the next change of the store after a killed one."""
    left = stocked.store / ".staging/discarded-0123abcd"
    for folder in (left, stocked.store / TREE):
        folder.mkdir(exist_ok=True)
        deep(folder)
    succeeded(stocked.run("remove", FULL, BARE))
    assert os.listdir(stocked.store / ".staging") == []
    left.mkdir()
    deep(left)
    for words in (["gc", "--dry-run"], ["gc"]):
        [line] = succeeded(stocked.run(*words))
        assert line.split()[0] == "leftover"
    assert os.listdir(stocked.store / ".staging") == []


def test_no_more_is_deleted_than_the_folder(tmp_path: Path) -> None:
    """Links are deleted, not followed."""
    theirs, folder = tmp_path / "theirs", tmp_path / "folder"
    (theirs / "inside").mkdir(parents=True)
    (folder / "a/b").mkdir(parents=True)
    for link in (folder / "to", folder / "a/b/to"):
        link.symlink_to(theirs)
    (folder / "a/file").touch()
    before = snapshot(theirs)
    sweep(folder)
    assert snapshot(theirs) == before
    assert list(tmp_path.iterdir()) == [theirs]
