"""What a shim says where it cannot become the tool."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from checks import succeeded
from shim_places import Place, echoing
from tools import as_plain_user, executable


def test_a_toolkit_without_the_tool_says_who_has_it(place: Place) -> None:
    done = place.call("cuda-memcheck", CUDASWITCH_VERSION="12.4")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.splitlines() == [
        "cudaswitch: `cuda-memcheck` is not in CUDA 12.4 (asked for by CUDASWITCH_VERSION)",
        "hint: it is in 11.8",
    ]


def test_a_tool_that_may_not_be_executed_is_not_missing(place: Place) -> None:
    nvcc = place.new / "bin/nvcc"
    nvcc.chmod(0o644)
    done = place.call("nvcc", CUDASWITCH_VERSION="12.4")
    assert done.returncode == 127
    assert done.stderr.splitlines() == [
        f"cudaswitch: `{nvcc}` exists, but is not executable",
        "hint: cudaswitch exec 12.4 -- nvcc explains why",
    ]


@pytest.mark.parametrize("who", ["CUDASWITCH_VERSION", "_CUDASWITCH_U", "file"])
def test_a_folder_of_that_name_is_no_tool(place: Place, who: str) -> None:
    (place.new / "bin/nvcc").unlink()
    (place.new / "bin/nvcc").mkdir()
    variables = {"CUDASWITCH_VERSION": {who: "12.4"}, "_CUDASWITCH_U": {who: str(place.new)}}
    if who == "file":
        (place.home.path / ".cuda-version").write_text("12.4\n")
    done = place.call("nvcc", **variables.get(who, {}))
    assert (done.returncode, done.stdout) == (127, "")
    said, hint = done.stderr.splitlines()
    assert said.startswith("cudaswitch: `nvcc` is not in CUDA 12.4 (asked for by ")
    assert hint == "hint: it is in 11.8"
    assert not place.python_was_asked
    told = place.home.run("which", "nvcc", "--json", **place.env(**variables.get(who, {})))
    assert json.loads("\n".join(succeeded(told)))["runs"] is None


@pytest.mark.parametrize("names", [["~/theirs"], ["~/nobody's", "~/theirs/../theirs"]], ids=len)
def test_it_names_those_of_stores_in_the_settings(place: Place, names: list[str]) -> None:
    """A shim names toolkits of stores in the settings, whose list a file of its store has."""
    theirs = {"CUDASWITCH_HOME": str(place.home.path / "theirs")}
    kit = place.old.with_name("cuda-9.2")
    for tool in ("nvcc", "cuda-memcheck"):
        echoing(kit / "bin" / tool)
    succeeded(place.home.run("adopt", kit, "--as", "9.2", **theirs))
    config = place.home.path / "xdg-config" / "cudaswitch" / "config.toml"
    config.parent.mkdir()
    config.write_text(f"stores = {json.dumps(names)}\n")
    succeeded(place.home.run("alias", "mine", "12.4"))  # any change
    done = place.call("cuda-memcheck", CUDASWITCH_VERSION="12.4")
    assert done.stderr.splitlines()[1:] == ["hint: it is in 11.8, 9.2"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("12.4", 1),
        ("# ours\n\n \t\n12.4 # newest\n", 4),
        ("cudnn none\nlibraries=never\ngpus 0\ncuda = 12.4\n", 4),
        ("\n>=12, <13\n", 2),
        ("gpus\t0\n12.4\r\n", 2),
    ],
)
def test_a_file_is_named_with_its_line_as_python_does(place: Place, text: str, line: int) -> None:
    (place.home.path / ".cuda-version").write_text(text)
    asked = f"(asked for by ./.cuda-version:{line})"
    done = place.call("cuda-memcheck")
    said = f"cudaswitch: `cuda-memcheck` is not in CUDA 12.4 {asked}"
    assert done.stderr.splitlines() == [said, "hint: it is in 11.8"]
    assert asked in succeeded(place.home.run("current"))[0]


def test_a_tool_that_is_nowhere(place: Place, tmp_path: Path) -> None:
    done = place.call("nvcc", PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.splitlines() == [
        "cudaswitch: `nvcc` is not on PATH, and no toolkit is requested here",
        "hint: it is in 11.8, 12.4; cudaswitch pin VERSION --global asks for one",
    ]
    done = place.call("nvcc", PATH=str(tmp_path), CUDASWITCH_VERSION="system")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.splitlines() == [
        "cudaswitch: `nvcc` is not on PATH, and `system` is asked for by CUDASWITCH_VERSION",
        "hint: it is in 11.8, 12.4",
    ]
    file = place.home.path / ".cuda-version"
    file.write_text("# none\nsystem\n")
    done = place.call("nvcc", PATH=str(tmp_path))
    assert done.stderr.startswith(
        "cudaswitch: `nvcc` is not on PATH, and `system` is asked for by ./.cuda-version:2\n"
    )
    (file.parent / "below").mkdir()
    done = place.call("nvcc", PATH=str(tmp_path), cwd=file.parent / "below")
    assert f"is asked for by {file}:2\n" in done.stderr


def test_a_version_file_that_cannot_be_read(place: Place) -> None:
    """A version file that cannot be read is reported in one line, by Python."""
    file = executable(place.home.path / ".cuda-version", "12.4\n")
    file.chmod(0)
    done = subprocess.run(
        as_plain_user(place.home.store / "shims" / "nvcc"), env=place.home.env,
        cwd=place.home.path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.splitlines() == [
        f"cudaswitch: cannot read `{file}`: Permission denied",
        f"hint: chmod u+r {shlex.quote(str(file))}",
    ]


def test_a_toolkit_that_is_gone(place: Place) -> None:
    shutil.rmtree(place.old)
    done = place.call("nvcc", _CUDASWITCH_U=str(place.old))
    assert done.returncode == 127
    assert f"toolkit `{place.old}` is gone (asked for by this shell" in done.stderr
    done = place.call("nvcc", CUDASWITCH_VERSION="11.8")
    assert done.returncode != 0
    assert place.python_was_asked


def test_without_cudaswitch_itself(place: Place) -> None:
    (place.home.path.parent / "it's" / "cudaswitch").unlink()
    assert place.call("nvcc", CUDASWITCH_VERSION="12.4").returncode == 0
    done = place.call("nvcc", CUDASWITCH_VERSION=">=12")
    assert done.returncode == 127
    assert "is gone, and is needed to find what CUDASWITCH_VERSION requests" in done.stderr


def test_in_a_store_that_was_moved(place: Place) -> None:
    """Whoever moves the store is not told to install what is installed."""
    moved = place.home.store.rename(place.home.store.with_name("moved"))
    done = subprocess.run(
        [moved / "shims" / "nvcc"],
        env=place.env(CUDASWITCH_VERSION="12.4"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 127
    assert done.stderr == (
        f"cudaswitch: the store of this shim, `{place.home.store}`, is gone\n"
        "hint: cudaswitch shims refresh\n"
    )
