"""What pins hold, and how they follow what is installed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from adoptable import smallest
from checks import refused, remarks, snapshot, succeeded
from homes import Home
from mounts import in_own_mounts
from shells.conda import conda_prefix
from stock import BARE, FULL, stored, toolkit
from tools import closed, console_script, root_only


def test_what_is_pinned_stays_unless_forced(stocked: Home, tmp_path: Path) -> None:
    prefix, project = conda_prefix(tmp_path / "env"), tmp_path / "project"
    project.mkdir()
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    succeeded(stocked.run("pin", "10.1", "--cudnn", "none", "--dir", project))
    succeeded(stocked.run("pin", BARE, "--cudnn", "7", "--global"))
    before = snapshot(stocked.store)
    message = refused(stocked.run("remove", FULL), str(prefix), "--global", hint="--force")
    assert str(project) not in message
    refused(stocked.run("remove", BARE), f"pinned by {project}/.cuda-version")
    assert snapshot(stocked.store) == before
    rows = json.loads(stocked.run("list", "--json").stdout)["toolkits"]
    assert {row["name"]: row["pinned_by"] for row in rows} == {
        BARE: [f"{project}/.cuda-version"],
        FULL: [str(prefix), "you (--global)"],
    }
    succeeded(stocked.run("unpin", "--dir", project))
    succeeded(stocked.run("remove", BARE))
    succeeded(stocked.run("remove", "--force", FULL))
    assert stored(stocked)["toolkits"] == []


def test_many_are_told_in_their_order(stocked: Home, tmp_path: Path) -> None:
    """`list` names only a few pins in its lines; `remove` names all that are in the way."""
    prefixes = [str(conda_prefix(tmp_path / name)) for name in "abcdefg"]
    for prefix in prefixes:
        succeeded(stocked.run("pin", "10.1", "-p", prefix))
    refused(stocked.run("remove", FULL), f"pinned by {', '.join(prefixes)}", hint="--force")
    [line] = [one for one in succeeded(stocked.run("list")) if "pinned by" in one]
    assert line.endswith(f"pinned by {', '.join(prefixes[:5])} and 2 more")


def test_pins_without_a_toolkit_are_listed_too(stocked: Home, tmp_path: Path) -> None:
    """`list` names pins without a toolkit, so that nobody forgets hooks after removing toolkits."""
    prefixes = {name: str(conda_prefix(tmp_path / name)) for name in ("auto", "system", "gone")}
    (tmp_path / "tree").mkdir()
    for name, request in (("auto", "auto"), ("system", "system"), ("gone", BARE)):
        succeeded(stocked.run("pin", request, "-p", prefixes[name]))
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "--dir", tmp_path / "tree"))
    succeeded(stocked.run("remove", "--force", BARE, FULL))
    done = stocked.run("list")
    assert done.returncode == 0
    tree = f"{tmp_path}/tree/.cuda-version"
    told = f"{prefixes['gone']} ({BARE}), {tree} ({BARE}+cudnnnone)\n"
    assert done.stderr.startswith(f"cudaswitch: pinned, but not installed: {told}")
    assert done.stderr.splitlines()[1] == "cudaswitch: no toolkit is installed"
    shown = [*prefixes.values(), tree]
    rows = {row["holder"]: row for row in json.loads(stocked.run("list", "--json").stdout)["pins"]}
    assert set(rows) == set(shown)
    assert [rows[prefixes[name]]["request"] for name in prefixes] == ["auto", "system", BARE]
    assert rows[prefixes["system"]] == {
        "holder": prefixes["system"],
        "file": f"{prefixes['system']}/etc/cudaswitch/pin",
        "request": "system",
        "path": None,
    }
    for holder in shown:
        option = "--dir" if holder.endswith(".cuda-version") else "-p"
        succeeded(stocked.run("unpin", option, holder.removesuffix("/.cuda-version")))
    assert "pinned" not in stocked.run("list").stderr


def test_an_environment_has_one_pin_however_its_path_is_spelled(
    stocked: Home, tmp_path: Path
) -> None:
    prefix, link = conda_prefix(tmp_path / "env"), tmp_path / "link"
    link.symlink_to(prefix)
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    succeeded(stocked.run("pin", "10.1", "--cudnn", "none", "-p", link))
    kits = json.loads("\n".join(succeeded(stocked.run("list", "--json"))))["toolkits"]
    assert {kit["name"]: kit["pinned_by"] for kit in kits} == {BARE: [str(link)], FULL: []}
    succeeded(stocked.run("remove", FULL))
    succeeded(stocked.run("unpin", "-p", prefix))
    succeeded(stocked.run("remove", BARE))


def test_a_pin_holds_however_the_path_of_the_store_is_spelled(
    stocked: Home, tmp_path: Path
) -> None:
    """A pin, even of a copy without a note, holds however the path of the store is spelled."""
    prefix, copy = conda_prefix(tmp_path / "env"), tmp_path / "copy"
    (tmp_path / "link").symlink_to(stocked.store)
    linked = {"CUDASWITCH_HOME": str(tmp_path / "link")}
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "--global", **linked))
    shutil.copytree(prefix, copy)
    (stocked.path / ".conda").mkdir()
    (stocked.path / ".conda" / "environments.txt").write_text(f"{prefix}\n{copy}\n")
    expected = {BARE: ["you (--global)"], FULL: [str(copy), str(prefix)]}
    for variables in ({}, linked):
        kits = json.loads(stocked.run("list", "--json", **variables).stdout)["toolkits"]
        assert {kit["name"]: kit["pinned_by"] for kit in kits} == expected
        refused(stocked.run("remove", FULL, **variables), f"pinned by {copy}, {prefix}")
        refused(stocked.run("remove", BARE, **variables), "pinned by you (--global)")


def test_a_pin_holds_where_the_store_is_mounted_elsewhere(stocked: Home, tmp_path: Path) -> None:
    """A store may be seen under two paths, as in a container, and neither is a link."""
    prefix, other = conda_prefix(tmp_path / "env"), tmp_path / "other"
    other.mkdir()
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    script = """
        mount --bind "$1" "$2"
        CUDASWITCH_HOME=$2; export CUDASWITCH_HOME
        "$3" list; "$3" remove "$4"
    """
    words = (stocked.store, other, console_script(), FULL)
    done = in_own_mounts(script, *words, cwd=tmp_path, env=stocked.env)
    told = f"pinned by {prefix}"
    assert told in done.stdout
    assert done.stderr.splitlines()[0] == f"cudaswitch: {FULL} is {told}"


def test_who_is_gone_pins_nothing(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    prefix.rename(tmp_path / "moved")
    succeeded(stocked.run("remove", FULL))


@pytest.mark.parametrize("text", ["99.9\n", "$(id)\n"])
def test_a_pin_without_an_answer_holds_nothing(stocked: Home, tmp_path: Path, text: str) -> None:
    succeeded(stocked.run("pin", "10.1", "--dir", tmp_path))
    (tmp_path / ".cuda-version").write_text(text)
    kits = json.loads("\n".join(succeeded(stocked.run("list", "--json"))))["toolkits"]
    assert [kit["pinned_by"] for kit in kits] == [[], []]


def test_damaged_notes_about_pins_do_no_harm(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    texts = ["", "{", "[]", '{"path": 1}', "\udcff", "[" * 2_000]
    pin = str(prefix / "etc/cudaswitch/pin")
    notes = [(None, None), (1, None), ("/a\0b", None), ("/\ud800", ""), ([], {})]
    notes += [(pin, damaged) for damaged in (5, "\0", ["/"])]
    texts += [json.dumps({"path": path, "hooked": hooked}) for path, hooked in notes]
    texts += [json.dumps({"path": pin, "hooked": None, "held": held}) for held in (5, {}, "\0")]
    for number, text in enumerate(texts):
        path = stocked.store / "pins" / f"{number}.tmp"
        path.write_text(text, errors="surrogateescape")
    refused(stocked.run("remove", FULL), str(prefix))
    for command in (("list",), ("alias", "mine", "10.1"), ("gc",)):
        succeeded(stocked.run(*command))


def test_pins_follow_what_is_installed(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    hook = prefix / "etc/conda/activate.d/~~cudaswitch.sh"

    def switched_to() -> str:
        script = f'CONDA_PREFIX={prefix}; . "{hook}"; printenv CUDA_HOME'
        done = subprocess.run(
            ["sh", "-c", script], env=stocked.env | {"CONDA_PREFIX": str(prefix)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return Path(done.stdout.strip()).name

    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    assert switched_to() == FULL
    succeeded(stocked.run("install", toolkit(tmp_path, "10.1.300")))
    assert switched_to() == "10.1.300+cudnn7.6.5"
    succeeded(stocked.run("remove", "--force", "10.1.300+cudnn7.6.5"))
    assert switched_to() == "10.1.300"
    succeeded(stocked.run("remove", "--force", "10.1.300"))
    assert switched_to() == FULL


def test_pins_follow_what_went_before_a_removal_failed(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("install", toolkit(tmp_path, "10.2.89")))
    succeeded(stocked.run("pin", "10", "-p", prefix))
    want = prefix / "etc/cudaswitch/want"
    assert want.read_text().splitlines()[-1] == "10.2.89"
    [package] = (stocked.store / "packages").glob("cudnn-*")
    with (stocked.store / "locks" / f"{package.name}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = stocked.run("remove", "--force", "10.2.89", FULL, CUDASWITCH_WAIT="0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 3), done.stderr
    assert "removed 10.2.89\n" in done.stderr
    assert want.read_text().splitlines()[-1] == FULL


@pytest.mark.parametrize("closed", [False, True], ids=["open", "read-only"])
def test_hooks_follow_an_update_of_cudaswitch(stocked: Home, tmp_path: Path, closed: bool) -> None:
    """Texts of an older cudaswitch are replaced in hooks, and serve where they cannot be."""
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    folder = prefix / "etc" / "cudaswitch"
    now = snapshot(prefix)
    (folder / "core.sh").write_text("older\n")
    (folder / "copies.csh").unlink()
    before = snapshot(prefix)
    folder.chmod(0o555 if closed else 0o755)
    done = stocked.run_plainly("install", toolkit(tmp_path, "10.2.89"))
    folder.chmod(0o755)
    assert (succeeded(done), done.stderr) == (["10.2.89"], "")
    assert snapshot(prefix) == (before if closed else now)


def test_a_pinned_directory_is_one_however_it_is_written(stocked: Home) -> None:
    (stocked.path / "sub").mkdir()
    for folder in (".", "sub/..", stocked.path):
        succeeded(stocked.run("pin", "10.1", "--dir", folder))
    kits = json.loads(stocked.run("list", "--json").stdout)["toolkits"]
    assert [kit["pinned_by"] for kit in kits if kit["name"] == FULL] == [
        [str(stocked.path / ".cuda-version")]
    ]


def test_environments_follow_an_alias(stocked: Home, tmp_path: Path) -> None:
    """Pinned environments follow an alias, as directories, the user and shells do."""
    succeeded(stocked.run("install", toolkit(tmp_path, "12.4.1")))
    succeeded(stocked.run("alias", "work", "10.1"))
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "work", "-p", prefix))
    succeeded(stocked.run("alias", "work", "12.4"))
    hook = (prefix / "etc/conda/activate.d/~~cudaswitch.sh").read_text().replace("''", "")
    assert "12.4.1" in hook
    assert "10.1" not in hook
    kits = {
        kit["name"]: kit for kit in json.loads(stocked.run("list", "--json").stdout)["toolkits"]
    }
    assert kits["12.4.1"]["pinned_by"] == [str(prefix)]


def test_a_clone_of_a_pinned_environment_pins_too(home: Home, tmp_path: Path) -> None:
    """A clone, which conda's list and no note of ours names, pins by its own pin and hooks."""
    for version in ("12.7.0", "12.7.1"):
        smallest(tmp_path / version, version)
    succeeded(home.run("adopt", tmp_path / "12.7.0"))
    original, clone = conda_prefix(tmp_path / "original"), tmp_path / "clone"
    succeeded(home.run("pin", "12.7", "--prefix", original))
    shutil.copytree(original, clone)
    shutil.rmtree(original)
    (home.path / ".conda").mkdir()
    (home.path / ".conda" / "environments.txt").write_text(f"{original}\n{clone}\n")
    [kit] = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert kit["pinned_by"] == [str(clone)]
    assert f"pinned by {clone}" in refused(home.run("remove", "12.7.0"))
    succeeded(home.run("adopt", tmp_path / "12.7.1"))
    kits = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert [kit["pinned_by"] for kit in kits] == [[], [str(clone)]]
    hook = (clone / "etc/conda/activate.d/~~cudaswitch.sh").read_text()
    assert "12.7.1" in hook
    succeeded(home.run("unpin", "--prefix", clone))
    succeeded(home.run("remove", "12.7.1"))


def test_what_unpin_left_in_a_clone_goes_too(stocked: Home, tmp_path: Path) -> None:
    """It has no note of ours either, as after `conda rename`."""
    original, clone = conda_prefix(tmp_path / "original"), tmp_path / "clone"
    succeeded(stocked.run("pin", "10.1", "-p", original))
    succeeded(stocked.run("unpin", "-p", original))
    (stocked.path / ".conda").mkdir()
    (stocked.path / ".conda" / "environments.txt").write_text(f"{original}\n{clone}\n")
    os.utime(original / "etc/cudaswitch", (0, 0))
    # Where there is a note, it knows better who may need the hooks.
    assert "core.sh" not in stocked.run("gc", "--dry-run").stdout
    original.rename(clone)
    taken = {line.split()[-1] for line in succeeded(stocked.run("gc"))}
    assert f"{clone}/etc/cudaswitch/core.sh" in taken
    assert not list(clone.rglob("*cudaswitch*"))


def test_an_environment_that_was_moved_pins_where_this_shell_is_in_it(
    stocked: Home, tmp_path: Path
) -> None:
    """A moved environment, unknown to conda and to our notes, pins for the shell that is in it."""
    prefix, moved = conda_prefix(tmp_path / "env"), tmp_path / "moved"
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    prefix.rename(moved)
    done = stocked.run("remove", FULL, CONDA_PREFIX=str(moved), CONDA_SHLVL="1")
    refused(done, f"pinned by {moved}", hint="--force")
    succeeded(stocked.run("remove", FULL))


def test_an_environment_that_was_moved_pins_once_a_change_was_made_in_it(
    stocked: Home, tmp_path: Path
) -> None:
    prefix, moved = conda_prefix(tmp_path / "env"), tmp_path / "moved"
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    prefix.rename(moved)
    kit = smallest(tmp_path / "12.7.0", "12.7.0")
    succeeded(stocked.run("adopt", kit, CONDA_PREFIX=str(moved), CONDA_SHLVL="1"))
    refused(stocked.run("remove", FULL), f"pinned by {moved}", hint="--force")
    succeeded(stocked.run("unpin", "-p", moved))
    succeeded(stocked.run("remove", FULL))


def test_a_version_file_that_came_with_its_tree_pins_below_it(
    stocked: Home, tmp_path: Path
) -> None:
    below = tmp_path / "tree" / "below"
    below.mkdir(parents=True)
    version_file = tmp_path / "tree" / ".cuda-version"
    version_file.write_text("10.1\n")
    told = f"pinned by {version_file}"
    assert told in "".join(succeeded(stocked.run("list", cwd=below)))
    refused(stocked.run("remove", FULL, cwd=below), told, hint="--force")
    succeeded(stocked.run("remove", FULL))
    version_file.write_text("99\n")
    assert f"not installed: {version_file} (99)" in stocked.run("list", cwd=below).stderr


def test_a_store_that_was_moved_keeps_what_is_pinned(stocked: Home, tmp_path: Path) -> None:
    """A pin names a version, so it holds the toolkit at its new place when the store has moved."""
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    moved = stocked.store.rename(tmp_path / "moved")
    there = {"CUDASWITCH_HOME": str(moved)}
    rows = json.loads(stocked.run("list", "--json", **there).stdout)
    assert [row["pinned_by"] for row in rows["toolkits"] if row["name"] == FULL] == [[str(prefix)]]
    assert rows["pins"][0]["path"] == f"{moved}/toolkits/{FULL}"
    refused(stocked.run("remove", FULL, **there), f"pinned by {prefix}", hint="--force")


def test_what_may_not_be_looked_at_pins_nothing(stocked: Home, tmp_path: Path) -> None:
    """What conda's list names pins nothing if it is closed to us, and only once if it is a link."""
    closed = conda_prefix(tmp_path / "closed" / "env")
    half = conda_prefix(tmp_path / "half")
    (half / "etc" / "cudaswitch").mkdir()
    mine = conda_prefix(tmp_path / "mine")
    (tmp_path / "link").symlink_to(mine)
    succeeded(stocked.run("pin", "10.1", "--prefix", mine))
    lines = [closed, half, mine, tmp_path / "link", "no/such\0thing", tmp_path / "nowhere"]
    (stocked.path / ".conda" / "envs").mkdir(parents=True)
    (stocked.path / ".conda" / "environments.txt").write_text("\n".join(map(str, lines)))
    shut = [closed.parent, half / "etc" / "cudaswitch", stocked.path / ".conda" / "envs"]
    for folder in shut:
        folder.chmod(0)
    try:
        done = stocked.run_plainly("list", "--json")
        kits = {kit["name"]: kit for kit in json.loads("".join(succeeded(done)))["toolkits"]}
        assert kits[FULL]["pinned_by"] == [str(mine)]
        (stocked.path / ".conda" / "environments.txt").chmod(0)
        assert succeeded(stocked.run_plainly("list", "--json"))
    finally:
        for folder in shut:
            folder.chmod(0o755)


@root_only
def test_another_users_version_file_and_global_pin_hold_what_they_ask_for(
    stocked: Home, tmp_path: Path
) -> None:
    """They decide nothing for us, but what they ask for is not taken from their owner."""
    project = tmp_path / "project"
    project.mkdir()
    succeeded(stocked.run("pin", "10.1", "--dir", project))
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "--global"))
    everywhere = stocked.store / "global"
    for path in (project / ".cuda-version", everywhere):
        os.chown(path, 12345, 12345)
    done = stocked.run("list", "--json")
    kits = json.loads("".join(succeeded(done)))["toolkits"]
    pinned = {kit["name"]: kit["pinned_by"] for kit in kits}
    assert pinned == {BARE: [str(everywhere)], FULL: [f"{project}/.cuda-version"]}
    for name, holder in ((FULL, project), (BARE, everywhere)):
        refused(stocked.run("remove", name), f"pinned by {holder}", hint="--force")


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_version_file_that_is_closed_holds_what_it_was_pinned_to(
    stocked: Home, tmp_path: Path, what: str
) -> None:
    """A file that may not be read, as below another user's home, holds what answered its pin."""
    project = tmp_path / "project"
    project.mkdir()
    succeeded(stocked.run("pin", "10.1", "--dir", project))
    with closed(project if what == "folder" else project / ".cuda-version"):
        done = stocked.run_plainly("remove", FULL)
        refused(done, f"pinned by {project}/.cuda-version", hint="--force")
        assert stocked.run_plainly("list").stderr == ""
        succeeded(stocked.run_plainly("remove", "--force", FULL))
        told = f"pinned, but not installed: {project}/.cuda-version (which cannot be read)"
        assert told in stocked.run_plainly("list").stderr


def test_a_groups_environment_stays_the_groups(stocked: Home, tmp_path: Path) -> None:
    """Folders made in a group's environment are open to the group, whose packages add scripts."""
    environment = conda_prefix(tmp_path / "env")
    shutil.rmtree(environment / "etc")
    environment.chmod(0o2775)
    succeeded(stocked.run("pin", "10.1", "-p", environment))
    folders = [at for at in (environment / "etc").rglob("*") if at.is_dir()]
    assert {at.name for at in folders} == {"conda", "activate.d", "deactivate.d", "cudaswitch"}
    assert {stat.S_IMODE(at.stat().st_mode) for at in folders} == {0o2775}


def test_a_pin_is_as_old_as_the_look_that_it_tells_of(stocked: Home, tmp_path: Path) -> None:
    """A pin is dated before its scripts, so that the next activation sees what came meanwhile."""
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    first = prefix / "etc/conda/deactivate.d/~~cudaswitch.sh"
    assert (prefix / "etc/cudaswitch/want").stat().st_mtime_ns < first.stat().st_mtime_ns


def test_an_adopted_toolkit_that_becomes_another_is_told(home: Home, tmp_path: Path) -> None:
    """Pins are reported if the adopted toolkit that their hooks lead to becomes another release."""
    kit = smallest(tmp_path / "cuda", "12.4.0")
    succeeded(home.run("adopt", kit))
    prefixes = {name: str(conda_prefix(tmp_path / name)) for name in ("exact", "wide")}
    for name, request in (("exact", "12.4.0"), ("wide", "12")):
        succeeded(home.run("pin", request, "-p", prefixes[name]))
    succeeded(home.run("pin", "12.4", "--global"))
    before = tmp_path / "before"
    before.mkdir()
    (before / ".cuda-version").write_text("9.0\n")
    smallest(kit, "12.5.1")
    done = home.run("adopt", kit, cwd=before)
    told = f"pinned, but not installed: {prefixes['exact']} (12.4.0), you (--global) (12.4)"
    assert done.stderr.splitlines()[:3] == [
        "cudaswitch: `12.4.0` is now called 12.5.1",
        f"cudaswitch: {told}",
        "hint: pin them anew, or install what they ask for",
    ]
    done = home.run("list")
    assert done.stderr.splitlines() == [f"cudaswitch: {told}"]
    assert succeeded(done)[0].endswith(f"pinned by {prefixes['wide']}")
    succeeded(home.run("adopt", smallest(tmp_path / "other", "12.4.1")))
    assert home.run("list").stderr == f"cudaswitch: {told.partition(', you')[0]}\n"
    done = home.run("adopt", kit, "--as", "12.5.2")
    assert remarks(done) == ["cudaswitch: `12.5.1` is now called 12.5.2"]
    succeeded(home.run("pin", "12.5", "-p", prefixes["exact"]))
    assert home.run("list").stderr == ""
