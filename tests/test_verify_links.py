"""verify --repair where there are links: what they lead to is never touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import builders
from adoptable import toolkit, write
from checks import snapshot, succeeded
from homes import Home
from stock import BARE, kit
from verifying import CUDNN, LIBRARY, findings, flip


def unlinked(link: Path) -> None:
    """Put a copy of what a link leads to in its place, as `cp -rL` of a store does."""
    target = link.resolve()
    link.unlink()
    shutil.copytree(target, link, symlinks=True)


def test_a_copy_of_an_adopted_toolkits_folder(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    write(place / "extras/CUPTI/lib64/libcupti.so", "theirs")
    before = snapshot(place)
    succeeded(home.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    [name] = succeeded(home.run("install", cudnn))
    unlinked(kit(home, name) / "extras")
    write(kit(home, name) / "extras/mine", "my only copy")
    succeeded(home.run("verify", "--repair"))
    assert snapshot(place) == before
    assert (kit(home, name) / "extras").readlink() == place / "extras"
    [kept] = home.store.glob("set-aside/*/toolkits/*/extras")
    assert sorted(os.listdir(kept)) == ["CUPTI", "mine"]
    succeeded(home.run("verify"))


@pytest.mark.parametrize("link", ["lib", "targets/x86_64-linux/lib"])
def test_a_copy_of_a_folder_of_the_same_toolkit(stocked: Home, link: str) -> None:
    before = snapshot(kit(stocked, BARE))
    unlinked(kit(stocked, BARE) / link)
    succeeded(stocked.run("verify", "--repair"))
    assert snapshot(kit(stocked, BARE)) == before


def moved(folder: Path, to: Path) -> None:
    """Leave a link where a folder was, as users do who have more room on another disk."""
    to.mkdir()
    shutil.move(folder, to)
    folder.symlink_to(to / folder.name)


def test_a_toolkit_with_a_link_in_its_place(stocked: Home, tmp_path: Path) -> None:
    """A toolkit that is a link is made anew: its own links to packages hold in the store alone."""
    before = snapshot(stocked.store)
    moved(kit(stocked, BARE), tmp_path / "other")
    there = snapshot(tmp_path / "other")
    assert findings(stocked) == {("changed", f"toolkits/{BARE}")}
    place = f"{kit(stocked, BARE)} -> {tmp_path / 'other' / BARE}"
    assert stocked.run("verify").stdout == f"changed  {place}\n"
    done = stocked.run("verify", BARE, "--repair")
    succeeded(done)
    assert f"{BARE} was a link to `{tmp_path / 'other' / BARE}`, which stays" in done.stderr
    assert snapshot(stocked.store) == before
    assert snapshot(tmp_path / "other") == there
    assert findings(stocked) == set()


def test_a_package_with_a_link_in_its_place(stocked: Home, tmp_path: Path) -> None:
    """A package that is a link is read; if it is damaged, it is brought anew into the store."""
    moved(stocked.store / CUDNN, tmp_path / "other")
    assert findings(stocked) == set()
    flip(stocked.store / LIBRARY)
    there = snapshot(tmp_path / "other")
    succeeded(stocked.run("verify", "--repair"))
    assert snapshot(tmp_path / "other") == there
    assert not (stocked.store / CUDNN).is_symlink()
    assert findings(stocked) == set()
