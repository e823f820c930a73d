"""Adopting toolkits that are on the machine: which version, which place, and cuDNN beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from adoptable import names, toolkit, write
from checks import refused, snapshot, succeeded
from homes import Home
from shells.conda import conda_prefix
from tools import executable, root_only


def test_a_name_that_begins_anothers_is_that_one(home: Home, tmp_path: Path) -> None:
    """A request means the toolkit with exactly that name, not a longer one, in ready files too."""
    longer, exact = (toolkit(tmp_path / at, "11.8.89") for at in ("longer", "exact"))
    library = toolkit(tmp_path / "other", "11.8.1")
    succeeded(home.run("adopt", longer))
    refused(home.run("adopt", exact), "11.8.89", hint="--as VERSION")
    succeeded(home.run("adopt", exact, "--as", "11.8"))
    succeeded(home.run("adopt", library, "--as", "11.8.1"))
    cudnns = []
    for version in ("5.1", "5.1.10"):
        file = builders.elf_bytes("libcudnn.so.5", {"cudnnGetVersion": 5})
        tree = builders.versioned("lib", "libcudnn", "5", version, file)
        words = ("cudnn", version, "cuda11.8_0", "linux-64", tree)
        cudnns.append(builders.conda_package(tmp_path, *words))
    succeeded(home.run("install", *cudnns))
    kits = home.store / "toolkits"
    meant = {
        "11.8+cudnnnone": exact,
        "11.8.89+cudnnnone": longer,
        "11.8": kits / "11.8+cudnn5.1.10",
        "11.8+cudnn5": kits / "11.8+cudnn5.1.10",
        "11.8+cudnn5.1": kits / "11.8+cudnn5.1",
        "11.8.1+cudnn5.1": kits / "11.8.1+cudnn5.1",
        "11": kits / "11.8.89+cudnn5.1.10",
        "11+cudnn5.1": kits / "11.8.89+cudnn5.1",
    }
    for request, place in meant.items():
        found = succeeded(home.run("exec", request, "--", "printenv", "CUDA_HOME"))
        ready = (home.store / "requests" / request).read_text().partition(":")[0].strip()
        assert (request, found, ready) == (request, [str(place)], str(place))


def without_nvcc(folder: Path) -> None:
    (folder / "bin/nvcc").unlink()


def without_header(folder: Path) -> None:
    without_nvcc(folder)
    (folder / "include/cuda.h").unlink()


def broken_nvcc(folder: Path) -> None:
    executable(folder / "bin/nvcc", "#!/bin/sh\nexit 1\n")


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
    executable(tmp_path / "wrapper/nvcc")
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
    done = home.run("adopt", "--scan", **where)
    rows = [line.split() for line in succeeded(done)]
    assert ["11.4.48", "adopted"] in [[row[0], row[-1]] for row in rows]
    assert "hint" not in done.stderr


def test_scan_leaves_names_that_are_taken_and_our_own_alone(home: Home, tmp_path: Path) -> None:
    one, two = toolkit(tmp_path / "one"), toolkit(tmp_path / "two")
    succeeded(home.run("adopt", one))
    done = home.run("adopt", "--scan", "--yes", CUDA_HOME=str(two))
    assert f"skipped: `{two}`" in done.stderr
    assert f"cudaswitch adopt {two} --as VERSION\n" in done.stderr
    assert str(two) not in "\n".join(succeeded(done))
    own = builders.cudatoolkit_10_1(tmp_path)
    succeeded(home.run("install", own))
    inside = home.store / "toolkits/10.1.243"
    done = home.run("adopt", "--scan", "--json", CUDA_HOME=str(inside))
    assert str(inside) not in "\n".join(succeeded(done))
    refused(home.run("adopt", inside), "already in the store", hint="list")


def test_scan_adopts_what_it_can(home: Home, tmp_path: Path) -> None:
    """`adopt --scan` skips paths that PATH cannot hold, and names whose cuDNN variant is taken."""
    odd, taken, good = (tmp_path / at for at in ("we:ird", "taken", "good"))
    toolkit(odd), toolkit(taken, "10.1.243"), toolkit(good, "11.4.999")
    files = builders.cudatoolkit_10_1(tmp_path), builders.cudnn_7_6_5(tmp_path)
    succeeded(home.run("install", *files))
    succeeded(home.run("remove", "10.1.243"))
    write(good / "bin/nvcc.profile", "TOP = ..\n")
    prefix = conda_prefix(tmp_path / "env")
    succeeded(home.run("pin", ">=10.1,<11.5", "-p", prefix))
    where = {"CUDA_HOME": str(odd), "CUDA_PATH": str(taken)}
    where["PATH"] = f"{good}/bin:{home.env['PATH']}"
    done = home.run("adopt", "--scan", "--yes", **where)
    told = "\n".join(succeeded(done))
    assert (str(odd) in told, str(taken) in told, str(good) in told) == (False, False, True)
    assert f"skipped: `{odd}` cannot hold" in done.stderr
    assert f"skipped: `{taken}` would be" in done.stderr
    assert (prefix / "etc/cudaswitch/want").read_text().splitlines()[-1] == good.name


def test_scan_leaves_the_number_that_a_toolkit_was_given(home: Home, tmp_path: Path) -> None:
    """Until the toolkit is upgraded in place, that number is what pins ask for."""
    place = toolkit(tmp_path / "one")

    def scan(*options: str) -> list[list[str]]:
        done = home.run("adopt", "--scan", *options, CUDA_HOME=str(place))
        return [row.split() for row in succeeded(done)]

    succeeded(home.run("adopt", place, "--as", "11.2.3"))
    before = names(home)
    assert ["11.2.3", str(place), "adopted"] in scan()
    assert ["11.2.3", str(place)] in scan("--yes")
    assert before == [one for one in names(home) if one[0].startswith("11.")]
    nvcc = (place / "bin/nvcc").read_text()
    executable(place / "bin/nvcc", nvcc.replace("11.2", "11.4"))
    assert ["11.4.152", str(place)] in scan("--yes")


def test_scan_asks_a_toolkit_once_for_its_version(home: Home, tmp_path: Path) -> None:
    """`adopt --scan` asks each toolkit once, not once a link: to ask may start its nvcc."""
    place, asked = toolkit(tmp_path / "cuda-11.2"), tmp_path / "asked"
    nvcc = (place / "bin/nvcc").read_text()
    executable(place / "bin/nvcc", nvcc.replace("echo", f"echo >>'{asked}'\necho"))
    (tmp_path / "cuda").symlink_to(place)
    where = {"CUDA_HOME": str(place), "CUDA_PATH": str(tmp_path / "cuda")}
    assert str(place) in "\n".join(succeeded(home.run("adopt", "--scan", **where)))
    assert asked.read_text() == "\n"


def test_another_name_for_the_same_version(home: Home, tmp_path: Path) -> None:
    one, two = toolkit(tmp_path / "one"), toolkit(tmp_path / "two (new)")
    succeeded(home.run("adopt", one))
    before = snapshot(home.store)
    refused(home.run("adopt", two), "11.2.152", "already", str(one), hint=f"adopt '{two}' --as")
    assert snapshot(home.store) == before
    assert succeeded(home.run("adopt", two, "--as", "11.2.153")) == [f"11.2.153  {two}"]
    assert succeeded(home.run("exec", "11.2.153", "--", "printenv", "CUDA_HOME")) == [str(two)]


BAD = {
    "nothing there": (lambda at: None, "there is no `"),
    "a file": (lambda at: write(at, "x"), "is a file"),
    "an empty folder": (lambda at: at.mkdir(), "neither bin/nvcc nor libcudart"),
    "a folder of programs with a wrapper": (
        lambda at: executable(at / "bin/nvcc", "#!/bin/sh\necho V13.0.48\n"),
        "nothing else of a CUDA toolkit",
    ),
    "a link to itself": (lambda at: at.symlink_to(at), "not a toolkit"),
    "a dangling link": (lambda at: at.symlink_to("gone"), "not a toolkit"),
}


def test_a_file_of_a_toolkit_is_not_what_is_adopted(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda 11.2")
    for file in ("bin/nvcc", "lib64/libcudart.so.11.0"):
        refused(home.run("adopt", place / file), "is a file", hint=f"cudaswitch adopt '{place}'")


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_toolkit_is_refused(home: Home, tmp_path: Path, bad: str) -> None:
    make, words = BAD[bad]
    make(tmp_path / "cuda")
    refused(home.run("adopt", tmp_path / "cuda"), words, str(tmp_path / "cuda"))
    assert not home.store.exists()


def environment(folder: Path) -> Path:
    """Make a conda environment with CUDA 12.4 in it, as conda lays it out."""
    write(folder / "conda-meta/history", "")
    executable(folder / "bin/python")
    executable(folder / "bin/nvcc", "#!/bin/sh\necho 'release 12.4, V12.4.131'\n")
    write(folder / "bin/nvcc.profile", "TOP = ..\n")
    write(folder / "lib/libcudart.so.12.4.127", "")
    return folder


def test_a_conda_environment_is_no_toolkit(home: Home, tmp_path: Path) -> None:
    """A conda environment is not adopted: its python and compilers would be on PATH, too."""
    place = environment(tmp_path / "env")
    for options in ([], ["--as", "12.4"]):
        done = home.run("adopt", place, *options)
        refused(done, f"`{place}` is a conda environment", hint="cudaswitch install 12.4")
    (place / "bin/nvcc").unlink()
    (place / "lib/libcudart.so.12.4.127").rename(place / "lib/libcudart.so")
    refused(home.run("adopt", place), "conda environment", hint="cudaswitch install VERSION")
    assert not home.store.exists()


def test_scan_leaves_a_conda_environment_alone(home: Home, tmp_path: Path) -> None:
    place, kit = environment(tmp_path / "env"), toolkit(tmp_path / "cuda")
    where = {"CUDA_HOME": str(kit), "CUDA_PATH": str(place)}
    where["PATH"] = f"{place}/bin:{home.env['PATH']}"
    for options in ([], ["--yes"]):
        told = "\n".join(succeeded(home.run("adopt", "--scan", *options, **where)))
        assert str(kit) in told
        assert str(place) not in told


def test_a_version_that_cannot_be_told_can_be_named(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "cuda"
    executable(place / "bin/nvcc")
    refused(home.run("adopt", place), "nothing else of a CUDA", hint="--as VERSION")
    write(place / "include/cuda_runtime.h", "")
    refused(home.run("adopt", place), "cannot tell the version", hint="--as VERSION")
    refused(home.run("adopt", place, "--as", "new"), "`new` is not a version")
    assert succeeded(home.run("adopt", place, "--as", "12.0")) == [f"12.0  {place}"]


@pytest.mark.parametrize("name", ["a:b", "a;b", "a'b", 'a"b', "a$b", "a\\b", "a`b"])
def test_a_path_that_cannot_be_carried_is_refused(home: Home, tmp_path: Path, name: str) -> None:
    refused(home.run("adopt", toolkit(tmp_path / name)), "cannot hold a toolkit", hint="move it")


def test_a_backslash_is_shown_as_it_is(home: Home, tmp_path: Path) -> None:
    done = home.run("adopt", toolkit(tmp_path / "a\\b"))
    assert r"its path contains '\', which" in done.stderr


def test_a_path_that_ends_with_a_blank_is_listed_whole(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda ")
    for command in (["adopt", place], ["list"]):
        [line] = [line for line in succeeded(home.run(*command)) if str(tmp_path) in line]
        assert line.endswith("/cuda ")


def test_usage(home: Home, tmp_path: Path) -> None:
    for arguments in ([], ["--scan", str(tmp_path)], ["--scan", "--as", "10.1"]):
        refused(home.run("adopt", *arguments), code=2, hint="--help")


def test_a_folder_is_one_toolkit_whatever_it_was_before(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    succeeded(home.run("adopt", place))
    done = home.run("adopt", place, "--as", "11.2.2")
    assert succeeded(done) == [f"11.2.2  {place}"]
    assert "cudaswitch: `11.2.152` is now called 11.2.2\n" in done.stderr
    assert "from now on" not in home.run("adopt", place, "--as", "11.2.2").stderr
    assert names(home) == [("11.2.2", None)]
    asked = home.run("exec", "11.2", "--", "printenv", "CUDA_HOME")
    assert succeeded(asked) == [str(place)]
    refused(home.run("exec", "11.2.152", "--", "true"), "not installed", hint="install")


def test_removing_forgets_it_and_leaves_it_there(home: Home, tmp_path: Path) -> None:
    place = toolkit(tmp_path / "cuda-11.2")
    before = snapshot(place)
    succeeded(home.run("adopt", place))
    cudnn = builders.cudnn_archive(tmp_path, "8.3.1-8.4", "8.1.1.33", "11.2")
    succeeded(home.run("install", cudnn))
    succeeded(home.run("remove", "11.2.152+cudnn8.1.1", "11.2.152"))
    assert snapshot(place) == before
    refused(home.run("exec", "11.2", "--", "true"), "not installed", hint="install")


@root_only
def test_sudo_says_that_it_fills_roots_store(home: Home, tmp_path: Path) -> None:
    kit, said = toolkit(tmp_path / "cuda-12.4", "12.4.131"), "root's own store"
    called = {"SUDO_UID": "12345", "CUDASWITCH_HOME": ""}
    for variables, is_said in (
        (called, True),
        (called | {"CUDASWITCH_HOME": str(home.store)}, False),
        (called | {"SUDO_UID": "0"}, False),
    ):
        done = home.run("adopt", kit, **variables)
        succeeded(done)
        assert (said in done.stderr) is is_said
    done = home.run("install", builders.cudatoolkit_10_1(tmp_path), **called)
    succeeded(done)
    assert said in done.stderr
    assert done.stderr.endswith("hint: run it without sudo for a store of your own\n")
