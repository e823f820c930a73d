"""A `~` that the shell has left as it is: behind `--dir=`, or in quotes."""

from __future__ import annotations

from pathlib import Path

from builders.recipes import cudatoolkit_10_1
from checks import succeeded
from homes import Home


def test_a_folder_to_pin(stocked: Home, tmp_path: Path) -> None:
    (stocked.path / "p").mkdir()
    file = stocked.path / "p/.cuda-version"
    succeeded(stocked.run("pin", "10.1", "--dir=~/p", cwd=tmp_path))
    assert file.read_text() == "10.1\n"
    succeeded(stocked.run("unpin", "--dir=~/p", cwd=tmp_path))
    assert list(file.parent.iterdir()) == []


def test_what_a_project_is_locked_in_and_brought_from(home: Home, tmp_path: Path) -> None:
    package = cudatoolkit_10_1(tmp_path)
    here = tmp_path / "here"
    here.mkdir()
    succeeded(home.run("lock", package, "--output=~/its.lock", cwd=here))
    done = home.run("download", "--lock=~/its.lock", "--directory=~/usb", cwd=here)
    assert succeeded(done) == [f"{home.path}/usb/{package.name}"]
    package.unlink()
    done = home.run("sync", "--lock=~/its.lock", "--from-dir=~/usb", "--offline", cwd=here)
    assert succeeded(done) == ["10.1.243"]
    assert list(here.iterdir()) == []


def test_a_tree_to_serve(home: Home, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    done = home.run("mirror", "~/www", f"file://{cudatoolkit_10_1(tmp_path)}", cwd=here)
    assert succeeded(done) == [f"{home.path}/www"]
    assert (home.path / "www").is_dir()
    assert list(here.iterdir()) == []
