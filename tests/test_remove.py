"""Removing what is installed."""

from __future__ import annotations

import errno
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adoptable import smallest
from builders import cudnn_archive
from checks import PYTHON, refused, snapshot, succeeded
from homes import Home
from preloaded import preloaded
from shells.conda import conda_prefix
from stock import BARE, FULL, answers, kit, stored, toolkit
from tools import console_script


def test_what_others_use_stays(stocked: Home) -> None:
    done = stocked.run("remove", BARE)
    assert (succeeded(done), done.stderr) == ([], f"cudaswitch: removed {BARE}\n")
    assert stored(stocked)["toolkits"] == [FULL]
    assert len(stored(stocked)["packages"]) == 2
    succeeded(stocked.run("exec", "10.1", "--", "true"))
    succeeded(stocked.run("remove", FULL))
    assert stored(stocked) == {"packages": [], "toolkits": [], "requests": []}


def test_a_cudnn_of_two_toolkits_goes_with_the_last(stocked: Home, tmp_path: Path) -> None:
    newer = "10.1.300+cudnn7.6.5"
    assert succeeded(stocked.run("install", toolkit(tmp_path, "10.1.300"))) == ["10.1.300", newer]
    succeeded(stocked.run("remove", FULL, BARE))
    assert stored(stocked)["packages"] == ["cudatoolkit-10.1.300-h_0", "cudnn-7.6.5-cuda10.1_0"]
    succeeded(stocked.run("remove", newer))
    assert stored(stocked)["packages"] == ["cudatoolkit-10.1.300-h_0"]


def test_answers_follow(stocked: Home, tmp_path: Path) -> None:
    both = {"10", "10.1", "10.1.243", "latest"}
    with_cudnn = {f"{version}+cudnn{cudnn}" for version in both for cudnn in ("7", "7.6", "7.6.5")}
    assert answers(stocked) == (
        dict.fromkeys(both | with_cudnn, FULL) | {f"{version}+cudnnnone": BARE for version in both}
    )
    succeeded(stocked.run("install", toolkit(tmp_path, "10.2.89")))
    assert (answers(stocked)["10"], answers(stocked)["10.1"]) == ("10.2.89", FULL)
    succeeded(stocked.run("remove", "10.2"))
    assert answers(stocked)["10"] == FULL
    succeeded(stocked.run("remove", FULL))
    assert answers(stocked) == {
        f"{version}{cudnn}": BARE for version in both for cudnn in ("", "+cudnnnone")
    }


def test_versions_are_compared_as_numbers(home: Home, tmp_path: Path) -> None:
    for version in ("10.1.99", "10.1.243", "10.10.1"):
        succeeded(home.run("install", toolkit(tmp_path, version)))
    assert (answers(home)["10.1"], answers(home)["10"]) == ("10.1.243", "10.10.1")
    done = home.run("exec", "10.1", "--", "printenv", "CUDA_HOME")
    assert succeeded(done)[0].endswith("/10.1.243")


def test_ready_answers_compare_numbers_too(home: Home, tmp_path: Path) -> None:
    """A version that begins with a zero is the number without it, also where shells look."""
    for version in ("10.0.130", "010.1"):
        succeeded(home.run("install", toolkit(tmp_path, version)))
    for request in ("10", "010", "10.1", "010.1"):
        done = home.run("exec", request, "--", "printenv", "CUDA_HOME")
        assert succeeded(done) == [str(kit(home, "010.1"))]
    assert answers(home)["10"] == answers(home)["10.1"] == "010.1"
    succeeded(home.run("install", toolkit(tmp_path, "10.1.243")))
    for request in ("10", "010", "10.1"):
        (place,) = succeeded(home.run("exec", request, "--", "printenv", "CUDA_HOME"))
        assert Path(place).name == "10.1.243" == answers(home).get(request, "10.1.243")


REFUSALS = {
    "unknown": (["9.0"], "no toolkit `9.0` is installed"),
    "ambiguous": (["10.1"], f"`10.1` matches 2 toolkits: {BARE}, {FULL}"),
    "one unknown": ([BARE, "9.0"], "no toolkit `9.0` is installed"),
    "no toolkit's path": (["../../etc"], "no toolkit `../../etc` is installed"),
    "no name": (["a/b"], "`a/b` is not a CUDA version"),
    "alias of nothing": (["lab"], "no alias `lab`"),
    "auto": (["auto"], "no toolkit `auto` is installed"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_names_that_name_nothing(stocked: Home, case: str) -> None:
    arguments, message = REFUSALS[case]
    before = snapshot(stocked.store)
    refused(stocked.run("remove", *arguments), message)
    refused(stocked.run("remove", "--force", *arguments), message)
    assert snapshot(stocked.store) == before


@pytest.mark.parametrize("command", ["remove", "verify"])
def test_a_path_that_is_no_toolkits_is_not_to_be_adopted(stocked: Home, command: str) -> None:
    for path in (stocked.path, "~", "./nothing"):
        done = stocked.run(command, path)
        refused(done, f"no toolkit `{path}` is installed", hint="cudaswitch list")


def test_what_others_keep_is_told_to_be_theirs(stocked: Home, tmp_path: Path) -> None:
    mine = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": str(stocked.store)}
    before = snapshot(stocked.store)
    for name in (BARE, "10.1"):
        done = stocked.run("remove", name, **mine)
        refused(done, "shared store", str(stocked.store), hint="CUDASWITCH_HOME")
    refused(stocked.run("remove", "9.0", **mine), "no toolkit `9.0`")
    other = cudnn_archive(tmp_path, cudnn="7.5.0.56")
    assert succeeded(stocked.run("install", other, **mine)) == [f"{BARE}+cudnn7.5.0"]
    refused(stocked.run("remove", BARE, **mine), f"{BARE} is in the shared store")
    assert snapshot(stocked.store) == before


def test_what_is_in_two_stores_is_pinned_where_it_is_used(
    stocked: Home, pair: list[Path], tmp_path: Path
) -> None:
    both = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": str(stocked.store)}
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "--dir", stocked.path, **both))
    succeeded(stocked.run("install", pair[0], CUDASWITCH_HOME=both["CUDASWITCH_HOME"]))
    rows = json.loads("\n".join(succeeded(stocked.run("list", "--json", **both))))["toolkits"]
    kept = {row["path"]: row["pinned_by"] for row in rows if row["name"] == BARE}
    assert kept == {
        str(tmp_path / "mine" / "toolkits" / BARE): [str(stocked.path / ".cuda-version")],
        str(stocked.store / "toolkits" / BARE): [],
    }


def test_a_store_that_is_named_again_is_one(stocked: Home, tmp_path: Path) -> None:
    once = succeeded(stocked.run("list"))
    lab = tmp_path / "lab"
    lab.symlink_to(stocked.store)
    again = f"{stocked.store}:{stocked.store}/:{lab}"
    assert succeeded(stocked.run("list", CUDASWITCH_STORES=again)) == once
    mine = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": again}
    assert succeeded(stocked.run("list", **mine)) == once


def test_names_that_name_one(stocked: Home) -> None:
    succeeded(stocked.run("alias", "thesis", "10.1+cudnn7.6"))
    succeeded(stocked.run("remove", "thesis", "thesis", FULL))
    assert stored(stocked)["toolkits"] == [BARE]
    succeeded(stocked.run("remove", "10"))
    assert stored(stocked)["toolkits"] == []


def test_a_removal_that_is_repeated_removes_no_other_toolkit(stocked: Home) -> None:
    succeeded(stocked.run("remove", BARE))
    refused(stocked.run("remove", BARE), f"no toolkit `{BARE}` is installed", hint=FULL)
    assert stored(stocked)["toolkits"] == [FULL]


def test_a_path_names_one_through_a_link(stocked: Home, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(stocked.store / "toolkits" / FULL)
    succeeded(stocked.run("remove", tmp_path / "link"))
    assert stored(stocked)["toolkits"] == [BARE]


@pytest.fixture
def busy(stocked: Home) -> Iterator[subprocess.Popen[str]]:
    """A process that has loaded the runtime of the toolkit with cuDNN."""
    program = "import ctypes, sys; ctypes.CDLL('libcudart.so.10.1'); print('up'); input()"
    child = subprocess.Popen(
        [console_script(), "exec", FULL, "--", PYTHON, "-uc", program],
        env=stocked.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout and child.stdout.readline() == "up\n"
    yield child
    child.kill()
    child.wait()


def test_what_runs_stays_unless_forced(stocked: Home, busy: subprocess.Popen[str]) -> None:
    before = snapshot(stocked.store)
    refused(stocked.run("remove", FULL), "in use by", f"(process {busy.pid})", hint="--force")
    refused(stocked.run("remove", BARE, FULL), f"(process {busy.pid})", hint=f"{BARE} {FULL}")
    assert snapshot(stocked.store) == before
    succeeded(stocked.run("remove", BARE))
    succeeded(stocked.run("remove", "--force", FULL))
    assert stored(stocked) == {"packages": [], "toolkits": [], "requests": []}
    assert busy.poll() is None


def test_what_runs_is_found_where_a_link_leads_to_the_store(
    stocked: Home, busy: subprocess.Popen[str], tmp_path: Path
) -> None:
    """A process is found where a link leads to the store, though the kernel tells real paths."""
    (tmp_path / "link").symlink_to(stocked.store)
    linked = {"CUDASWITCH_HOME": str(tmp_path / "link")}
    refused(stocked.run("remove", FULL, **linked), f"(process {busy.pid})", hint="--force")
    succeeded(stocked.run("remove", BARE, **linked))


def test_a_program_that_ended_holds_nothing(stocked: Home, busy: subprocess.Popen[str]) -> None:
    busy.communicate("\n")
    succeeded(stocked.run("remove", FULL))


def test_a_killed_removal_ends_right(stocked: Home, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        stocked.run("remove", FULL, **preloaded(tmp_path, "kill", "rename", number))
        assert stocked.run("list").returncode == 0
        files = sorted((tmp_path / "files").iterdir())
        assert succeeded(stocked.run("install", *files)) == [BARE, FULL]
    stocked.run("remove", FULL, **preloaded(tmp_path, "kill", "unlink", 5))
    stocked.run("remove", FULL)
    succeeded(stocked.run("remove", BARE))
    assert stored(stocked)["toolkits"] == []
    assert stored(stocked)["packages"] in ([], ["cudnn-7.6.5-cuda10.1_0"])


def test_folders_that_cannot_be_renamed_go_too(stocked: Home, tmp_path: Path) -> None:
    """Folders that cannot be renamed, as in a container whose image has the store, go too."""
    crossing = preloaded(tmp_path, "fail", "rename", number=errno.EXDEV)
    for name in (BARE, FULL):
        succeeded(stocked.run("remove", name, **crossing))
    assert stored(stocked) == {"packages": [], "toolkits": [], "requests": []}


def test_an_adopted_one_that_was_deleted_is_passed_over(home: Home, tmp_path: Path) -> None:
    """A deleted adopted toolkit is passed over, or named with what mends it if no other fits."""
    for version in ("12.4.1", "12.7.0"):
        folder = smallest(tmp_path / version, version)
        assert succeeded(home.run("adopt", folder))[0].split() == [version, str(folder)]
    prefix = conda_prefix(tmp_path / "env")
    succeeded(home.run("pin", "12", "--prefix", prefix))
    (tmp_path / "12.7.0").rename(tmp_path / "elsewhere")
    for request in ("12", "latest", ">=12", "12.4"):
        done = home.run("exec", request, "--", "printenv", "CUDA_HOME")
        assert succeeded(done) == [str(tmp_path / "12.4.1")], request
    # The environment asks for it too, so it would be refused without --force.
    refused(
        home.run("exec", "12.7", "--", "true"),
        f"toolkit `{tmp_path / '12.7.0'}` is gone",
        hint="cudaswitch remove --force 12.7.0",
    )
    # It may come back, so no change makes another toolkit the ready answer.
    succeeded(home.run("alias", "mine", "12"))
    assert answers(home).keys() & {"12", "12.4", "latest", "mine"} == {"12.4"}
    (tmp_path / "elsewhere").rename(tmp_path / "12.7.0")
    assert succeeded(home.run("exec", "12", "--", "printenv", "CUDA_HOME")) == [
        str(tmp_path / "12.7.0")
    ]


def test_a_shell_that_has_it_is_told_the_way_out(stocked: Home) -> None:
    """Only a shell that has the removed toolkit gets a hint: others cannot see what it has."""
    script = (
        'eval "$(cudaswitch init bash)"; cudaswitch use "$1"; cudaswitch remove "$2"\n'
        'cudaswitch off; echo "${CUDA_HOME-unset}"'
    )
    for used, removed in ((FULL, BARE), (FULL, FULL)):
        argv = ["bash", "-c", script, "-", used, removed]
        done = subprocess.run(
            argv, env=stocked.env, capture_output=True, text=True, check=False, timeout=60
        )
        assert f"cudaswitch: removed {removed}\n" in done.stderr
        told = "hint: this shell still uses it: cudaswitch off\n" in done.stderr
        assert told == (used == removed), done.stderr
        assert done.stdout == "unset\n"


def test_a_shell_that_has_it_by_a_pin_is_told_another_way_out(
    stocked: Home, tmp_path: Path
) -> None:
    """A shell that has a toolkit by a pin is told `use system`, since `off` undoes only `use`."""
    project = tmp_path / "project"
    project.mkdir()
    succeeded(stocked.run("pin", FULL, "--dir", project))
    script = (
        'eval "$(cudaswitch init bash)"; cd "$1"; __cudaswitch_prompt\n'
        'cudaswitch remove --force "$2"; cudaswitch use system; echo "${CUDA_HOME-unset}"'
    )
    argv = ["bash", "-c", script, "-", project, FULL]
    done = subprocess.run(
        argv, env=stocked.env, capture_output=True, text=True, check=False, timeout=60
    )
    assert "hint: this shell still uses it: cudaswitch use system\n" in done.stderr
    assert done.stdout == "unset\n"


@pytest.mark.parametrize("mode", [0, 0o300, 0o400, 0o500])
def test_folders_that_are_closed_to_their_owner_go_too(stocked: Home, mode: int) -> None:
    inner = stocked.store / "toolkits" / BARE / "lib64"
    (inner / "made/deep").mkdir(parents=True)
    (inner / "made/deep/file").write_text("")
    for folder in (inner / "made/deep", inner / "made", inner):
        folder.chmod(mode)
    succeeded(stocked.run_plainly("remove", BARE))
    assert list((stocked.store / ".staging").iterdir()) == []
    left = stocked.store / ".staging/removed-of-a-killed-run"
    (left / "closed").mkdir(parents=True)
    (left / "closed").chmod(mode)
    assert "skipped" not in stocked.run_plainly("gc", "--dry-run").stderr
    assert "skipped" not in stocked.run_plainly("gc").stderr
    assert not left.exists()
