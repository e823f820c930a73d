"""verify: each kind of damage is found, mended from a package's origin, and no more is touched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

import pytest

from adoptable import smallest
from checks import refused, snapshot, succeeded
from cudaswitch.toolkit import Entry
from cudaswitch.verifying import Hashes, _settled, compare
from folder_server import FolderServer
from homes import Home
from preloaded import preloaded
from stock import BARE, FULL
from verifying import CUDNN, LIBRARY, findings, flip, with_its_own_path

KIT = "toolkits/10.1.243+cudnn7.6.5"


def retarget(path: Path) -> None:
    path.unlink()
    path.symlink_to("libcublas.so.10")


def into_an_empty_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def into_a_folder(path: Path) -> None:
    into_an_empty_folder(path)
    (path / "inside").write_text("x")


DAMAGE: dict[str, tuple[str, Callable[[Path], object], set[tuple[str, str]]]] = {
    "a byte of a package and so of toolkits": (
        LIBRARY,
        flip,
        {("changed", LIBRARY), ("changed", f"{KIT}/lib64/libcudnn.so.7.6.5")},
    ),
    "a file gone from a package": (LIBRARY, Path.unlink, {("missing", LIBRARY)}),
    "a file gone from a toolkit": (
        f"{KIT}/lib64/libcudnn.so.7.6.5",
        Path.unlink,
        {("missing", f"{KIT}/lib64/libcudnn.so.7.6.5")},
    ),
    "a file too many in a package": (
        f"{CUDNN}/tree/lib/libevil.so",
        lambda at: at.write_text("x"),
        {("extra", f"{CUDNN}/tree/lib/libevil.so")},
    ),
    "a file too many in a toolkit": (
        f"{KIT}/bin/nvcc",
        lambda at: at.write_text("x"),
        {("extra", f"{KIT}/bin/nvcc")},
    ),
    "a link that leads elsewhere": (
        f"{KIT}/lib64/libcudnn.so.7",
        retarget,
        {("changed", f"{KIT}/lib64/libcudnn.so.7")},
    ),
    "a folder for a file": (
        f"{KIT}/version.json",
        into_a_folder,
        {("missing", f"{KIT}/version.json"), ("extra", f"{KIT}/version.json/inside")},
    ),
    "a mode": (
        LIBRARY,
        lambda at: at.chmod(0o4755),
        {("changed", LIBRARY), ("changed", f"{KIT}/lib64/libcudnn.so.7.6.5")},
    ),
    "a whole package": (CUDNN, shutil.rmtree, {("missing", CUDNN)}),
    "a file among toolkits": (
        "toolkits/notes.txt",
        lambda at: at.write_text("x"),
        {("extra", "toolkits/notes.txt")},
    ),
    "a file among packages": (
        "packages/notes.txt",
        lambda at: at.write_text("x"),
        {("extra", "packages/notes.txt")},
    ),
    "a folder among toolkits": (
        "toolkits/bar/inside",
        lambda at: at.mkdir(parents=True),
        {("extra", "toolkits/bar")},
    ),
    "a folder among packages": (
        "packages/bar/inside",
        lambda at: at.mkdir(parents=True),
        {("extra", "packages/bar")},
    ),
    "a package's record": (
        f"{CUDNN}/cudaswitch.json",
        lambda at: at.write_text("{"),
        {("changed", f"{CUDNN}/cudaswitch.json")},
    ),
    "a toolkit's record": (
        f"{KIT}/cudaswitch.json",
        lambda at: at.write_text("{"),
        {("changed", f"{KIT}/cudaswitch.json")},
    ),
    "a toolkit's list": (
        f"{KIT}/cudaswitch-files.json",
        Path.unlink,
        {("missing", f"{KIT}/cudaswitch-files.json")},
    ),
    **{
        f"a folder for {path}": (path, into_an_empty_folder, {("changed", path)})
        for path in (
            f"{CUDNN}/cudaswitch.json",
            f"{KIT}/cudaswitch.json",
            f"{KIT}/cudaswitch-files.json",
        )
    },
}


def without_dates(home: Home) -> dict[str, str]:
    """Describe the store without what was set aside and packages' records, which hold dates."""
    return {
        name: text
        for name, text in snapshot(home.store).items()
        if not name.startswith("set-aside")
        and not (name.startswith("packages") and name.endswith("/cudaswitch.json"))
    }


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_and_mended(stocked: Home, damage: str) -> None:
    before = without_dates(stocked)
    at, harm, expected = DAMAGE[damage]
    harm(stocked.store / at)
    assert findings(stocked) == expected
    lines = [f"{kind}  {stocked.store}/{path}" for kind, path in expected]
    told = stocked.run("verify")
    assert told.returncode == 1
    assert sorted(" ".join(line.split()) for line in told.stdout.splitlines()) == sorted(
        " ".join(line.split()) for line in lines
    )
    assert "hint: cudaswitch verify --repair" in told.stderr
    succeeded(stocked.run("verify", "--repair"))
    assert findings(stocked) == set()
    assert without_dates(stocked) == before


def test_what_does_not_belong_is_set_aside(stocked: Home) -> None:
    (stocked.store / KIT / "lib64/libmine.so").write_text("my only copy")
    succeeded(stocked.run("verify", "--repair"))
    [kept] = stocked.store.glob("set-aside/*/toolkits/*/lib64/libmine.so")
    assert kept.read_text() == "my only copy"


def test_nothing_is_set_aside_where_nothing_can_be_brought(stocked: Home, tmp_path: Path) -> None:
    strange = stocked.store / "packages/strange"
    strange.mkdir()
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file/cache")
    refused(stocked.run("verify", "--repair", CUDASWITCH_CACHE=nowhere), nowhere)
    assert strange.is_dir()


def test_a_toolkit_whose_record_is_damaged_is_not_set_aside(home: Home, tmp_path: Path) -> None:
    """An adopted toolkit keeps its damaged record, in which somebody may read where it is."""
    succeeded(home.run("adopt", smallest(tmp_path / "cuda", "11.2.152")))
    record = home.store / "toolkits/11.2.152/cudaswitch.json"
    record.write_text(record.read_text()[:-5])
    hint = f"adopt it again: cudaswitch adopt PATH; or delete `{record.parent}`"
    refused(home.run("verify", "--repair"), "there is no longer any record", hint=hint)
    assert record.exists()


def test_a_toolkit_of_which_nothing_can_be_read_is_to_be_made_anew(stocked: Home) -> None:
    """The hint for a toolkit without records is to install it again, not the repair that failed."""
    for record in ("cudaswitch.json", "cudaswitch-files.json"):
        (stocked.store / KIT / record).write_text("{")
    done = stocked.run("verify", "--repair")
    refused(done, f"there is no longer any record of what toolkit {FULL}", hint="install it again")


def test_it_names_what_it_looked_at(stocked: Home) -> None:
    done = stocked.run("verify", "10.1.243")
    assert succeeded(done) == []
    assert "1 toolkit of 1 package: every file as recorded" in done.stderr
    flip(stocked.store / LIBRARY)
    assert succeeded(stocked.run("verify", "10.1.243")) == []
    assert findings(stocked, "10.1.243+cudnn7.6.5")


def test_an_adopted_toolkit_is_said_to_be_unverified(home: Home, tmp_path: Path) -> None:
    place = smallest(tmp_path / "cuda", "11.2.152")
    succeeded(home.run("adopt", place))
    done = home.run("verify")
    succeeded(done)
    told = f"cudaswitch: not verified: 11.2.152, adopted from `{place}`\n"
    assert done.stderr == f"{told}cudaswitch: nothing to verify\n"


def test_files_with_the_toolkits_own_path(home: Home, tmp_path: Path) -> None:
    """A file with conda's placeholder differs from store to store, and is verified all the same."""
    succeeded(home.run("install", with_its_own_path(tmp_path, "#!/bin/sh\n")))
    file = home.store / "toolkits/10.1.243/bin/nvcc.profile"
    assert f"echo {file.parent}\n" in file.read_text()
    assert findings(home) == set()
    file.write_text(file.read_text().replace("echo", "evil"))
    assert findings(home) == {("changed", "toolkits/10.1.243/bin/nvcc.profile")}
    succeeded(home.run("verify", "--repair"))
    assert findings(home) == set()


def test_mended_from_the_url_that_it_came_from(home: Home, pair: list[Path]) -> None:
    with FolderServer(pair[0].parent) as server:
        succeeded(home.run("install", *(f"{server.url}/{path.name}" for path in pair)))
        succeeded(home.run("gc", "--downloads"))
        flip(home.store / LIBRARY)
        succeeded(home.run("verify", "--repair"))
        assert findings(home) == set()
        flip(home.store / LIBRARY)
        succeeded(home.run("gc", "--downloads"))
        # Another file is served under the name now, which is refused without touching anything.
        server.instead[f"/{pair[1].name}"] = b"another file"
        before = snapshot(home.store)
        done = home.run("verify", "--repair")
        assert done.returncode == 1
        assert "sha256" in done.stderr or "bytes" in done.stderr
        assert snapshot(home.store) == before


def test_where_the_file_is_gone_it_says_so(stocked: Home, pair: list[Path]) -> None:
    pair[1].unlink()
    flip(stocked.store / LIBRARY)
    message = f"cannot repair cudnn-7.6.5-cuda10.1_0: there is no file `{pair[1]}`"
    refused(stocked.run("verify", "--repair"), message, hint="put it back")


@pytest.mark.parametrize("step", ["rename", "link", "unlink"])
def test_killed_while_mending_the_next_run_ends_right(
    stocked: Home, tmp_path: Path, step: str
) -> None:
    before = without_dates(stocked)
    kills = 0
    for number in (1, 3):
        flip(stocked.store / LIBRARY)
        (stocked.store / KIT / "lib64/libcudart.so.10.1.243").unlink()
        (stocked.store / KIT / "version.json").unlink()
        done = stocked.run("verify", "--repair", **preloaded(tmp_path, "kill", step, number))
        kills += done.returncode == -signal.SIGKILL
        assert stocked.run("list").returncode == 0
        succeeded(stocked.run("verify", "--repair"))
        assert findings(stocked) == set()
        succeeded(stocked.run("gc"))
        left = {
            name: text for name, text in without_dates(stocked).items() if not name.endswith(".tmp")
        }
        assert left == before
    assert kills, f"no call of {step}"


def test_an_interrupt_does_not_wait_for_what_is_in_the_queue(tmp_path: Path) -> None:
    promised: list[Future[str | None]] = []
    with contextlib.suppress(KeyboardInterrupt), Hashes() as hashes:
        for number in range(60):
            path = tmp_path / str(number)
            path.touch()
            os.truncate(path, 64 << 20)
            promised.append(hashes.of(path, path.stat()))
        raise KeyboardInterrupt
    assert sum(each.cancelled() for each in promised) > 30


def test_a_file_is_read_by_this_name_where_the_other_has_gone(tmp_path: Path) -> None:
    """A file is hashed by another of its names if the first is gone, as after a `remove`."""
    for folder in ("kit", "package"):
        (tmp_path / folder).mkdir()
    file, other = tmp_path / "package" / "lib", tmp_path / "kit" / "lib"
    file.write_bytes(b"content")
    other.hardlink_to(file)
    status = other.lstat()
    entry = Entry("lib", size=7, sha256=sha256(b"content").hexdigest())
    other.parent.rename(tmp_path / "aside")
    with Hashes() as hashes:
        assert hashes.of(other, status).result() is None
        assert compare(file.parent, [entry], hashes, 0o755) == []


def test_a_toolkit_that_is_made_anew_meanwhile_is_not_damaged(stocked: Home) -> None:
    script = """
        while :; do
            cp -al "$0" "$1/new"; mv "$0" "$1/aside"; mv "$1/new" "$0"; rm -rf "$1/aside"
        done
    """
    with subprocess.Popen(["sh", "-c", script, stocked.store / KIT, stocked.path]) as replacing:
        try:
            for _ in range(40):
                assert findings(stocked) == set()
        finally:
            replacing.kill()


def test_what_goes_from_a_folder_that_stays_is_no_race(tmp_path: Path) -> None:
    def look() -> NoReturn:
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        _settled(tmp_path, look)


def test_a_store_that_cannot_be_written_is_verified(stocked: Home) -> None:
    for path in [stocked.store, *stocked.store.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o555)
    before = snapshot(stocked.store)
    try:
        assert findings(stocked) == set()
        assert snapshot(stocked.store) == before
    finally:
        for path in [stocked.store, *stocked.store.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)


def test_a_shared_store_is_verified_and_left_to_those_who_keep_it(
    stocked: Home, tmp_path: Path
) -> None:
    (stocked.store / LIBRARY).write_text("x")
    before = snapshot(stocked.store)
    mine = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": str(stocked.store)}
    for repair in ([], ["--repair"]):
        for named in ([], [FULL], [BARE, FULL]):
            done = stocked.run("verify", *named, *repair, **mine)
            assert done.returncode == 1
            assert str(stocked.store / LIBRARY) in done.stdout
            [hint] = [line for line in done.stderr.splitlines() if line.startswith("hint: ")]
            assert f"`{stocked.store}`" in hint
            assert "CUDASWITCH_HOME" in hint
    assert snapshot(stocked.store) == before
    stocked.store.joinpath(LIBRARY).unlink()
    succeeded(stocked.run("verify", FULL, "--repair"))
    assert succeeded(stocked.run("verify", "10.1+cudnn7", **mine)) == []
    refused(stocked.run("verify", "9.9", **mine), "no toolkit `9.9`", hint="cudaswitch list")
    refused(stocked.run("verify", "10", **mine), "`10` matches 2 toolkits", hint="full name")


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", "²\n".encode(), b"1.5\n"])
def test_a_layout_that_is_no_number_is_damaged(stocked: Home, content: bytes) -> None:
    """A layout that is no number, as a power cut may leave it, is reported and repaired."""
    succeeded(stocked.run("pin", "10.1", "--dir", "."))
    layout = stocked.store / "layout"
    layout.write_bytes(content)
    refused(stocked.run("gc"), f"`{layout}` is damaged", hint="cudaswitch verify --repair")
    assert findings(stocked) == {("changed", "layout")}
    assert findings(stocked, BARE) == set()
    succeeded(stocked.run("verify", "--repair"))
    assert layout.read_text() == "1\n"
    assert succeeded(stocked.run("gc")) == []


def test_a_newer_layout_is_not_touched(stocked: Home) -> None:
    (stocked.store / "layout").write_text("2\n")
    assert findings(stocked) == set()
    flip(stocked.store / LIBRARY)
    refused(stocked.run("gc"), "has layout 2, but this cudaswitch writes 1", hint="newer")
    assert stocked.run("verify", "--repair").returncode == 1
    assert (stocked.store / "layout").read_text() == "2\n"


def test_what_is_mended_is_told_beside_what_cannot_be(stocked: Home, pair: list[Path]) -> None:
    flip(stocked.store / LIBRARY)
    flip(next((stocked.store / "packages").glob("cudatoolkit*/tree/lib/libcudart.so.10.1.243")))
    whole = len(findings(stocked))
    shutil.rmtree(stocked.path / "xdg-cache", ignore_errors=True)
    pair[0].unlink()
    done = stocked.run("verify", "--repair", "--json")
    assert done.returncode == 1
    assert f"there is no file `{pair[0]}`" in done.stderr
    told = json.loads(done.stdout)
    assert told["repaired"] and told["findings"]
    assert len(told["repaired"]) + len(told["findings"]) == whole
    assert not any("libcudart" in path for path in told["repaired"])
