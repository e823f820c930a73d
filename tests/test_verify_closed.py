"""verify where a folder, file or record is not open as the store is, and --repair of its mode."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from checks import refused, snapshot, succeeded
from homes import Home
from stock import FULL
from tools import root_only
from verifying import CUDNN, LIBRARY, findings, flip, found_by

KIT = f"toolkits/{FULL}"
FOLDERS = (CUDNN, f"{CUDNN}/tree", f"{CUDNN}/tree/lib", KIT, f"{KIT}/lib64")


@pytest.mark.parametrize("mode", [0, stat.S_IRUSR, stat.S_IXUSR])
@pytest.mark.parametrize("at", FOLDERS)
def test_a_folder_that_is_closed(stocked: Home, at: str, mode: int) -> None:
    before = snapshot(stocked.store)
    folder = stocked.store / at
    modes = folder.stat().st_mode
    folder.chmod(mode)
    assert found_by(stocked.run_plainly("verify", "--json"), stocked) == {("changed", at)}
    done = stocked.run_plainly("verify", "--repair")
    succeeded(done)
    assert "repaired 1 file" in done.stderr
    assert folder.stat().st_mode == modes
    after = snapshot(stocked.store)
    # Records of packages hold the time at which they were written.
    assert after.keys() == before.keys()
    assert findings(stocked) == set()


@pytest.mark.parametrize(
    ("at", "mode"),
    [
        *((folder, 0o777) for folder in (*FOLDERS, "packages", "toolkits")),
        *((folder, 0o700) for folder in (*FOLDERS, "packages", "toolkits")),
        *((f"{KIT}/lib64", mode) for mode in (0o775, 0o757)),
        *((f"{KIT}/{record}", 0o666) for record in ("cudaswitch.json", "cudaswitch-files.json")),
        (f"{CUDNN}/cudaswitch.json", 0o600),
        *(
            (f"{KIT}/lib64/libcudnn.so.7.6.5", mode)
            for mode in (0o600, 0o000, 0o664, 0o666, 0o4644)
        ),
    ],
)
def test_what_is_not_open_as_the_store_is(stocked: Home, at: str, mode: int) -> None:
    """A mode that lets anybody write, or only the owner read, is found and mended."""
    before = snapshot(stocked.store)
    (stocked.store / at).chmod(mode)
    # It is the same file as in the package.
    also = {("changed", LIBRARY)} if at.endswith(".so.7.6.5") else set()
    assert findings(stocked) == {("changed", at), *also}
    succeeded(stocked.run("verify", "--repair"))
    assert snapshot(stocked.store) == before
    assert findings(stocked) == set()


def test_a_store_of_one_person_or_of_a_group(stocked: Home) -> None:
    for mode in (0o700, 0o770, 0o775):
        for folder in (stocked.store, *(stocked.store / at for at in FOLDERS)):
            folder.chmod(mode)
        assert findings(stocked) == set()


@root_only
def test_what_somebody_else_has_opened_is_told(stocked: Home) -> None:
    opened = stocked.store / KIT / "lib64"
    os.chown(opened, 1, -1)
    opened.chmod(0o777)
    done = stocked.run_plainly("verify", "--repair")
    refused(
        done,
        f"`{opened}` is not open as the store is, and somebody else's",
        hint="ask its owner to run cudaswitch verify --repair",
    )
    assert findings(stocked) == {("changed", f"{KIT}/lib64")}


def test_what_is_wrong_behind_it_is_mended_too(stocked: Home) -> None:
    flip(stocked.store / LIBRARY)
    (stocked.store / CUDNN / "tree/lib/mine").mkdir()
    for at in (f"{CUDNN}/tree/lib/mine", f"{CUDNN}/tree/lib", "packages/strange"):
        (stocked.store / at).mkdir(exist_ok=True)
        (stocked.store / at).chmod(0)
    found = found_by(stocked.run_plainly("verify", "--json"), stocked)
    assert found == {
        ("changed", f"{CUDNN}/tree/lib"),
        ("changed", f"{KIT}/lib64/libcudnn.so.7.6.5"),
        ("changed", "packages/strange"),
    }
    succeeded(stocked.run_plainly("verify", "--repair"))
    assert findings(stocked) == set()
    assert list(stocked.store.glob("set-aside/*/packages/strange"))


@root_only
def test_what_somebody_else_has_closed_stops_no_other(stocked: Home) -> None:
    """A folder that its owner has closed, as in a group's store, stops no other repair."""
    flip(stocked.store / LIBRARY)
    shut = stocked.store / KIT / "lib64"
    os.chown(shut, 1, -1)
    shut.chmod(0)
    done = stocked.run_plainly("verify", "--repair")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"cudaswitch: `{shut}` is closed to you, and somebody else's",
        "hint: ask its owner to run cudaswitch verify --repair",
        "cudaswitch: repaired 1 file",
    ]
    assert found_by(stocked.run_plainly("verify", "--json"), stocked) == {
        ("changed", f"{KIT}/lib64")
    }


@pytest.mark.parametrize("mode", [0, stat.S_IXUSR])
def test_gc_tells_what_opens_a_package_that_is_closed(stocked: Home, mode: int) -> None:
    """`gc` says how to open a closed package that no toolkit uses, which is not set aside."""
    shutil.rmtree(stocked.store / KIT)
    at = stocked.store / CUDNN
    before = at.stat().st_mode
    at.chmod(mode)
    hint = "which is closed to you: `cudaswitch verify --repair` opens it"
    for words in (["gc", "--dry-run"], ["gc"]):
        done = stocked.run_plainly(*words)
        assert succeeded(done) == []
        assert done.stderr.startswith(f"cudaswitch: skipped: `{at}`, {hint}\n")
    succeeded(stocked.run_plainly("verify", "--repair"))
    assert at.stat().st_mode == before
    [line] = succeeded(stocked.run("gc"))
    assert line.split()[0] == "package"
    assert not at.exists()
