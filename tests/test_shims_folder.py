"""The folder that shims are in: what may be there, and whose it has to be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import builders
from checks import refused, succeeded
from cudaswitch import shims
from cudaswitch.changing import own_store
from cudaswitch.errors import CudaswitchError, StoreError
from cudaswitch.store import find
from cudaswitch.versions import parse_request
from homes import Home
from shim_places import Place, echoing
from tools import closed, console_script, executable, require, root_only


def test_no_shim_stands_before_a_command_of_the_machine(place: Place) -> None:
    """No shim is made for a command of the machine, whose `bin` an adopted toolkit may share."""
    for tool in ("ls", "python3", "pip", "sh", "nvidia-smi", "curl", "nvcc.profile"):
        echoing(place.new / "bin" / tool)
    echoing(place.new / "bin" / "ptxas").chmod(0o644)
    (place.new / "bin" / "nsys").mkdir()
    assert shims.install() == ["cuda-memcheck", "nvcc"]


def test_what_a_toolkit_has_that_is_away_stays(place: Place) -> None:
    """Shims of a toolkit that is away, as on a disk that is not mounted, stay."""
    away = place.old.rename(place.old.with_name("away"))
    assert shims.install() == ["nvcc"]
    done = place.call("cuda-memcheck", CUDASWITCH_VERSION="11.8")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"`{place.old}` is gone" in done.stderr
    away.rename(place.old)
    assert succeeded(place.call("cuda-memcheck", CUDASWITCH_VERSION="11.8"))
    own_store().remove(find(parse_request("11.8")))
    assert shims.install() == ["nvcc"]
    assert not (place.home.store / "shims" / "cuda-memcheck").exists()


@pytest.mark.parametrize("part", [".", "bin"])
def test_a_toolkit_that_is_closed_to_us_stops_no_other(place: Place, part: str) -> None:
    """Shims of a toolkit that we may not look into stay, and other toolkits get theirs."""
    echoing(place.new / "bin" / "nsys")
    with closed(place.old / part):
        done = place.home.run_plainly("shims", "install")
    assert succeeded(done) == ["nsys", "nvcc"]
    assert (place.home.store / "shims" / "cuda-memcheck").exists()


def test_a_folder_that_others_may_write_stops_nothing_else(place: Place) -> None:
    """Where others may write the shims' folder, only the shims wait until that is mended."""
    folder = place.home.store / "shims"
    folder.chmod(0o775)
    echoing(place.home.path / "third/bin/nvcc")
    done = place.home.run("adopt", place.home.path / "third", "--as", "10.2")
    assert succeeded(done)[0].startswith("10.2")
    assert f"`{folder}` cannot hold shims" in done.stderr
    assert "hint: chmod go-w" in done.stderr
    refused(place.home.run("shims", "install"), "cannot hold shims", hint="chmod go-w")


@root_only
def test_the_shims_of_another_of_the_stores_group(place: Place) -> None:
    """Another user's shims are reported only by a command that would change them."""
    folder = place.home.store / "shims"
    os.chown(folder, 4711, -1)
    echoing(place.home.path / "third/bin/nvcc")
    done = place.home.run("adopt", place.home.path / "third", "--as", "10.2")
    assert succeeded(done)[0].startswith("10.2")
    assert str(folder) not in done.stderr
    refused(
        place.home.run("shims", "install"),
        f"`{folder}` belongs to another user",
        hint="ask its owner",
    )


def test_toolkits_without_tools_are_no_missing_toolkits(home: Home, tmp_path: Path) -> None:
    done = home.run("shims", "install")
    succeeded(done)
    assert "no toolkit is installed, so" in done.stderr
    succeeded(home.run("install", builders.cudatoolkit_10_1(tmp_path)))
    for tool in (home.store / "toolkits").glob("*/bin/*"):
        tool.unlink()
    done = home.run("shims", "install")
    succeeded(done)
    assert "no installed toolkit has any tools" in done.stderr


@pytest.mark.parametrize("shell", ["dash", "bash", "zsh", "fish", "tcsh", "elvish", "xonsh", "nu"])
def test_the_hint_puts_them_on_path_in_the_shell_that_asks(place: Place, shell: str) -> None:
    folder = place.home.store / "shims"
    behind = echoing(place.home.path / "cuda/bin/nvcc").parent
    path = f"{behind}:{console_script().parent}:{place.home.env['PATH']}:{folder}"
    # xonsh, a Python script, is recognized by $SHELL alone.
    env = place.home.env | {"PATH": path, "SHELL": "xonsh" if shell == "xonsh" else "none"}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        command = [require(shell), *(["--no-rc"] if shell == "xonsh" else []), "-c", line]
        return subprocess.run(
            command, env=env, cwd=place.home.path, capture_output=True, text=True, check=False
        )

    said = run("cudaswitch shims install").stderr.splitlines()
    [hint] = [line for line in said if line.startswith("hint: put them first on PATH: ")]
    again = run(f"{hint.partition('PATH: ')[2]}; cudaswitch shims install; env")
    assert f"\nPATH={folder}:{path}\n" in again.stdout
    assert again.stderr == ""


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_may_write_is_refused(place: Place, mode: int) -> None:
    folder = place.home.store / "shims"
    folder.chmod(mode)
    with pytest.raises(StoreError, match="others can write to it"):
        shims.install()


def test_a_folder_that_is_a_link_is_refused(place: Place, tmp_path: Path) -> None:
    folder = place.home.store / "shims"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CudaswitchError):
        shims.install()


def test_somebody_s_own_file_among_the_shims_stays(place: Place) -> None:
    own = executable(place.home.store / "shims" / "cuda-memcheck", "#!/bin/sh\necho own\n")
    done = place.home.run("shims", "install")
    assert "cuda-memcheck" not in succeeded(done)
    assert f"cudaswitch: `{own}` is not a shim, and was kept" in done.stderr
    assert own.read_text() == "#!/bin/sh\necho own\n"


def test_a_file_where_the_shims_belong(home: Home) -> None:
    home.store.mkdir()
    (home.store / "shims").touch()
    refused(home.run("shims", "install"), "cannot write", "shims", hint="move it away")
