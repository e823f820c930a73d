"""A colleague's environments, files and toolkits, as `list`, `current` and `doctor` see them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from checks import refused, snapshot, succeeded
from homes import Home
from made_environments import Env
from shells.conda import conda_prefix
from stock import FULL
from tools import closed, root_only


@root_only
def test_an_environment_that_a_colleague_has_pinned_anew(stocked: Home, tmp_path: Path) -> None:
    """The hooks of a colleague's environment count, not what is noted or installed here."""
    prefix, theirs = conda_prefix(tmp_path / "env"), tmp_path / "theirs" / "kit"
    (theirs / "bin").mkdir(parents=True)
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    (prefix / "etc/cudaswitch/pin").write_text("11.8\n")
    (prefix / "etc/cudaswitch/want").write_text(f"{theirs}\n")
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    rows = json.loads(stocked.run("list", "--json").stdout)
    assert [kit["pinned_by"] for kit in rows["toolkits"]] == [[], []]
    assert [pin["path"] for pin in rows["pins"]] == [str(theirs)]
    assert "CS07" not in stocked.run("doctor").stdout
    succeeded(stocked.run("remove", FULL))


@root_only
def test_a_colleagues_toolkit_is_neither_missing_nor_behind(stocked: Home, tmp_path: Path) -> None:
    """A pin to a colleague's toolkit is no finding: to pin ours would take theirs away."""
    prefix, theirs = conda_prefix(tmp_path / "env"), tmp_path / "theirs" / "kit"
    (theirs / "bin").mkdir(parents=True)
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    (prefix / "etc/cudaswitch/want").write_text(f"{theirs}\n")
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    [pin] = json.loads(stocked.run("list", "--json").stdout)["pins"]
    assert (pin["request"], pin["path"]) == ("10.1", str(theirs))
    told = f"cudaswitch: pinned to toolkits that are in no store here: {prefix} ({theirs})\n"
    assert stocked.run("list").stderr == told
    assert "CS07" not in stocked.run("doctor").stdout
    shutil.rmtree(theirs)
    assert f"pinned, but not installed: {prefix} (10.1)" in stocked.run("list").stderr
    assert "CS070" in stocked.run("doctor").stdout


@root_only
def test_our_settings_are_not_those_of_a_colleagues_hooks(stocked: Home, tmp_path: Path) -> None:
    """A colleague's hooks are not behind a setting of ours, and their moved pin is not noted."""
    prefix, moved = conda_prefix(tmp_path / "env"), tmp_path / "moved"
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    prefix.rename(moved)
    for path in (moved, *moved.rglob("*")):
        os.chown(path, 12345, 12345)
    noted = snapshot(stocked.store / "pins")
    active = {"CONDA_PREFIX": str(moved), "CONDA_SHLVL": "1"}
    succeeded(stocked.run("config", "set", "libraries", "never", **active))
    assert snapshot(stocked.store / "pins") == noted
    assert "CS071" not in stocked.run("doctor", **active).stdout


@root_only
@pytest.mark.parametrize("base", ["here", "gone"])
def test_a_colleagues_toolkit_that_is_laid_over_another(
    stocked: Home, tmp_path: Path, base: str
) -> None:
    """A colleague's toolkit counts only while its base is there; else another answers its pin."""
    prefix, theirs = conda_prefix(tmp_path / "env"), tmp_path / "theirs" / "kit"
    theirs.mkdir(parents=True)
    (theirs / ".base").symlink_to(tmp_path if base == "here" else tmp_path / base)
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    (prefix / "etc/cudaswitch/want").write_text(f"{theirs}\n")
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    done = stocked.run("current", "--json", CONDA_PREFIX=str(prefix))
    ours = stocked.store / "toolkits" / FULL
    assert json.loads(done.stdout)["path"] == str(theirs if base == "here" else ours)


@root_only
def test_a_file_that_has_become_a_colleagues_asks_for_nothing(
    stocked: Home, tmp_path: Path
) -> None:
    """A colleague's version file, unlike an environment's pin, is not followed; for them it holds
    its toolkit."""
    succeeded(stocked.run("pin", "10.1", "--dir", tmp_path))
    os.chown(tmp_path / ".cuda-version", 12345, 12345)
    [pin] = json.loads(stocked.run("list", "--json").stdout)["pins"]
    assert (pin["request"], pin["path"]) == ("10.1", f"{stocked.store}/toolkits/{FULL}")
    refused(stocked.run("current", cwd=tmp_path), "belongs to another user", hint="use 10.1")


@root_only
def test_who_enters_a_colleagues_environment_leaves_its_hooks_alone(
    stocked: Home, tmp_path: Path
) -> None:
    """A colleague's hooks are left alone: others could not use them if our store is closed."""
    prefix = conda_prefix(tmp_path / "env")
    env = Env(prefix)
    env.dist("cupy-cuda101", "7.8.0")
    succeeded(stocked.run("pin", "auto", "-p", prefix))
    (prefix / "etc/cudaswitch/want").write_text(f"{tmp_path}/theirs\n")
    env.dist("einops", "0.8.0")
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    before = snapshot(prefix)
    assert succeeded(stocked.run("want", "--environment", prefix)) == [
        f"{stocked.store}/toolkits/{FULL}"
    ]
    assert snapshot(prefix) == before
    assert {path.stat().st_uid for path in (prefix / "etc").rglob("*")} == {12345}


@root_only
@pytest.mark.parametrize("asked", ["auto", "10.1"])
def test_a_colleagues_pin_means_what_it_did_until_packages_come(
    stocked: Home, tmp_path: Path, asked: str
) -> None:
    """New packages let a colleague's `auto` be asked anew; a version does not depend on them."""
    prefix, theirs = conda_prefix(tmp_path / "env"), tmp_path / "theirs"
    theirs.mkdir()
    env = Env(prefix)
    env.dist("cupy-cuda101", "7.8.0")
    succeeded(stocked.run("pin", asked, "-p", prefix))
    (prefix / "etc/cudaswitch/want").write_text(f"{theirs}\n")
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, 12345, 12345)

    def current() -> Path:
        done = stocked.run("current", "--json", CONDA_PREFIX=str(prefix))
        return Path(json.loads(done.stdout)["path"])

    assert current() == theirs
    env.dist("einops", "0.8.0")
    assert current() == (stocked.store / "toolkits" / FULL if asked == "auto" else theirs)


def test_a_toolkit_that_a_colleague_has_closed_is_none_that_is_gone(
    stocked: Home, tmp_path: Path
) -> None:
    prefix, folder = conda_prefix(tmp_path / "env"), tmp_path / "closed"
    (folder / "kit").mkdir(parents=True)
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    (prefix / "etc/cudaswitch/want").write_text(f"{folder}/kit\n")
    with closed(folder):
        assert "CS070" not in stocked.run_plainly("doctor").stdout
    (folder / "kit").rmdir()
    assert "CS070" in stocked.run_plainly("doctor").stdout
