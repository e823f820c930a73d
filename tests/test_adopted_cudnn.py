"""cuDNN over adopted toolkits, and cuDNN that was copied into them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import builders
from adoptable import names, toolkit, write
from builders import HELLO_CU
from checks import inodes_in, refused, snapshot, succeeded
from cudaswitch.paths import MANIFEST
from homes import Home, make_home

ORDERS = ("adopt", "install"), ("install", "adopt")


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_cudnn_is_laid_over_it_by_links(home: Home, tmp_path: Path, order: tuple[str, str]) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    # Another cuDNN was copied into the toolkit, as old instructions say.
    write(place / "include/cudnn.h", "old")
    write(place / "lib64/libcudnn.so.7", "old")
    (place / "lib64/libcudnn.so").symlink_to("libcudnn.so.7")
    write(place / "doc/cudnn/a", "a")
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    what = {"adopt": place, "install": cudnn}
    before = snapshot(place)
    for command in order:
        done = home.run(command, what[command])
        assert done.returncode == 0, done.stderr
    assert snapshot(place) == before
    name = "11.2.152+cudnn8.1.1"
    final = home.store / "toolkits" / name
    listed = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert [(row["name"], row["source"], row["path"]) for row in listed] == [
        ("11.2.152", "system", str(place)),
        (name, "system", str(final)),
    ]
    assert "cudnn_version.h" in (final / "include/cudnn.h").read_text()
    assert (final / "lib64/libcudnn.so").resolve().name == "libcudnn.so.8.1.1"
    assert (final / "lib64/libcudnn.so.7").read_text() == "old"
    for at in ("lib64", "lib", "targets/x86_64-linux/lib"):
        assert (final / at / "libcudart.so.11.0").resolve().is_relative_to(place)
        assert (final / at / "libcudnn.so.8").is_file()
    for at in ("include", "targets/x86_64-linux/include"):
        assert (final / at / "cuda.h").resolve().is_relative_to(place)
        assert (final / at / "cudnn_version.h").is_file()
    assert (final / "doc").readlink() == place / "doc"
    assert (final / "bin").is_dir() and not (final / "bin").is_symlink()
    assert succeeded(home.run("exec", "11.2", "--", "nvcc"))[0].endswith("V11.2.152")
    # Everything is a link, except cuDNN's files, which are hard links, and the records.
    made = ("cudaswitch.json", "cudaswitch-files.json", "version.json")
    for path in final.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert path.stat().st_nlink >= 2 or path.name in made
    inodes = {path: path.lstat().st_ino for path in final.rglob("*")}
    for command in order:
        assert home.run(command, what[command]).returncode == 0
    assert {path: path.lstat().st_ino for path in final.rglob("*")} == inodes


def copy_cudnn(place: Path, version: str, header: str = "cudnn_version.h") -> None:
    """Copy a cuDNN into a toolkit, as NVIDIA's instructions had people do."""
    numbers = zip(("MAJOR", "MINOR", "PATCHLEVEL"), version.split("."), strict=True)
    write(place / "include" / header, "".join(f"#define CUDNN_{at} {it}\n" for at, it in numbers))
    write(place / f"lib64/libcudnn.so.{version}", "")
    (place / f"lib64/libcudnn.so.{version[0]}").symlink_to(f"libcudnn.so.{version}")


COPIES = [("8.1.1", "cudnn_version.h"), ("7.6.5", "cudnn.h"), ("9.21.0", "cudnn_version.h")]


@pytest.mark.parametrize(("version", "header"), COPIES)
def test_cudnn_that_was_copied_into_it(
    home: Home, tmp_path: Path, version: str, header: str
) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    copy_cudnn(place, version, header)
    name = f"11.2.152+cudnn{version}"
    found = json.loads(home.run("adopt", "--scan", "--json", CUDA_HOME=str(place)).stdout)
    assert (name, version) in [(row["name"], row["cudnn"]) for row in found["toolkits"]]
    assert succeeded(home.run("adopt", place)) == [f"{name}  {place}"]
    assert names(home) == [(name, version)]
    for request in ("11.2", "11.2.152", name, f"11.2+cudnn{version[0]}"):
        asked = home.run("exec", request, "--", "printenv", "CUDA_HOME")
        assert succeeded(asked) == [str(place)]
    refused(home.run("exec", "11.2+cudnnnone", "--", "true"), "not installed", hint="install")
    succeeded(home.run("adopt", place))
    succeeded(home.run("remove", name))
    assert names(home) == []
    assert (place / "bin/nvcc").exists()


def test_a_header_that_a_cudnn_has_left_is_none(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    copy_cudnn(place, "8.1.1")
    (place / "lib64/libcudnn.so.8").unlink()
    succeeded(home.run("adopt", place))
    assert names(home) == [("11.2.152", None)]


def test_an_older_cudnn_copied_over_a_newer_one(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    copy_cudnn(place, "8.1.1")
    copy_cudnn(place, "7.6.5", "cudnn.h")
    succeeded(home.run("adopt", place))
    assert names(home) == [("11.2.152+cudnn7.6.5", "7.6.5")]


def test_one_that_was_adopted_before_cudnn_came_is_adopted_anew(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    succeeded(home.run("adopt", place))
    copy_cudnn(place, "8.1.1")
    asked = home.run("exec", "11.2.152", "--", "printenv", "CUDA_HOME")
    assert succeeded(asked) == [str(place)]
    succeeded(home.run("adopt", place))
    assert names(home) == [("11.2.152+cudnn8.1.1", "8.1.1")]
    assert not (home.store / "requests/11.2.152+cudnnnone").exists()


def test_two_with_one_cudnn_are_told_apart_by_name(home: Home, tmp_path: Path) -> None:
    one, two = toolkit(tmp_path / "one"), toolkit(tmp_path / "two")
    for place in (one, two):
        copy_cudnn(place, "8.1.1")
    succeeded(home.run("adopt", one))
    refused(home.run("adopt", two), "11.2.152+cudnn8.1.1", str(one), hint=f"adopt {two} --as")


def test_packages_are_laid_over_one_that_has_a_cudnn(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    copy_cudnn(place, "7.6.5", "cudnn.h")
    succeeded(home.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    assert succeeded(home.run("install", cudnn)) == ["11.2.152+cudnn8.1.1"]
    final = home.store / "toolkits/11.2.152+cudnn8.1.1"
    (final / "include/cudnn.h").unlink()
    succeeded(home.run("verify", "--repair"))
    assert "cudnn_version.h" in (final / "include/cudnn.h").read_text()
    both = [("11.2.152+cudnn7.6.5", "7.6.5"), ("11.2.152+cudnn8.1.1", "8.1.1.33")]
    assert names(home) == both
    succeeded(home.run("adopt", place))
    assert names(home) == both


LAID_OVER = [("8.9.7", "9.1.0.70"), ("8.0.5", "7.6.5"), ("7.6.5", "8.1.1.33")]


@pytest.mark.parametrize(("copied", "laid_over"), LAID_OVER)
def test_what_builds_take_is_of_the_cudnn_that_is_laid_over(
    home: Home, tmp_path: Path, copied: str, laid_over: str
) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    lib64, full = place / "lib64", ".".join(laid_over.split(".")[:3])
    builders.write_tree(place, builders.recipes.cudnn_headers(copied))
    builders.write_tree(lib64, builders.recipes.cudnn_libraries(copied, "."))
    write(lib64 / "libcudnn_static.a", "")
    # Like PyPI's wheels, this cuDNN has no library names without numbers.
    number = f"libcudnn.so.{full[0]}"
    library = builders.elf_bytes(number, {"cudnnGetVersion": builders.cudnn_number(full)})
    tree = {**builders.recipes.cudnn_headers(full), f"lib/{number}": library}
    cudnn = builders.conda_package(tmp_path, "cudnn", laid_over, "cuda11.2_0", "linux-64", tree)
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    final = home.store / "toolkits" / name
    assert (final / "lib64/libcudnn.so").readlink() == Path(number)
    headers = {at.name: at.read_text() for at in (final / "include").glob("cudnn*")}
    assert headers == {
        Path(at).name: text.decode() for at, text in builders.recipes.cudnn_headers(full).items()
    }
    assert not os.path.lexists(final / "lib64/libcudnn_static.a")
    # Programs that were built with the copied cuDNN still run.
    older = f"lib64/libcudnn.so.{copied[0]}"
    assert (final / older).samefile(place / older)
    succeeded(home.run("verify"))


def test_the_same_cudnn_as_a_package_leaves_it_the_bare_one(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    succeeded(home.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("install", cudnn))
    before = names(home)
    copy_cudnn(place, "8.1.1")
    assert succeeded(home.run("adopt", place)) == [f"11.2.152  {place}"]
    assert names(home) == before


def test_another_name_takes_what_is_laid_over_it_along(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("install", cudnn))
    for version in ("11.2", "11.2.9"):
        succeeded(home.run("adopt", place, "--as", version))
        assert names(home) == [(version, None), (f"{version}+cudnn8.1.1", "8.1.1.33")]
        succeeded(home.run("exec", f"{version}+cudnn8", "--", "true"))
    succeeded(home.run("verify"))


def test_folders_of_both_are_merged(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    write(place / "share/doc/a", "a")
    write(place / "share/mine/b", "b")
    write(place / "targets/other-linux/include/cuda.h", "other")
    tree = {
        **builders.recipes.cudnn_headers("8.1.1"),
        **builders.recipes.cudnn_libraries("8.1.1"),
        "share/doc/cudnn": b"c",
    }
    cudnn = builders.conda_package(tmp_path, "cudnn", "8.1.1", "cuda11.2_0", "linux-64", tree)
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    final = home.store / "toolkits" / name
    assert [(final / "share" / at).read_text() for at in ("doc/a", "doc/cudnn", "mine/b")] == [
        "a", "c", "b",
    ]  # fmt: skip
    assert (final / "share/mine").readlink() == place / "share/mine"
    assert (final / "targets/other-linux/include/cuda.h").read_text() == "other"
    assert sorted(path.name for path in (place / "share/doc").iterdir()) == ["a"]


@pytest.mark.parametrize("command", ["adopt", "install"])
def test_what_changed_beneath_is_taken_up(home: Home, tmp_path: Path, command: str) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    what = {"adopt": place, "install": cudnn}
    nvcc, later = place / "bin/nvcc", tmp_path / "nvcc"
    older, newer = (place / "lib64" / library for library in ("libold.so.1", "libnew.so.1"))
    nvcc.rename(later)
    write(place / "version.json", '{"cuda": {"version": "11.2.152"}}')
    write(older, "old")
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    final = home.store / "toolkits" / name
    later.rename(nvcc)
    older.rename(newer)
    succeeded(home.run(command, what[command]))
    assert succeeded(home.run("exec", name, "--", "nvcc"))[0].endswith("V11.2.152")
    assert sorted(at.name for at in final.glob("lib64/lib[no]*")) == ["libnew.so", "libnew.so.1"]
    succeeded(home.run("verify"))
    # While the adopted toolkit is away, the one laid over it is left as it is.
    after = inodes_in(final)
    place.rename(tmp_path / "away")
    succeeded(home.run("install", cudnn))
    (tmp_path / "away").rename(place)
    succeeded(home.run(command, what[command]))
    assert inodes_in(final) == after


def test_nothing_is_laid_over_one_that_is_gone(home: Home, tmp_path: Path) -> None:
    """Nothing is laid over an adopted toolkit that is gone; it gets its cuDNN once it is back."""
    gone = toolkit(tmp_path / "gone")
    succeeded(home.run("adopt", gone))
    gone.rename(tmp_path / "away")
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    for options in ((), ("--force",)):
        done = home.run("install", *options, cudnn)
        assert succeeded(done) == []
    name = "11.2.152+cudnn8.1.1"
    assert name not in dict(names(home))
    (tmp_path / "away").rename(gone)
    succeeded(home.run("adopt", gone))
    assert name in dict(names(home))
    succeeded(home.run("install", "--force", cudnn))
    assert (home.store / "toolkits" / name / "include/cuda.h").resolve().is_relative_to(gone)


@pytest.mark.parametrize("is_lost", [False, True], ids=["it is gone", "its record is damaged too"])
def test_what_cannot_find_its_base_by_itself(home: Home, tmp_path: Path, is_lost: bool) -> None:
    """Nothing but the record tells the base; `remove` knows only toolkits that have one."""
    place, moved = toolkit(tmp_path / "cuda"), tmp_path / "moved"
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    place.rename(moved)
    kits = home.store / "toolkits"
    for damaged in (name, "11.2.152") if is_lost else (name,):
        (kits / damaged / MANIFEST).write_text("{")
    done = home.run("verify", "--repair")
    assert done.returncode == 1
    assert f"\nhint: delete `{kits / name}`, then adopt that toolkit" in done.stderr
    assert "cudaswitch remove" not in done.stderr
    shutil.rmtree(kits / name)
    succeeded(home.run("adopt", moved))
    assert dict(names(home)) == {"11.2.152": None, name: "8.1.1.33"}
    succeeded(home.run("verify"))


@pytest.mark.parametrize("is_removed", [False, True])
def test_what_is_laid_over_one_that_was_moved_is_gone_with_it(
    home: Home, tmp_path: Path, is_removed: bool
) -> None:
    place, moved = toolkit(tmp_path / "cuda"), tmp_path / "moved"
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    succeeded(home.run("verify", name))
    succeeded(home.run("pin", name, "--global"))
    place.rename(moved)
    gone = f"toolkit `{place}` is gone"
    asking = (["exec", "11.2", "--", "true"], ["env", "11.2"], ["exec", name, "--", "true"])
    for command in (*asking, ["current"]):
        # The toolkit is pinned, so only `--force` removes it.
        refused(home.run(*command), gone, hint=f"remove --force {name}")
    listed = succeeded(home.run("list"))
    assert [f"`{place}` is gone" in row for row in listed] == [True, True]
    done = home.run("verify")
    assert done.returncode == 1
    links = [line.split()[1] for line in done.stdout.splitlines()]
    assert str(home.store / "toolkits" / name / "bin/nvcc") in links
    assert f"adopted from `{place}`, which is gone" in done.stderr
    refused(
        home.run("verify", "--repair"),
        f"`{place}` that {name} is based on is gone",
        hint="adopt it",
    )
    found = json.loads(home.run("doctor", "--json").stdout)["findings"]
    told = [one["evidence"] for one in found if one["code"] == "CS062"]
    assert told[0].startswith("`11.2.152` was adopted, and its folder is gone")
    assert told[1].startswith(f"`{name}` is based on `{place}`, which is gone; pinned by ")
    if is_removed:
        succeeded(home.run("remove", "11.2.152"))
        refused(home.run("exec", "11.2", "--", "true"), gone, hint=f"remove --force {name}")
    assert succeeded(home.run("adopt", moved)) == [f"11.2.152  {moved}"]
    assert succeeded(home.run("exec", name, "--", "nvcc"))[0].endswith("V11.2.152")
    assert succeeded(home.run("current"))[1] == str(home.store / "toolkits" / name)
    succeeded(home.run("verify"))
    assert not any("gone" in row for row in succeeded(home.run("list")))


@pytest.mark.toolkit
def test_a_real_one_compiles_with_the_cudnn_beside_it(home: Home, tmp_path: Path) -> None:
    place = builders.real_toolkit()
    version = builders.toolkit_version()
    minor = ".".join(version.split(".")[:2])
    assert succeeded(home.run("adopt", place)) == [f"{version}  {place}"]
    cudnn = builders.cudnn_archive(tmp_path, "8.8+", "9.21.0.82", minor)
    assert succeeded(home.run("install", cudnn)) == [f"{version}+cudnn9.21.0"]
    (tmp_path / "hello.cu").write_text(
        'extern "C" {\n#include <cudnn.h>\n}\n'
        + HELLO_CU.replace(
            "return status", 'std::printf("%zu\\n", cudnnGetVersion());\n  return status'
        )
    )
    for option in ("static", "shared"):
        script = f"nvcc -cudart {option} -o hello hello.cu -lcudnn && ./hello"
        done = home.run("exec", minor, "--", "sh", "-ec", script, cwd=tmp_path)
        assert succeeded(done) == [str(builders.runtime_number()), "92100"]
    built = subprocess.run(
        ["readelf", "-d", tmp_path / "hello"], capture_output=True, text=True, check=True
    )
    assert "[libcudnn.so.9]" in built.stdout
    assert not os.path.lexists(place / "include/cudnn.h")


def test_of_another_store_one_that_is_laid_over_another_is_gone_with_it(
    home: Home, tmp_path: Path
) -> None:
    place = toolkit(tmp_path / "cuda")
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    (tmp_path / "other").mkdir()
    other = make_home(tmp_path / "other")
    succeeded(other.run("adopt", home.store / "toolkits" / name))
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    succeeded(home.run("pin", "11.2", "-p", env))
    place.rename(tmp_path / "moved")
    refused(other.run("exec", "11.2", "--", "true"), "is gone", hint=f"remove --force {name}")
    assert " is gone" in "".join(succeeded(other.run("list")))
    for person in (other, home):
        told = {
            one["code"] for one in json.loads(person.run("doctor", "--json").stdout)["findings"]
        }
        assert "CS062" in told and "CS071" not in told
