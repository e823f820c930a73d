"""Adopting toolkits that are on the machine: which version, which place, and cuDNN beside them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from builders import HELLO_CU
from checks import refused, snapshot, succeeded
from homes import Home


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def toolkit(folder: Path, version: str = "11.2.152") -> Path:
    """Make a small toolkit with an nvcc that only tells its version, as NVIDIA lays it out."""
    release = ".".join(version.split(".")[:2])
    write(
        folder / "bin/nvcc",
        f'#!/bin/sh\necho "Cuda compilation tools, release {release}, V{version}"\n',
        0o755,
    )
    write(folder / "targets/x86_64-linux/include/cuda.h", "#define CUDA_VERSION 11020\n")
    library = folder / "targets/x86_64-linux/lib/libcudart.so.11.2.152"
    builders.elf_library(library, "libcudart.so.11.0", {"cudaRuntimeGetVersion": 11020})
    (library.parent / "libcudart.so.11.0").symlink_to(library.name)
    (folder / "lib64").symlink_to("targets/x86_64-linux/lib")
    (folder / "include").symlink_to("targets/x86_64-linux/include")
    return folder


def without_nvcc(folder: Path) -> None:
    (folder / "bin/nvcc").unlink()


def without_header(folder: Path) -> None:
    without_nvcc(folder)
    (folder / "include/cuda.h").unlink()


def broken_nvcc(folder: Path) -> None:
    write(folder / "bin/nvcc", "#!/bin/sh\nexit 1\n", 0o755)


RUNGS: dict[str, tuple[Callable[[Path], None], str]] = {
    "version.json": (
        lambda at: write(
            at / "version.json", '{"cuda": {"name": "CUDA SDK", "version": "11.2.2"}}'
        ),
        "11.2.2",
    ),
    "version.txt": (lambda at: write(at / "version.txt", "CUDA Version 10.2.89\n"), "10.2.89"),
    "nvcc": (lambda at: None, "11.2.152"),
    "cuda.h": (without_nvcc, "11.2"),
    "soname": (without_header, "11.2.152"),
    "the date of a build": (
        lambda at: write(at / "version.json", '{"cuda": {"version": "11.2.20210302"}}'),
        "11.2.152",
    ),
    "broken json": (lambda at: write(at / "version.json", "{"), "11.2.152"),
    "odd json": (lambda at: write(at / "version.json", '{"cuda": []}'), "11.2.152"),
    "list json": (lambda at: write(at / "version.json", "[1]"), "11.2.152"),
    "binary text": (lambda at: (at / "version.txt").write_bytes(b"\xff\0"), "11.2.152"),
    "broken nvcc": (broken_nvcc, "11.2"),
}


@pytest.mark.parametrize("rung", RUNGS)
def test_the_version_is_read_off_the_first_rung_that_answers(
    home: Home, tmp_path: Path, rung: str
) -> None:
    change, version = RUNGS[rung]
    place = toolkit(tmp_path / "cuda-x")
    change(place)
    before = snapshot(place)
    assert succeeded(home.run("adopt", place)) == [f"{version}  {place}"]
    assert snapshot(place) == before, "a toolkit elsewhere is never changed"
    done = home.run("exec", version, "--", "printenv", "CUDA_HOME")
    assert succeeded(done) == [str(place)]


def test_a_link_and_its_target_are_one(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    link = tmp_path / "cuda"
    link.symlink_to("cuda-11.2")
    first = home.run("adopt", link)
    assert succeeded(first) == [f"11.2.152  {place}"]
    before = snapshot(home.store)
    assert succeeded(home.run("adopt", place)) == succeeded(first)
    assert succeeded(home.run("adopt", "cuda/", cwd=tmp_path)) == succeeded(first)
    assert snapshot(home.store) == before


def test_json(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    done = home.run("adopt", place, "--json")
    assert json.loads("\n".join(succeeded(done))) == {
        "toolkits": [
            {
                "name": "11.2.152",
                "version": "11.2.152",
                "cudnn": None,
                "path": str(place),
                "source": "system",
                "platform": "linux-64",
                "packages": [],
                "base": None,
                "adopted": True,
            }
        ]
    }


def test_scan_finds_what_path_and_variables_lead_to(home: Home, tmp_path: Path) -> None:
    one, two = toolkit(tmp_path / "one"), toolkit(tmp_path / "two", "11.4.48")
    write(two / "bin/nvcc.profile", "TOP = ..\n")
    write(tmp_path / "wrapper/nvcc", "#!/bin/sh\n", 0o755)
    where = {
        "CUDA_HOME": str(one),
        "CUDA_PATH": str(tmp_path / "gone"),
        "PATH": f"{tmp_path}/wrapper:{two}/bin:{home.env['PATH']}",
    }

    def scan(*options: str) -> dict[str, bool]:
        data = json.loads(
            "\n".join(succeeded(home.run("adopt", "--scan", "--json", *options, **where)))
        )
        return {row["path"]: row["adopted"] for row in data["toolkits"]}

    seen = scan()
    assert seen.items() >= {str(one): False, str(two): False}.items()
    assert not (home.store / "toolkits").exists(), "looking changes nothing"
    assert scan("--yes").items() >= {str(one): True, str(two): True}.items()
    assert scan() == dict.fromkeys(seen, True)
    human = succeeded(home.run("adopt", "--scan", **where))
    assert "11.4.48" in "\n".join(human)


def test_scan_leaves_names_that_are_taken_and_our_own_alone(home: Home, tmp_path: Path) -> None:
    one, two = toolkit(tmp_path / "one"), toolkit(tmp_path / "two")
    succeeded(home.run("adopt", one))
    done = home.run("adopt", "--scan", "--yes", CUDA_HOME=str(two))
    assert f"left alone: `{two}`" in done.stderr
    assert f"hint: cudaswitch adopt {two} --as VERSION" in done.stderr
    assert str(two) not in "\n".join(succeeded(done))
    own = builders.cudatoolkit_10_1(tmp_path)
    succeeded(home.run("install", own))
    inside = home.store / "toolkits/10.1.243"
    done = home.run("adopt", "--scan", "--json", CUDA_HOME=str(inside))
    assert str(inside) not in "\n".join(succeeded(done))
    refused(home.run("adopt", inside), "in the store already", hint="list")


def test_another_name_for_the_same_version(home: Home, tmp_path: Path) -> None:
    one, two = toolkit(tmp_path / "one"), toolkit(tmp_path / "two")
    succeeded(home.run("adopt", one))
    before = snapshot(home.store)
    refused(home.run("adopt", two), "11.2.152", "already", str(one), hint=f"adopt {two} --as")
    assert snapshot(home.store) == before
    assert succeeded(home.run("adopt", two, "--as", "11.2.153")) == [f"11.2.153  {two}"]
    assert succeeded(home.run("exec", "11.2.153", "--", "printenv", "CUDA_HOME")) == [str(two)]


BAD = {
    "nothing there": (lambda at: None, "no toolkit"),
    "a file": (lambda at: write(at, "x"), "no CUDA toolkit"),
    "an empty folder": (lambda at: at.mkdir(), "neither bin/nvcc nor libcudart"),
    "a folder of programs with a wrapper": (
        lambda at: write(at / "bin/nvcc", "#!/bin/sh\necho V13.0.48\n", 0o755),
        "nothing else of a CUDA toolkit",
    ),
    "a link to itself": (lambda at: at.symlink_to(at), "no toolkit"),
    "a dangling link": (lambda at: at.symlink_to("gone"), "no toolkit"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_toolkit_is_refused(home: Home, tmp_path: Path, bad: str) -> None:
    make, words = BAD[bad]
    make(tmp_path / "cuda")
    refused(home.run("adopt", tmp_path / "cuda"), words, str(tmp_path / "cuda"))
    assert not home.store.exists()


def test_a_version_that_cannot_be_told_can_be_named(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "cuda"
    write(place / "bin/nvcc", "#!/bin/sh\n", 0o755)
    refused(home.run("adopt", place), "nothing else of a CUDA", hint="--as VERSION")
    write(place / "include/cuda_runtime.h", "")
    refused(home.run("adopt", place), "cannot tell the version", hint="--as VERSION")
    refused(home.run("adopt", place, "--as", "new"), "`new` is not a version")
    assert succeeded(home.run("adopt", place, "--as", "12.0")) == [f"12.0  {place}"]


@pytest.mark.parametrize("name", ["a:b", "a;b", "a'b", 'a"b', "a$b", "a\\b", "a`b"])
def test_a_path_that_cannot_be_carried_is_refused(home: Home, tmp_path: Path, name: str) -> None:
    refused(home.run("adopt", toolkit(tmp_path / name)), "cannot hold a toolkit", hint="plain")


def test_usage(home: Home, tmp_path: Path) -> None:
    for arguments in ([], ["--scan", str(tmp_path)], ["--scan", "--as", "10.1"]):
        refused(home.run("adopt", *arguments), code=2, hint="--help")


ORDERS = ("adopt", "install"), ("install", "adopt")


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_cudnn_is_laid_over_it_by_links(home: Home, tmp_path: Path, order: tuple[str, str]) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    # As the old instructions have it: another cuDNN was copied into the toolkit.
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
    # Nothing but links and what cuDNN brings.
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


def names(home: Home) -> list[tuple[str, str | None]]:
    rows = json.loads(home.run("list", "--json").stdout)["toolkits"]
    return [(row["name"], row["cudnn"]) for row in rows]


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
    succeeded(home.run("remove", "11.2.152"))
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


def test_a_folder_is_one_toolkit_whatever_it_was_before(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    succeeded(home.run("adopt", place))
    succeeded(home.run("adopt", place, "--as", "11.2.2"))
    assert names(home) == [("11.2.2", None)]
    asked = home.run("exec", "11.2", "--", "printenv", "CUDA_HOME")
    assert succeeded(asked) == [str(place)]
    refused(home.run("exec", "11.2.152", "--", "true"), "not installed", hint="install")


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


def test_the_same_cudnn_as_a_package_leaves_it_the_bare_one(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    succeeded(home.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("install", cudnn))
    before = names(home)
    copy_cudnn(place, "8.1.1")
    assert succeeded(home.run("adopt", place)) == [f"11.2.152  {place}"]
    assert names(home) == before


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


def test_what_is_laid_over_one_that_was_moved_is_gone_with_it(home: Home, tmp_path: Path) -> None:
    place, moved = toolkit(tmp_path / "cuda"), tmp_path / "moved"
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("adopt", place))
    [name] = succeeded(home.run("install", cudnn))
    succeeded(home.run("verify", name))
    place.rename(moved)
    gone = f"toolkit `{place}` is gone"
    for command in (["exec", "11.2", "--", "true"], ["env", "11.2"], ["exec", name, "--", "true"]):
        refused(home.run(*command), gone, hint=f"remove {name}")
    listed = succeeded(home.run("list"))
    assert [f"`{place}` is gone" in row for row in listed] == [True, True]
    done = home.run("verify")
    assert done.returncode == 1
    links = [line.split()[1] for line in done.stdout.splitlines()]
    assert str(home.store / "toolkits" / name / "bin/nvcc") in links
    assert f"adopted from `{place}`, which is gone" in done.stderr
    refused(home.run("verify", "--repair"), f"`{place}` below {name} is gone", hint="adopt it")
    succeeded(home.run("remove", "11.2.152"))
    refused(home.run("exec", "11.2", "--", "true"), gone, hint=f"remove {name}")
    succeeded(home.run("adopt", moved))
    assert succeeded(home.run("exec", name, "--", "nvcc"))[0].endswith("V11.2.152")
    succeeded(home.run("verify", name))


def test_removing_forgets_it_and_leaves_it_there(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    before = snapshot(place)
    succeeded(home.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("install", cudnn))
    succeeded(home.run("remove", "11.2.152+cudnn8.1.1", "11.2.152"))
    assert snapshot(place) == before
    refused(home.run("exec", "11.2", "--", "true"), "not installed", hint="install")


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
