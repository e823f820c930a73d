"""Runfiles made by the real makeself: taken apart, never run; broken ones refused in one line."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from archive_checks import NOTHING_IGNORED, by_path, checked_unpack, interrupted_when_closed
from builders import HELLO_CU, RUNFILE_ERAS, File, Link, Packing, RunfileEra, Tree
from checks import refused, succeeded
from cudaswitch.archives import unpacking
from cudaswitch.errors import ArchiveError
from folder_server import FolderServer
from homes import Home
from tools import require

TRIPLE = "targets/x86_64-linux"
PACKINGS: tuple[Packing, ...] = ("gzip", "bzip2", "xz", "zstd", "nocomp")


@pytest.fixture(autouse=True)
def _makeself() -> None:
    require("makeself")


def program() -> File:
    return File(builders.elf_bytes("nvcc", {"main": 0}), executable=True)


def runtime(version: str) -> Tree:
    """Return a runtime library of that version, with its links."""
    content = File(builders.elf_bytes("libcudart.so", {"x": 1}), executable=True)
    soname = version.rpartition(".")[0]
    return builders.versioned(f"{TRIPLE}/lib", "libcudart", soname, version, content)


def toolkit(version: str = "10.1.243") -> dict[str, builders.Content]:
    return {
        "bin/nvcc": program(),
        "nvvm/bin/cicc": program(),
        f"{TRIPLE}/include/cuda_runtime.h": b"#pragma once\n",
        "include": Link(f"{TRIPLE}/include"),
        "lib64": Link(f"{TRIPLE}/lib"),
        "extras/CUPTI/include/cupti.h": b"#pragma once\n",
        "doc/README": b"docs\n",
        **runtime(version),
    }


def components() -> dict[str, builders.Content]:
    links = {"include": Link(f"{TRIPLE}/include"), "lib64": Link(f"{TRIPLE}/lib")}
    return {
        **{
            f"cuda_cudart/{name}": content
            for name, content in {**runtime("12.4.127"), **links}.items()
        },
        f"cuda_cudart/{TRIPLE}/include/cuda_runtime.h": b"#pragma once\n",
        "cuda_nvcc/bin/nvcc": program(),
        "cuda_nvcc/nvvm/bin/cicc": program(),
        "cuda_nvcc/LICENSE": b"one\n",
        "cuda_cudart/LICENSE": b"two\n",
        f"libcublas/{TRIPLE}/lib/libcublas.so.12": program(),
        "libcublas/include/cublas.h": b"#pragma once\n",
    }


def small(
    folder: Path, era: RunfileEra, packing: Packing = "gzip", canary: Path | None = None
) -> Path:
    if era == "-10.0":
        target = folder / "cuda_10.0.130_410.48_linux"
        return builders.nested(
            target, toolkit("10.0.130"), "10.0.130", packing=packing, canary=canary
        )
    version = "10.1.243" if era == "10.1-10.2" else "12.4.1"
    inside = toolkit() if era == "10.1-10.2" else components()
    tree = builders.outer_tree(inside, era, version)
    target = folder / f"cuda_{version}_550.54.15_linux.run"
    return builders.makeself(target, tree, "CUDA Installer", packing=packing, canary=canary)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("era", RUNFILE_ERAS)
def test_the_toolkit_and_nothing_else(tmp_path: Path, era: RunfileEra, packing: Packing) -> None:
    path = small(tmp_path / "files", era, packing)
    package = checked_unpack(tmp_path, path)
    version = {"-10.0": "10.0.130", "10.1-10.2": "10.1.243", "11-": "12.4.1"}[era]
    assert package.id == f"cuda-{version}-runfile-linux-64"
    assert (package.component, package.source) == ("cuda", "runfile")
    found = by_path(package)
    assert found["bin/nvcc"].executable
    assert f"{TRIPLE}/include/cuda_runtime.h" in found
    runtime = "12.4.127" if era == "11-" else version
    assert (
        found[f"{TRIPLE}/lib/libcudart.so"].target == f"libcudart.so.{runtime.rpartition('.')[0]}"
    )
    tops = {name.partition("/")[0] for name in found}
    if era == "11-":
        assert tops == {"bin", "nvvm", "targets", "include", "EULA.txt", "LICENSE", "version.json"}
        assert "bin/compute-sanitizer" in found
        assert found["LICENSE"].size == len(b"one\n")
    else:
        extra = {"include"} if era == "10.1-10.2" else set()
        assert tops == {"bin", "nvvm", "targets", "extras", "version.txt"} | extra


@pytest.mark.parametrize("era", RUNFILE_ERAS)
@NOTHING_IGNORED
def test_an_interrupt_while_a_runfile_is_closed(tmp_path: Path, era: RunfileEra) -> None:
    path = small(tmp_path, era)
    with interrupted_when_closed():
        unpacking.identify(path)


def test_what_a_file_is_called_does_not_decide(tmp_path: Path) -> None:
    path = small(tmp_path, "11-").rename(tmp_path / "cuda_11.8.0_520.61.05_linux.run")
    assert str(unpacking.identify(path).version) == "12.4.1"


STATED = {
    "release": ({"cuda": {"version": "11.6.1"}}, None, "x.run", "11.6.1"),
    "date, and named": (
        {"cuda": {"version": "11.8.20220929"}},
        None,
        "cuda_11.8.0_520.61.05_linux.run",
        "11.8.0",
    ),
    "date, and named otherwise": (
        {"cuda": {"version": "11.8.20220929"}, "cuda_nvcc": {"version": "11.8.89"}},
        None,
        "cuda_12.1.0_530.30.02_linux.run",
        "11.8.89",
    ),
    "date alone": ({"cuda": {"version": "12.1.20230222"}}, None, "x.run", "12.1.20230222"),
    "text": (None, b"CUDA Version 10.2.89\n", "x.run", "10.2.89"),
    "text of 11.0": (None, b"CUDA Version 11.0.228\n", "cuda_11.0.3_450.51.06_linux.run", "11.0.3"),
    "nothing but the runtime": (None, None, "x.run", "9.2.148"),
    "nonsense": (["cuda"], b"CUDA Version soon\n", "x.run", "9.2.148"),
}


@pytest.mark.parametrize("case", STATED)
def test_the_version_is_the_one_that_the_toolkit_states(tmp_path: Path, case: str) -> None:
    listed, text, name, expected = STATED[case]
    tree = {f"builds/cuda-toolkit/{at}": content for at, content in toolkit("9.2.148").items()}
    if listed is not None:
        tree["builds/version.json"] = json.dumps(listed).encode()
    if text is not None:
        tree["builds/cuda-toolkit/version.txt"] = text
    path = builders.makeself(tmp_path / "files" / name, tree, "CUDA Installer")
    assert str(checked_unpack(tmp_path, path).version) == expected


@pytest.mark.parametrize("era", RUNFILE_ERAS)
def test_nothing_of_it_is_ever_run(home: Home, tmp_path: Path, era: RunfileEra) -> None:
    canary = tmp_path / "canary"
    path = small(tmp_path / "files", era, canary=canary)
    [name] = succeeded(home.run("install", path))
    assert not canary.exists()
    [row] = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert (row["name"], row["source"]) == (name, "runfile")
    installed = [file for file in home.store.rglob("*") if "NVIDIA-Linux" in file.name]
    assert installed == []
    # The trap works: running the file springs it.
    subprocess.run(["sh", path, "--noexec"], cwd=tmp_path, capture_output=True, check=False)
    assert canary.exists()


def test_a_name_without_a_suffix_is_a_file_all_the_same(home: Home, tmp_path: Path) -> None:
    small(tmp_path, "-10.0")
    assert succeeded(home.run("install", "cuda_10.0.130_410.48_linux", cwd=tmp_path)) == [
        "10.0.130"
    ]
    again = home.run("install", "cuda_10.0.130_410.48_linux", cwd=tmp_path)
    assert succeeded(again) == ["10.0.130"]


def test_from_a_url_and_with_its_hash(home: Home, tmp_path: Path) -> None:
    path = small(tmp_path / "files", "10.1-10.2")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with FolderServer(path.parent) as server:
        url = f"{server.url}/{path.name}"
        refused(home.run("install", url, "--sha256", "0" * 64), "sha256")
        assert succeeded(home.run("install", url, "--sha256", digest)) == ["10.1.243"]
    [package] = json.loads(home.run("list", "--json").stdout)["packages"]
    assert (package["source"], package["sha256"]) == ("runfile", digest)
    assert package["origin"] == url


def changed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert content.count(old) >= 1
        return content.replace(old, new, 1)

    return change


def field(name: bytes, value: bytes) -> Callable[[bytes], bytes]:
    """Return a change that writes another value after `name=` in the script."""

    def change(content: bytes) -> bytes:
        start = content.index(b"\n" + name + b'="') + len(name) + 3
        return content[:start] + value + content[content.index(b'"', start) :]

    return change


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "another md5": (field(b"MD5", b"0123456789abcdef" * 2), "md5"),
    "cut": (lambda content: content[:-100], "cut short"),
    "longer": (lambda content: content + b"x", "follows its end"),
    "a size too small": (field(b"filesizes", b"12"), "follows its end"),
    "a size too large": (field(b"filesizes", b"999999999999"), "cut short"),
    "a size that is none": (field(b"filesizes", b"12 $(id)"), "makeself 2.4"),
    "several sizes": (field(b"filesizes", b"12 13"), "makeself 2.4"),
    "lines that are none": (field(b"skip", b"`id`"), "cannot read"),
    "more lines than there are": (field(b"skip", b"999999"), "script does not end"),
    "fewer lines": (field(b"skip", b"3"), "follows its end"),
    "another script": (changed(b"Makeself 2.4", b"something"), "script"),
    "the driver": (field(b"targetdir", b"NVIDIA-Linux-x86_64-580.95.05"), "driver"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_one_is_refused(home: Home, tmp_path: Path, how: str) -> None:
    change, word = BROKEN[how]
    path = small(tmp_path, "10.1-10.2")
    path.write_bytes(change(path.read_bytes()))
    refused(home.run("install", path), path.name, word)
    assert not list(home.store.glob("packages/*"))
    assert not list(home.store.glob("toolkits/*"))


def test_a_flipped_bit_of_the_packed_data_is_seen(tmp_path: Path) -> None:
    path = small(tmp_path, "10.1-10.2", "nocomp")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"#pragma once", b"#pragma 0nce", 1))
    with pytest.raises(ArchiveError, match="md5"):
        checked_unpack(tmp_path, path)


def test_a_runfile_without_an_md5_is_taken(tmp_path: Path) -> None:
    tree = builders.outer_tree(toolkit(), "10.1-10.2", "10.1.243")
    path = builders.makeself(tmp_path / "files" / "x.run", tree, "CUDA Installer", "--nomd5")
    assert str(checked_unpack(tmp_path, path).version) == "10.1.243"


def test_the_form_of_makeself_2_1(tmp_path: Path) -> None:
    """A script of makeself 2.1, which counts its lines in every `head`, not once, is read too."""
    path = small(tmp_path / "files", "10.1-10.2")
    content = path.read_bytes()
    lines = content[content.index(b'\nskip="') + 7 :].partition(b'"')[0]
    content = content.replace(b'\nskip="' + lines + b'"', b'\nunset="' + lines + b'"')
    path.write_bytes(content.replace(b'head -n "$skip" "$1"', b"head -n " + lines + b' "$1"'))
    assert str(checked_unpack(tmp_path, path).version) == "10.1.243"


OTHERS: dict[str, tuple[Tree, str]] = {
    "samples alone": ({"0_Simple/a.cu": b"int a;\n"}, "without a CUDA toolkit (it is `Other`)"),
    "a driver alone": ({"builds/NVIDIA-Linux-x86_64-1.run": b"#!\n"}, "without a CUDA toolkit"),
    "no runfile inside": ({"run_files/cuda-linux.10.0.130-1.run": b"#!/bin/sh\n"}, "is a script"),
    "out of the folder": (
        {
            **{f"builds/cuda-toolkit/{at}": content for at, content in toolkit().items()},
            "builds/cuda-toolkit/bin/x": Link("../../../../../canary"),
        },
        "is a link to",
    ),
    "text for nvcc": (
        {
            "builds/cuda-toolkit/bin/nvcc": b"x",
            "builds/cuda-toolkit/version.txt": b"CUDA Version 9.0",
        },
        "does not state its toolkit's platform",
    ),
}


@pytest.mark.parametrize("which", OTHERS)
def test_what_holds_no_toolkit_is_refused(home: Home, tmp_path: Path, which: str) -> None:
    tree, words = OTHERS[which]
    path = builders.makeself(tmp_path / "other.run", tree, "Other")
    refused(home.run("install", path), words)
    assert not list(home.store.glob("packages/*"))


@pytest.mark.parametrize("machine", [21, 183])
def test_one_for_another_machine_is_refused(home: Home, tmp_path: Path, machine: int) -> None:
    tree = toolkit()
    header = bytearray(program().content)
    header[18:20] = machine.to_bytes(2, "little")
    tree = {name: content for name, content in tree.items() if "libcudart" not in name}
    tree["bin/nvcc"] = File(bytes(header), executable=True)
    path = builders.makeself(
        tmp_path / "x.run", builders.outer_tree(tree, "10.1-10.2", "10.1.243"), "CUDA Installer"
    )
    words = "linux-aarch64" if machine == 183 else "machines of kind 21"
    refused(home.run("install", path), words)


def test_limits_count_what_is_left_out_too(home: Home, tmp_path: Path) -> None:
    tree = dict(builders.outer_tree(components(), "11-", "12.4.1"))
    tree["builds/cuda_documentation/zeros"] = bytes(40 << 20)
    path = builders.makeself(tmp_path / "bomb.run", tree, "CUDA Installer")
    assert path.stat().st_size < 1 << 20
    done = home.run("install", path, CUDASWITCH_MAX_UNPACK_BYTES=str(20 << 20))
    refused(done, "not safe to unpack", "larger than the limit")
    done = home.run("install", path, CUDASWITCH_MAX_MEMBERS="5")
    refused(done, "not safe to unpack", "more members")


@pytest.mark.toolkit
def test_nvcc_of_an_old_one_compiles_and_the_program_runs(home: Home, tmp_path: Path) -> None:
    path = builders.toolkit_runfile("-10.0")
    version = builders.toolkit_version()
    assert succeeded(home.run("install", path)) == [version]
    (tmp_path / "hello.cu").write_text(HELLO_CU)
    script = "nvcc -cudart shared -o hello hello.cu && ./hello"
    done = home.run("exec", "latest", "--", "sh", "-ec", script, cwd=tmp_path)
    assert succeeded(done) == [str(builders.runtime_number())]
