"""One toolkit of one's own store that cannot be read: it is named, and the others still work."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from checks import Done, refused, snapshot, succeeded
from cudaswitch.paths import CONTENTS, MANIFEST
from homes import Home
from mounts import in_own_mounts
from stock import BARE, FULL, stored, toolkit
from tools import console_script
from verifying import CUDNN, LIBRARY, findings, flip, found_by

PACKAGES = ("cudatoolkit-10.1.243-h6bb024c_0", CUDNN.rpartition("/")[2])

RECORD = f"toolkits/{FULL}/cudaswitch.json"


def rewritten(key: str, value: object) -> Callable[[Path], object]:
    """Return what gives a record another value, as damage on the disk may."""
    return lambda at: at.write_text(json.dumps(json.loads(at.read_text()) | {key: value}))


BAD: dict[str, tuple[str, Callable[[Path], object], tuple[str, str]]] = {
    "a circle of links": (
        "toolkits/9.2",
        lambda at: at.symlink_to("9.2"),
        ("extra", "toolkits/9.2"),
    ),
    "a folder that is closed": (
        f"toolkits/{FULL}",
        lambda at: at.chmod(0),
        ("changed", f"toolkits/{FULL}"),
    ),
    "a record that is closed": (RECORD, lambda at: at.chmod(0), ("changed", RECORD)),
    "a record that is damaged": (RECORD, lambda at: at.write_text("{"), ("changed", RECORD)),
    "another name": (RECORD, rewritten("name", "10.1.243+cudnn7.6.4"), ("changed", RECORD)),
    "another version": (RECORD, rewritten("version", "10.1.242"), ("changed", RECORD)),
    "another cuDNN": (RECORD, rewritten("cudnn", None), ("changed", RECORD)),
}


@pytest.fixture
def three(stocked: Home, tmp_path: Path) -> Home:
    succeeded(stocked.run("install", toolkit(tmp_path, "11.8.0")))
    return stocked


def went_on(done: Done, at: Path) -> list[str]:
    """Check that a command named what is bad, once, and how to mend it; return what it printed."""
    lines = succeeded(done)
    named = [line for line in done.stderr.splitlines() if str(at) in line]
    assert len(named) == 1, done.stderr
    assert named[0].endswith("so it is skipped")
    assert "hint: cudaswitch verify --repair\n" in done.stderr
    return lines


@pytest.mark.parametrize("bad", BAD)
def test_it_is_passed_over(three: Home, tmp_path: Path, bad: str) -> None:
    path, harm, finding = BAD[bad]
    at = three.store / path
    before = snapshot(three.store)
    harm(at)
    assert "11.8.0" in str(went_on(three.run_plainly("list"), at))
    done = three.run_plainly("exec", "11.8", "--", "printenv", "CUDA_HOME")
    assert went_on(done, at) == [str(three.store / "toolkits/11.8.0")]
    went_on(three.run_plainly("remove", "11.8"), at)
    went_on(three.run_plainly("gc"), at)
    # The packages that the bad toolkit is made of stay.
    assert set(PACKAGES) <= set(stored(three)["packages"])
    # A package that is put in now would be combined with the bad toolkit.
    done = three.run_plainly("install", toolkit(tmp_path, "11.8.0"))
    assert refused(done, str(at), hint="cudaswitch verify --repair")
    assert found_by(three.run_plainly("verify", "--json"), three) == {finding}
    succeeded(three.run_plainly("verify", "--repair"))
    succeeded(three.run_plainly("install", toolkit(tmp_path, "11.8.0")))
    assert findings(three) == set()
    assert stored(three)["toolkits"] == [BARE, FULL, "11.8.0"]
    assert before.keys() <= snapshot(three.store).keys()


@pytest.mark.parametrize("options", [[], ["--force"]], ids=str)
def test_what_has_no_record_is_set_aside_by_what_takes_its_name(
    home: Home, tmp_path: Path, pair: list[Path], options: list[str]
) -> None:
    """What has no record is set aside by an install that takes its name: it may be an only copy."""
    mine = {f"toolkits/{BARE}/notes", f"packages/{PACKAGES[0]}/tree/lib/mine", f"toolkits/{FULL}"}
    for path in mine:
        (home.store / path).parent.mkdir(parents=True, exist_ok=True)
        (home.store / path).write_text(f"the only copy of {path}\n")
    (home.store / "packages" / PACKAGES[1]).mkdir()
    done = home.run("install", *options, *pair)
    assert succeeded(done) == [BARE, FULL]
    kept = {path: at for path in mine for at in home.store.glob(f"set-aside/*/{path}")}
    assert {path: at.read_text() for path, at in kept.items()} == {
        path: f"the only copy of {path}\n" for path in mine
    }
    owners = {"/".join(path.split("/")[:2]): path for path in mine}
    told = [line for line in done.stderr.splitlines() if "set-aside" in line]
    assert sorted(told) == sorted(
        f"cudaswitch: moved `{home.store / owner}`, which does not belong to cudaswitch, to"
        f" `{str(kept[path]).removesuffix(path)}{owner}`"
        for owner, path in owners.items()
    )
    assert findings(home) == set()


def test_what_stands_where_a_toolkit_is_adopted_is_set_aside(home: Home, tmp_path: Path) -> None:
    notes = home.store / "toolkits/9.0.176/notes"
    notes.parent.mkdir(parents=True)
    notes.write_text("the only copy\n")
    place = tmp_path / "cuda"
    builders.elf_library(place / "lib64/libcudart.so.9.0", "libcudart.so.9.0", {"x": 1})
    succeeded(home.run("adopt", place, "--as", "9.0.176"))
    [kept] = home.store.glob("set-aside/*/toolkits/9.0.176/notes")
    assert kept.read_text() == "the only copy\n"
    succeeded(home.run("exec", "9.0", "--", "true"))


def test_a_toolkit_that_is_adopted_again_gets_a_new_record(home: Home, tmp_path: Path) -> None:
    """The damaged one held all that the store had of it, and nothing can repair that."""
    for version in ("9.0.176", "9.1.85"):
        builders.elf_library(
            tmp_path / version / "lib64/libcudart.so.9.0", "libcudart.so.9.0", {"x": 1}
        )
        succeeded(home.run("adopt", tmp_path / version, "--as", version))
    record = home.store / "toolkits/9.0.176" / MANIFEST
    record.write_text("{")
    damaged = f"the record `{record}` is damaged"
    # It may have been this one, with another number then.
    for options in ([tmp_path / "9.1.85", "--as", "9.1.86"], ["--scan", "--yes"]):
        refused(home.run("adopt", *options), damaged, hint="cudaswitch verify --repair")
    refused(home.run("verify", "--repair"), hint="cudaswitch adopt PATH")
    done = home.run("adopt", tmp_path / "9.0.176", "--as", "9.0.176")
    assert succeeded(done)[0].split() == ["9.0.176", str(tmp_path / "9.0.176")]
    [kept] = home.store.glob(f"set-aside/*/toolkits/9.0.176/{MANIFEST}")
    assert kept.read_text() == "{"
    assert f"`{kept.parent}`" in done.stderr and damaged not in done.stderr
    succeeded(home.run("exec", "9.0", "--", "true"))


def test_nothing_advises_to_repair_what_is_beyond_repair(stocked: Home, tmp_path: Path) -> None:
    library = tmp_path / "cuda/lib64/libcudart.so.9.0"
    builders.elf_library(library, "libcudart.so.9.0", {"x": 1})
    succeeded(stocked.run("adopt", tmp_path / "cuda", "--as", "9.0.176"))
    (stocked.store / "toolkits/9.0.176" / MANIFEST).write_text("{")
    (stocked.store / "toolkits/10.1.243/version.json").unlink()
    done = stocked.run("verify", "--repair")
    assert done.returncode == 1
    assert "cudaswitch adopt PATH" in done.stderr and "repaired 1 file" in done.stderr
    assert "hint: cudaswitch verify --repair" not in done.stderr


def test_a_damaged_toolkit_that_was_installed_is_repaired(stocked: Home, tmp_path: Path) -> None:
    """`adopt` does not set aside what `verify --repair` can repair."""
    record = stocked.store / "toolkits/10.1.243" / MANIFEST
    record.write_text("{")
    builders.elf_library(tmp_path / "kit/lib64/libcudart.so.10.1", "libcudart.so.10.1", {"x": 1})
    done = stocked.run("adopt", tmp_path / "kit", "--as", "10.1.243")
    refused(done, f"the record `{record}` is damaged", hint="cudaswitch verify --repair")
    succeeded(stocked.run("verify", "--repair"))
    assert findings(stocked) == set()


@pytest.mark.parametrize("kind", ["toolkits", "packages"])
def test_a_link_to_nothing_is_none(stocked: Home, tmp_path: Path, kind: str) -> None:
    link = stocked.store / kind / "gone"
    link.symlink_to(tmp_path / "gone")
    assert findings(stocked) == {("extra", f"{kind}/gone")}
    succeeded(stocked.run("verify", "--repair"))
    [kept] = stocked.store.glob(f"set-aside/*/{kind}/*")
    assert kept.readlink() == tmp_path / "gone"
    assert "2 toolkits of 2 packages" in stocked.run("verify").stderr


def test_a_damaged_list_of_what_was_being_removed(stocked: Home) -> None:
    """A list that was lost while a removal was killed is no finding."""
    staging = stocked.store / ".staging"
    for name in ("9.2", "11.0"):
        folder = staging / f"removed-{name}-00000000"
        folder.mkdir(parents=True)
        (folder / CONTENTS).touch()
    succeeded(stocked.run("alias", "a", "10.1"))
    assert findings(stocked) == set()
    # Nor does it keep other removals from being finished.
    for name in (BARE, FULL):
        (stocked.store / "toolkits" / name).rename(staging / f"removed-{name}-00000000")
    assert len(stored(stocked)["packages"]) == 2
    succeeded(stocked.run("alias", "b", "10.1"))
    assert stored(stocked)["packages"] == []
    succeeded(stocked.run("gc"))


@pytest.mark.parametrize("value", [5, ["10.1"], {}])
@pytest.mark.parametrize("key", ["name", "path", "source", "platform"])
def test_a_record_with_other_kinds_of_values(three: Home, key: str, value: object) -> None:
    record = three.store / RECORD
    rewritten(key, value)(record)
    done = three.run("list")
    assert "internal error" not in done.stderr
    assert went_on(done, record)
    succeeded(three.run("verify", "--repair"))
    assert findings(three) == set()


@pytest.mark.parametrize("name", [f"{BARE}-old", f"{FULL}.bak"])
def test_a_toolkit_under_another_name(three: Home, name: str) -> None:
    """A folder that somebody renamed or copied is not taken for the toolkit that it was."""
    other = three.store / "toolkits" / name
    shutil.copytree(three.store / "toolkits" / FULL, other, symlinks=True)
    record = other / MANIFEST
    lines = went_on(three.run("list"), record)
    assert [line.split()[0] for line in lines] == [BARE, FULL, "11.8.0"]
    assert findings(three) == {("changed", f"toolkits/{name}/{MANIFEST}")}
    refused(three.run("verify", "--repair"), name, hint=f"`{other}` the name that it had, or")
    # Its packages are not lost with the toolkit, in case that is given its name back.
    went_on(three.run("remove", FULL), record)
    other.rename(three.store / "toolkits" / FULL)
    assert findings(three) == set()
    succeeded(three.run("exec", FULL, "--", "true"))


@pytest.mark.parametrize(
    ("key", "value"), [("name", "cudnm"), ("version", "7.6.4"), ("build", "cuda10.0_0")]
)
def test_a_package_whose_record_is_of_another(
    stocked: Home, pair: list[Path], key: str, value: str
) -> None:
    record = stocked.store / CUDNN / MANIFEST
    rewritten(key, value)(record)
    flip(stocked.store / LIBRARY)
    refused(stocked.run("install", *pair), str(record), hint="cudaswitch verify --repair")
    assert ("changed", f"{CUDNN}/{MANIFEST}") in findings(stocked)
    succeeded(stocked.run("verify", "--repair"))
    assert findings(stocked) == set()
    succeeded(stocked.run("install", *pair))


def test_a_package_that_is_missing_is_brought_back(
    home: Home, pair: list[Path], tmp_path: Path
) -> None:
    """`verify --repair` brings a missing package back, even if its toolkit is pinned."""
    succeeded(home.run("install", pair[0]))
    succeeded(home.run("pin", "10.1", "--dir", tmp_path))
    shutil.rmtree(home.store / "packages" / PACKAGES[0])
    refused(
        home.run("install", pair[1]),
        f"toolkit {BARE} is missing its package {PACKAGES[0]}",
        hint=f"cudaswitch verify {BARE} --repair",
    )
    succeeded(home.run("verify", BARE, "--repair"))
    assert succeeded(home.run("install", pair[1])) == [FULL]


def test_what_cannot_be_mended_stops_no_other(
    three: Home, pair: list[Path], tmp_path: Path
) -> None:
    """A package whose file is gone, or a toolkit that nothing describes, stops no other repair."""
    place = tmp_path / "cuda"
    builders.elf_library(place / "lib64/libcudart.so.9.0", "libcudart.so.9.0", {"x": 1})
    succeeded(three.run("adopt", place, "--as", "9.0.176"))
    adopted = three.store / "toolkits/9.0.176"
    (adopted / MANIFEST).write_text("{")
    pair[0].unlink()
    # Nothing is composed of a package that lacks files.
    (three.store / "packages" / PACKAGES[0] / "tree/lib/libcudart.so.10.1.243").unlink()
    flip(three.store / LIBRARY)
    (three.store / "toolkits/11.8.0/lib64/libcudart.so.11.8").unlink()
    done = three.run("verify", "--repair")
    assert done.returncode == 1
    assert done.stderr.count(f"no file `{pair[0]}`") == 1
    assert done.stderr.endswith(
        f"adopt PATH; or delete `{adopted}`\ncudaswitch: repaired 2 files\n"
    )
    owners = {"/".join(Path(path).parts[:2]) for _, path in findings(three)}
    assert owners == {
        f"packages/{PACKAGES[0]}",
        f"toolkits/{FULL}",
        "toolkits/9.0.176",
    }


def test_a_toolkit_that_cannot_be_changed_stops_no_other(three: Home) -> None:
    """Nor does something else: a mount, as in a container, is neither moved nor replaced."""
    at, strange = three.store / "toolkits" / FULL / "version.json", three.store / "packages/mine"
    strange.mkdir()
    missing = three.store / "toolkits/11.8.0/lib64/libcudart.so.11.8"
    missing.unlink()
    script = 'mount --bind /dev/null "$1"; mount --bind "$2" "$2"; shift 2; exec "$@"'
    mended = in_own_mounts(
        script, at, strange, console_script(), "verify", "--repair",
        cwd=three.path, env=three.env,
    )  # fmt: skip
    assert (mended.returncode, mended.stdout) == (1, "")
    package, kit, count = mended.stderr.splitlines()[::2]
    assert package == f"cudaswitch: cannot write `{strange}`: Device or resource busy"
    assert f"toolkit-{FULL}-" in kit and kit.endswith("/version.json`: Device or resource busy")
    assert count == "cudaswitch: repaired 1 file"
    assert missing.is_symlink()
