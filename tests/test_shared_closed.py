"""A shared store that its keeper has closed, or damaged: users go on with what is their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adoptable import toolkit
from checks import refused, succeeded
from homes import Home, make_home
from stock import BARE, FULL
from tools import closed

WORK = (
    ("list",),
    ("exec", "12.6", "--", "printenv", "CUDA_HOME"),
    ("exec", "mine", "--", "true"),
    ("current",),
    ("shims", "install"),
    ("compat", "tensorflow"),
    ("alias",),
    ("gc", "--dry-run"),
)


@pytest.fixture
def mine(stocked: Home, tmp_path: Path) -> Home:
    """A user with a toolkit of their own, and a store of others after it."""
    (tmp_path / "person").mkdir()
    home = make_home(tmp_path / "person")
    succeeded(home.run("adopt", str(toolkit(tmp_path / "cuda-12.6", "12.6.3"))))
    succeeded(home.run("alias", "mine", "12.6"))
    home.env["CUDASWITCH_STORES"] = str(stocked.store)
    return home


@pytest.mark.parametrize("below", ["", "toolkits", f"toolkits/{BARE}"])
def test_what_is_closed_is_told_once_and_passed_over(stocked: Home, mine: Home, below: str) -> None:
    with closed(stocked.store / below):
        done = mine.run_plainly("list")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] == "12.6.3"
        said = done.stderr.splitlines()
        assert len(said) == 2, said
        assert "Permission denied, so it is skipped" in said[0]
        assert said[0].startswith(f"cudaswitch: cannot read `{stocked.store / 'toolkits'}")
        assert said[1] == f"hint: tell the maintainer of the store `{stocked.store}`"
        # The stores are searched twice: for what fits, and for what would fit but is gone.
        done = mine.run_plainly("exec", "99", "--", "true")
        assert (done.returncode != 0, done.stderr.count("cannot read")) == (True, 1)


@pytest.mark.parametrize("arguments", WORK, ids=lambda each: each[0])
def test_work_goes_on_with_ones_own(stocked: Home, mine: Home, arguments: tuple[str, ...]) -> None:
    with closed(stocked.store):
        done = mine.run_plainly(*arguments)
    assert done.returncode == 0, done.stderr


def test_doctor_looks_at_the_rest(stocked: Home, mine: Home) -> None:
    with closed(stocked.store):
        done = mine.run_plainly("doctor")
    assert "skipped" in done.stderr
    assert "CS" in done.stdout or "no known problems" in done.stderr


def test_a_damaged_record_of_others_stops_nobody(stocked: Home, mine: Home, tmp_path: Path) -> None:
    record = stocked.store / "toolkits" / BARE / "cudaswitch.json"
    record.write_text("{")
    done = mine.run("exec", "12.6", "--", "printenv", "CUDA_HOME")
    assert succeeded(done) == [str(tmp_path / "cuda-12.6")]
    done = mine.run("list")
    assert "is damaged, so it is skipped" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["12.6.3", FULL]


@pytest.mark.parametrize("below", ["", "toolkits"])
def test_ones_own_store_is_not_passed_over(stocked: Home, below: str) -> None:
    folder = stocked.store / below
    with closed(folder):
        done = stocked.run_plainly("list")
        said = f"cannot read `{stocked.store / 'toolkits'}`: Permission denied"
        refused(done, said, hint=f"hint: chmod u+rwx {folder}")
        if os.geteuid() == 0:
            os.chown(folder, 12345, 12345)
            refused(stocked.run_plainly("list"), said, hint="check who owns it")


@pytest.mark.parametrize("named", ["12.6.3", "12.6"])
def test_verify_of_one_s_own_asks_nobody_else(stocked: Home, mine: Home, named: str) -> None:
    with closed(stocked.store):
        done = mine.run_plainly("verify", named)
    assert done.returncode == 0, done.stderr


def test_verify_checks_ones_own_and_fails(stocked: Home, mine: Home) -> None:
    with closed(stocked.store / "toolkits"):
        done = mine.run_plainly("verify", "--json")
    assert done.returncode == 1
    assert '"12.6.3"' in done.stdout
    assert "cannot read" in done.stderr


def _away(home: Home) -> list[str]:
    """Return the commands with which `doctor` mends a missing store."""
    found = json.loads(home.run("doctor", "--json").stdout)["findings"]
    return [one["fix"] for one in found if one["code"] == "CS063"]


def test_a_store_that_is_not_there_is_told_where_something_is_not_installed(
    stocked: Home, mine: Home, tmp_path: Path
) -> None:
    """A missing store is named, lest each colleague download what is on an unmounted disk."""
    here, away = stocked.store, tmp_path / "not mounted"
    assert _away(mine) == []
    away.mkdir()  # where the disk is to be mounted
    mine.env["CUDASWITCH_STORES"] = f"{away}:{here}"
    for gone in (False, True):
        if gone:
            away.rmdir()
        done = mine.run("list")
        assert (len(succeeded(done)), done.stderr) == (3, "")
        done = mine.run("exec", "99", "--", "true")
        refused(done, f"not installed; the store `{away}` does not exist", hint="install 99")
        assert _away(mine) == [f"export CUDASWITCH_STORES={here}"]
    del mine.env["CUDASWITCH_STORES"]
    for others in ([str(here)], []):
        succeeded(mine.run("config", "set", "stores", str(away), *others))
        [fix] = _away(mine)
        succeeded(mine.run(*fix.split()[1:]))
        assert succeeded(mine.run("config", "get", "stores")) == others
    assert _away(mine) == []


def test_ones_own_store_is_a_link_to_a_disk_that_is_away(
    stocked: Home, pair: list[Path], tmp_path: Path
) -> None:
    disk = stocked.store.rename(tmp_path / "disk")
    stocked.store.symlink_to(disk)
    disk.rename(tmp_path / "away")
    done = stocked.run("list")
    assert succeeded(done) == []
    assert f"your store `{stocked.store}` is a dangling link" in done.stderr
    refused(stocked.run("install", pair[0]), str(stocked.store), hint="dangling link")
    refused(stocked.run("exec", "10.1", "--", "true"), f"`{stocked.store}` does not exist")
    assert _away(stocked) == [f"mv --backup=numbered {stocked.store} {stocked.store}.bak"]


def test_what_a_store_offers_is_not_remembered_where_it_does_not_tell(
    stocked: Home, mine: Home
) -> None:
    """What a store lends is not kept where its answers are closed: shells would miss a change."""
    asked = ("want", "--for-use", "10.1")
    with closed(stocked.store / "requests"):
        succeeded(mine.run_plainly(*asked))
    assert not list(mine.store.glob("lent/*"))
    succeeded(mine.run_plainly(*asked))
    assert list(mine.store.glob("lent/*"))
