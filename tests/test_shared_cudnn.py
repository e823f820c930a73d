"""cuDNN of one's own over toolkits of a shared store, and cuDNN that is there already."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import builders
from adoptable import toolkit
from checks import PYTHON, RUNTIME_ANSWER, refused, snapshot, succeeded
from homes import Home, make_home
from stock import BARE, FULL, kit, newer_cudnn, stored
from tools import closed

NEWER = f"{BARE}+cudnn7.6.6"


@pytest.fixture
def mine(stocked: Home, tmp_path: Path) -> Home:
    """A user who has nothing, and sees the store of others."""
    (tmp_path / "person").mkdir()
    home = make_home(tmp_path / "person")
    home.env["CUDASWITCH_STORES"] = str(stocked.store)
    return home


def test_it_is_laid_over_theirs_by_links(stocked: Home, mine: Home, tmp_path: Path) -> None:
    before = snapshot(stocked.store)
    cudnn = newer_cudnn(tmp_path)
    done = mine.run("install", cudnn)
    assert (succeeded(done), done.stderr) == ([NEWER], "")
    row = json.loads(mine.run("list", "--json").stdout)["toolkits"][0]
    assert (row["name"], row["base"]) == (NEWER, str(kit(stocked, BARE)))
    final = kit(mine, NEWER)
    for at in ("lib64", "lib", "targets/x86_64-linux/lib"):
        assert (final / at / "libcudnn.so.7").resolve().is_relative_to(mine.store)
        assert (final / at / "libcudart.so.10.1").resolve().is_relative_to(stocked.store)
    for request in ("10.1", "10.1+cudnn7", "10"):
        found = succeeded(mine.run("exec", request, "--", "printenv", "CUDA_HOME"))
        assert found == [str(final)]
    ran = mine.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
    assert succeeded(ran) == ["10010"]
    inodes = {path: path.lstat().st_ino for path in final.rglob("*")}
    again = mine.run("install", cudnn)
    assert (succeeded(again), again.stderr) == ([NEWER], "")
    assert {path: path.lstat().st_ino for path in final.rglob("*")} == inodes
    succeeded(mine.run("verify", NEWER))
    assert snapshot(stocked.store) == before


@pytest.mark.parametrize("ground", ["shared", "adopted"])
def test_its_record_can_be_mended(stocked: Home, mine: Home, tmp_path: Path, ground: str) -> None:
    if ground == "adopted":
        place = toolkit(tmp_path / "cuda-11.2")
        succeeded(mine.run("adopt", place))
        cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    else:
        cudnn = newer_cudnn(tmp_path)
    [name] = succeeded(mine.run("install", cudnn))
    final = kit(mine, name)
    before = json.loads((final / "cudaswitch.json").read_text())
    assert before["base"]
    library = next((final / "lib64").glob("libcudart.so*"))
    (final / "cudaswitch.json").write_text("{")
    library.unlink()
    succeeded(mine.run("verify", name, "--repair"))
    assert json.loads((final / "cudaswitch.json").read_text()) == before
    assert library.exists()


def test_one_that_they_have_is_not_stored_again(mine: Home, pair: list[Path]) -> None:
    done = mine.run("install", pair[1])
    assert (succeeded(done), done.stderr) == ([FULL], "")
    assert stored(mine)["packages"] == []
    assert succeeded(mine.run("install", pair[1], "--force")) == [FULL]
    assert stored(mine) == {**stored(mine), "packages": ["cudnn-7.6.5-cuda10.1_0"]}


def test_one_that_they_have_goes_with_toolkits_of_ones_own(
    stocked: Home, mine: Home, pair: list[Path]
) -> None:
    succeeded(mine.run("install", pair[0]))
    assert set(succeeded(mine.run("install", pair[1]))) == {FULL}
    assert stored(mine)["toolkits"] == [BARE, FULL]
    asked = mine.run("exec", "10.1", "--", "printenv", "CUDA_HOME")
    assert succeeded(asked) == [str(kit(mine, FULL))]


def test_a_toolkit_of_ones_own_takes_its_place(
    stocked: Home, mine: Home, tmp_path: Path, pair: list[Path]
) -> None:
    succeeded(mine.run("install", newer_cudnn(tmp_path)))
    assert set(succeeded(mine.run("install", pair[0]))) == {BARE, NEWER}
    rows = json.loads(mine.run("list", "--json").stdout)["toolkits"]
    assert {row["name"]: row["base"] for row in rows[:2]} == {BARE: None, NEWER: None}
    shutil.rmtree(stocked.store)
    found = succeeded(mine.run("exec", "10.1", "--", "printenv", "CUDA_HOME"))
    assert found == [str(kit(mine, NEWER))]


def test_over_one_that_others_have_adopted(stocked: Home, mine: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    succeeded(stocked.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    [name] = succeeded(mine.run("install", cudnn))
    assert succeeded(mine.run("exec", name, "--", "nvcc"))[0].endswith("V11.2.152")


def test_what_is_gone_is_told(stocked: Home, mine: Home, tmp_path: Path) -> None:
    succeeded(mine.run("install", newer_cudnn(tmp_path)))
    succeeded(stocked.run("remove", BARE, FULL))
    gone = f"toolkit `{kit(stocked, BARE)}` is gone"
    refused(mine.run("exec", "10.1", "--", "true"), gone, hint=f"remove --force {NEWER}")
    repair = mine.run("verify", "--repair")
    assert repair.returncode == 1
    assert f"`{kit(stocked, BARE)}` that {NEWER} is based on is gone" in repair.stderr


def findings(home: Home, *, plainly: bool = False) -> dict[str, dict[str, str]]:
    done = (home.run_plainly if plainly else home.run)("doctor", "--json")
    return {one["code"]: one for one in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("linked", [False, True])
def test_a_disk_that_is_not_mounted_for_a_moment(
    stocked: Home, mine: Home, tmp_path: Path, linked: bool
) -> None:
    """While a disk is not mounted, nothing of the user's is removed: it is whole with the disk."""
    if linked:
        (tmp_path / "lab").symlink_to(stocked.store)
    succeeded(mine.run("install", newer_cudnn(tmp_path)))
    store = stocked.store
    if linked:
        store = tmp_path / "lab"
        mine.env["CUDASWITCH_STORES"] = str(store)
    succeeded(mine.run("pin", "10.1", "--global"))
    stocked.store.rename(tmp_path / "unmounted")
    away = f"the store `{store}` does not exist"
    done = mine.run("exec", "10.1", "--", "true")
    refused(
        done,
        f"toolkit `{kit(stocked, BARE)}` is out of reach",
        away,
        hint="check that its disk is mounted",
    )
    assert f"`{kit(stocked, BARE)}` is out of reach" in mine.run("list").stdout
    repair = mine.run("verify", "--repair")
    assert away in repair.stderr
    found = findings(mine)
    assert "CS062" not in found
    assert f"; {NEWER} is based on it; if no disk" in found["CS063"]["evidence"]
    assert away in found["CS079"]["evidence"]
    for told in (done.stderr, repair.stderr, *(one["fix"] for one in found.values())):
        assert "remove" not in told
    (tmp_path / "unmounted").rename(stocked.store)
    assert succeeded(mine.run("exec", "10.1", "--", "printenv", "CUDA_HOME")) == [
        str(kit(mine, NEWER))
    ]


def test_a_store_that_is_closed_for_a_moment(stocked: Home, mine: Home, tmp_path: Path) -> None:
    succeeded(mine.run("install", newer_cudnn(tmp_path)))
    with closed(stocked.store):
        done = mine.run_plainly("exec", "10.1", "--", "true")
        found = findings(mine, plainly=True)
    keeper = f"tell the maintainer of the store `{stocked.store}`"
    assert f"is out of reach; the store `{stocked.store}` cannot be read" in done.stderr
    assert f"hint: {keeper}, or request another toolkit" in done.stderr
    assert "CS062" not in found


def test_nothing_is_laid_over_what_everybody_may_change(
    stocked: Home, mine: Home, tmp_path: Path
) -> None:
    stocked.store.chmod(0o777)
    done = mine.run("install", newer_cudnn(tmp_path))
    assert succeeded(done) == []
    assert "no installed toolkit goes with it yet" in done.stderr


def test_without_a_toolkit_that_fits(stocked: Home, mine: Home, tmp_path: Path) -> None:
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    done = mine.run("install", cudnn)
    assert succeeded(done) == []
    assert "no installed toolkit goes with it yet" in done.stderr


def test_what_a_shared_store_has_lost_is_for_its_keeper(
    stocked: Home, mine: Home, tmp_path: Path
) -> None:
    place = toolkit(tmp_path / "cuda-9.2", "9.2.148")
    succeeded(stocked.run("adopt", place))
    shutil.rmtree(place)
    keeper, others = "remove --force 9.2.148", f"`{stocked.store}`"
    for home, hint, found in ((stocked, keeper, 1), (mine, others, 0)):
        refused(home.run("exec", "9.2", "--", "true"), f"`{place}` is gone", hint=hint)
        rules = json.loads(home.run("doctor", "--json").stdout)["findings"]
        assert [rule["code"] for rule in rules].count("CS062") == found


def test_a_damaged_record_of_theirs_stops_nothing(
    stocked: Home, mine: Home, pair: list[Path]
) -> None:
    [record] = (stocked.store / "packages").glob("cudnn*/cudaswitch.json")
    record.write_text("{")
    assert succeeded(mine.run("install", *pair))[-1] == FULL
