"""What is asked of `lock` twice, and what is asked of the wrong command."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from builders import cudatoolkit_10_1
from checks import refused, succeeded
from cudaswitch.lockfile import LockedToolkit, lock_text, locked, read_lock
from cudaswitch.platforms import current_platform
from folder_server import FolderServer
from homes import Home
from preloaded import preloaded
from stock import newer_cudnn


def test_what_is_named_twice_is_locked_once(
    home: Home, tmp_path: Path, channel: FolderServer, pair: list[Path]
) -> None:
    lab = ("--channel", f"{channel.url}/lab")
    platform = ("--platform", "linux-64") * 2
    succeeded(home.run("alias", "thesis", "10.1"))
    for words in (("10.1", "10.1", *lab), ("10.1", "thesis", *platform, *lab), pair[:1] * 2):
        succeeded(home.run("lock", *words, cwd=tmp_path))
        [kit] = read_lock(tmp_path / "cuda.lock")
        assert [row.file for row in kit.packages] == [pair[0].name]


def test_one_file_under_several_names_is_locked_once(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    file = Path(shutil.copy(pair[0], tmp_path))
    succeeded(home.run("lock", file.name, file, file.as_uri(), cwd=tmp_path))
    [kit] = read_lock(tmp_path / "cuda.lock")
    assert [row.file for row in kit.packages] == [file.name]
    succeeded(home.run("sync", cwd=tmp_path))
    # What is installed from exactly these packages is left as it is, and nothing is fetched.
    file.unlink()
    assert succeeded(home.run("sync", cwd=tmp_path)) == ["10.1.243"]


def test_what_came_in_the_other_container_is_in_place_without_cudnn(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    succeeded(home.run("install", *pair))
    succeeded(home.run("lock", cudatoolkit_10_1(tmp_path, form="conda"), cwd=tmp_path))
    assert succeeded(home.run("sync", cwd=tmp_path)) == ["10.1.243"]


def test_what_a_killed_lock_left_goes_when_it_is_asked_again(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    succeeded(home.run("lock", pair[0], cwd=project))
    killed = preloaded(tmp_path, "kill", "rename") | {"CUDASWITCH_HOME": str(project)}
    assert home.run("lock", *pair, cwd=project, **killed).returncode == -signal.SIGKILL
    assert len(list(project.iterdir())) > 1
    succeeded(home.run("lock", *pair, cwd=project))
    assert [path.name for path in project.iterdir()] == ["cuda.lock"]


def test_two_cudnns_are_in_place_once_they_are_installed(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    files = [Path(shutil.copy(file, tmp_path)) for file in (*pair, newer_cudnn(tmp_path / "new"))]
    succeeded(home.run("lock", *files, cwd=tmp_path))
    both = ["10.1.243+cudnn7.6.5", "10.1.243+cudnn7.6.6"]
    assert succeeded(home.run("sync", cwd=tmp_path)) == both
    # From here on there is nothing to install from.
    for file in files:
        file.unlink()
    assert succeeded(home.run("sync", cwd=tmp_path)) == both
    succeeded(home.run("remove", both[0]))
    refused(home.run("sync", cwd=tmp_path), "there is no file", hint="check the path")


@pytest.mark.parametrize("name", ["cuda.lock", "./cuda.lock"])
def test_a_lock_file_is_no_package(home: Home, tmp_path: Path, name: str) -> None:
    (tmp_path / "cuda.lock").write_text("version = 1\n")
    done = home.run("install", name, cwd=tmp_path)
    refused(done, "is not a CUDA version", hint=f"cudaswitch sync --lock {name}")


def test_wheels_that_are_not_here_offline(home: Home, tmp_path: Path) -> None:
    row = locked("https://h/nvidia_nvvm-13.0.88-py3-none-any.whl", "0" * 64, None, "pypi")
    kit = LockedToolkit("13.0", None, current_platform(), "13.0.2", (row,))
    (tmp_path / "cuda.lock").write_text(lock_text([kit]))
    done = home.run("sync", "--offline", cwd=tmp_path)
    refused(done, "offline do not have nvidia-nvvm==13.0.88", hint="then sync with --from-dir DIR")
