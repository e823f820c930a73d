"""verify --repair where there are links: what they lead to is never touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import builders
from adoptable import toolkit, write
from checks import snapshot, succeeded
from homes import Home, make_home
from stock import BARE, kit
from verifying import CUDNN, LIBRARY, findings, flip, with_its_own_path


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


def test_a_store_that_others_reach_through_a_link(home: Home, tmp_path: Path) -> None:
    """Files with the toolkit's own path have it as the one who installed it spelled the store."""
    succeeded(home.run("install", with_its_own_path(tmp_path)))
    link, user = tmp_path / "link", make_home(tmp_path / "user")
    link.symlink_to(home.store)
    succeeded(home.run("verify", CUDASWITCH_HOME=str(link)))
    succeeded(user.run("verify", CUDASWITCH_STORES=str(link)))
    # What was moved there holds a path that leads elsewhere now.
    file = link / "toolkits/10.1.243/bin/nvcc.profile"
    shutil.move(home.store, tmp_path / "moved")
    for there in (False, True):
        link.unlink()
        link.symlink_to(tmp_path / "moved")
        if there:
            shutil.copytree(link, home.store, symlinks=True)
        done = user.run("verify", CUDASWITCH_STORES=str(link))
        assert done.stdout == f"changed  {file}\n"


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
