"""What users type who have not read the documentation: each answer names what they need."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

import builders
from adoptable import smallest
from checks import refused, succeeded
from cudaswitch.platforms import current_platform
from homes import Home
from stock import BARE


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (["search", "12.4 13.0"], "`12.4 13.0` is not a CUDA version", "name one of them"),
        (["search", "12", "13"], "`12 13` is not a CUDA version", "name one of them"),
        (["install", "12 4"], "is not a CUDA version", "write it as 12.4"),
        *((["install", f"12{sign}4"], "is not a CUDA", "write it as 12.4") for sign in ",_-"),
        (["install", "12.4."], "is not a CUDA", "write it as 12.4"),
        (["install", "newest"], "no alias `newest`", "write it as latest"),
        (["install", "cuda.lock"], "is not a CUDA", "cudaswitch sync --lock cuda.lock"),
        (["install", "cudnn8"], "no alias `cudnn8`", "VERSION+cudnn8"),
        (["alias", "thesis", "cudnn7.6"], "`cudnn7.6` is not a CUDA", "VERSION+cudnn7.6"),
        (["search", "cudnn9.1"], "`cudnn9.1` is not a", "cudaswitch search cudnn 9.1"),
        (["search", "cudnn9"], "no alias `cudnn9`", "cudaswitch search cudnn 9"),
        (["search", "cudnn-v"], "no alias `cudnn-v`", "to create it"),
        (
            ["install", "cudnn"],
            "give cuDNN together with a CUDA version",
            "VERSION --cudnn VERSION",
        ),
        (["adopt", "https://example.com/x.run"], "there is no", "use cudaswitch install"),
        (["init", "/bin/rc"], "unknown shell `rc`", "choose from"),
    ],
)
def test_what_a_beginner_types(home: Home, words: list[str], said: str, hint: str) -> None:
    done = home.run(*words)
    assert done.returncode in (1, 2)
    message = refused(done, said, code=done.returncode, hint=hint)
    assert "12.413" not in message


def test_a_file_of_another_kind_is_told_what_to_get_instead(home: Home, tmp_path: Path) -> None:
    page, other = tmp_path / "page.tar.bz2", tmp_path / "other.conda"
    page.write_text("<!DOCTYPE html><title>Sign in</title>")
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a", "b")
    runtime = builders.recipes.cudatoolkit_tree()
    mac = builders.conda_package(tmp_path, "cudatoolkit", "9.0", "h_0", "osx-64", runtime)
    numpy = builders.conda_package(tmp_path, "numpy", "1.20", "h_0", "linux-64", {"lib/a.py": b""})
    here = current_platform()
    for file, said, hint in (
        (page, "is a web page", "download it again: the link led to a page"),
        (mac, "is for osx-64", f"no longer available for macOS: get the package for {here}"),
        (numpy, "(it is `numpy`)", "such as cudatoolkit or cudnn"),
        (other, "is not a conda package: it has no info/index.json", "conda packages (.tar.bz2"),
    ):
        refused(home.run("install", file), f"`{file}` ", said, hint=hint)


def test_a_folder_that_is_to_be_adopted_by_its_url(home: Home, tmp_path: Path) -> None:
    kit = smallest(tmp_path / "a kit", "12.4.127")
    done = home.run("adopt", kit.as_uri())
    refused(done, "there is no", hint=f"cudaswitch adopt '{kit}'")
    refused(home.run("adopt", f"{kit.as_uri()}.run"), "there is no", hint="use cudaswitch install")


def test_a_file_that_is_to_be_adopted(home: Home, tmp_path: Path) -> None:
    runfile = tmp_path / "cuda 12.run"
    runfile.touch()
    refused(home.run("adopt", runfile), "is a file", hint=f"cudaswitch install '{runfile}'")


@pytest.mark.parametrize("place", ["cuda-13.0", "usr/local/cuda-13.0"])
def test_a_toolkit_that_somebody_packed(home: Home, tmp_path: Path, place: str) -> None:
    packed = builders.tar_archive(tmp_path / "kit.tar.gz", place, {"bin/nvcc": b"x"})
    refused(
        home.run("install", packed),
        "lacks a top-level folder such as `cuda_nvcc-linux-x86_64-12.4.131-archive`",
        hint="if it holds a toolkit, unpack that: `cudaswitch adopt FOLDER`; cuDNN needs NVIDIA's",
    )


def test_the_shell_may_be_named_as_in_its_variable(lent: Home) -> None:
    assert succeeded(lent.run("env", "10.1", "--shell", "/bin/fish")) == succeeded(
        lent.run("env", "10.1", "--shell", "fish")
    )


def test_a_toolkit_goes_by_its_path_too(stocked: Home) -> None:
    path = stocked.store / "toolkits" / BARE
    succeeded(stocked.run("verify", path))
    succeeded(stocked.run("remove", f"{path}/"))
    assert not path.exists()


def test_a_store_that_is_a_file_is_told(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for command in ("list", "doctor", "alias", "gc"):
        for path in (file, file / "below"):
            done = home.run(command, CUDASWITCH_HOME=str(path))
            said = f"cannot read `{path}/"
            refused(done, said, f"`{file}` is not a folder", hint="set CUDASWITCH_HOME to a folder")


def test_a_store_of_others_that_is_a_file_is_passed_over(stocked: Home, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = stocked.run("list", CUDASWITCH_STORES=str(tmp_path / "file"))
    assert len(succeeded(done)) == 2
    assert f"`{tmp_path}/file` is not a folder, so it is skipped" in done.stderr


def test_a_mirror_has_its_folder_first(home: Home, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    done = home.run("mirror", "12.4", cwd=work)
    refused(done, "DIR comes first: cudaswitch mirror DIR 12.4", code=2, hint="mirror --help")
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("command", [("sync",), ("download",), ("mirror", "tree")], ids=" ".join)
def test_what_there_is_no_lock_file_of(
    home: Home, tmp_path: Path, command: tuple[str, ...]
) -> None:
    hint = (
        "create a lock file: cudaswitch lock"
        if command == ("sync",)
        else "name a version, or create a lock file"
    )
    done = home.run(*command, cwd=tmp_path)
    refused(done, "no cuda.lock found here", hint=f"hint: {hint}")
    for name, hint in (
        ("readme.txt", "name a lock file"),
        ("cuda.lock", "run cudaswitch lock again"),
    ):
        (tmp_path / name).write_text("Hello there\n")
        refused(home.run(*command, "--lock", tmp_path / name), "is not valid TOML", hint=hint)


@pytest.mark.parametrize("command", [("sync",), ("download",), ("mirror", "tree")], ids=" ".join)
def test_the_lock_file_of_another_tool(
    home: Home, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A lock file without toolkits, such as uv.lock, is refused before any folder is made."""
    lock = tmp_path / "work" / "uv.lock"
    lock.parent.mkdir()
    lock.write_text('version = 1\n\n[[package]]\nname = "a"\nversion = "1"\n')
    done = home.run(*command, "--lock", lock, cwd=lock.parent)
    refused(done, f"`{lock}` lists no toolkits", hint="cudaswitch lock")
    assert list(lock.parent.iterdir()) == [lock]


@pytest.mark.parametrize("written", [("/a:/b",), ("/a", "/b"), ("/a:", "/b")])
def test_stores_are_a_list_however_it_is_written(home: Home, written: tuple[str, ...]) -> None:
    succeeded(home.run("config", "set", "stores", *written))
    assert succeeded(home.run("config", "get", "stores")) == ["/a", "/b"]


@pytest.mark.parametrize(
    "written", [("conda-forge,nvidia",), ("conda-forge nvidia",), ("conda-forge", "nvidia")]
)
def test_channels_are_a_list_however_it_is_written(home: Home, written: tuple[str, ...]) -> None:
    succeeded(home.run("config", "set", "channels", *written))
    assert succeeded(home.run("config", "get", "channels")) == ["conda-forge", "nvidia"]


@pytest.mark.parametrize("name", ["pkgs", "my pkgs"])
@pytest.mark.parametrize("command", ["install", "lock"])
def test_what_lies_here_under_a_name_is_told(
    home: Home, tmp_path: Path, name: str, command: str
) -> None:
    """A name without a slash that is no alias is refused as the file or folder that it is here."""
    here = tmp_path / "here"
    at = here / name
    at.mkdir(parents=True)
    refused(home.run(command, name, cwd=here), f"`{name}` is a folder", hint="adopt")
    at.rmdir()
    os.mkfifo(at)
    refused(home.run(command, name, cwd=here), f"`{name}` is not a regular file")
    at.unlink()
    at.symlink_to("nowhere")
    refused(home.run(command, name, cwd=here), f"no file `{name}`")


def test_a_file_here_under_a_name_that_an_alias_may_have(stocked: Home, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "pkg").write_bytes(b"x")
    refused(stocked.run("install", "pkg", cwd=here), "there is no alias `pkg`", hint="./pkg")
    succeeded(stocked.run("alias", "pkg", "10.1.243"))
    assert succeeded(stocked.run("install", "pkg", cwd=here)) == ["10.1.243+cudnn7.6.5"]


def test_every_word_is_looked_at_before_anything_is_fetched(home: Home, tmp_path: Path) -> None:
    """A wrong word is reported before an index is fetched, which might fail first."""
    words = ("install", "13.0", "--components", "nvcc", "cudart", "--offline")
    refused(home.run(*words, cwd=tmp_path), "there is no alias `cudart`")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["pin", "thesis", "10.1"], "cudaswitch pin VERSION -n ENV"),
        (["doctor", "error.txt"], "cudaswitch doctor < FILE"),
        (["sync", "cuda.lock"], "cudaswitch sync --lock FILE"),
        (["off", "10.1"], "cudaswitch off --help"),
    ],
)
def test_a_word_too_many(home: Home, words: list[str], hint: str) -> None:
    refused(home.run(*words), "Got unexpected extra argument", code=2, hint=hint)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("--json list", "cudaswitch list --json"),
        ("--json config list", "cudaswitch config list --json"),
        ("-n ml pin 10.1", "cudaswitch pin 10.1 -n ml"),
        ("--gpus 0 exec 10.1 -- nvcc -V", "cudaswitch exec 10.1 --gpus 0 -- nvcc -V"),
        ("--hlep list", "--help"),
        ("--jsn", None),
    ],
)
def test_an_option_before_its_command(home: Home, line: str, meant: str | None) -> None:
    said = refused(home.run(*line.split()), "No such option", code=2, hint="cudaswitch --help")
    assert f"Did you mean '{meant}'?" in said if meant else "Did you mean" not in said
