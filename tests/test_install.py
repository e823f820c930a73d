"""Installing cudatoolkit and cuDNN in every form: what is where, only once, and that it answers."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pexpect
import pytest

import builders
from builders import FORMS, PLACEHOLDER, File, Form, Link
from builders.redist import redist_index
from checks import (
    PYTHON,
    RUNTIME_ANSWER,
    bytes_in,
    inodes_in,
    refused,
    snapshot,
    succeeded,
)
from cudaswitch.errors import ArchiveError
from cudaswitch.install import Artifact, unpacked
from cudaswitch.platforms import current_platform
from homes import Home
from http_server import Server
from preloaded import no_hard_links
from shells.driver import BASH, DASH, FISH, SHELLS, TCSH, Shell, run_shell
from stock import FOLDER
from tools import console_script

FORM = pytest.mark.parametrize("form", FORMS)
BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


def made(folder: Path, subdir: str = "linux-64", form: Form = "tar.bz2") -> list[Path]:
    """Return cudatoolkit 10.1.243 and cuDNN 7.6.5 for it as conda packages."""
    toolkit = builders.cudatoolkit_10_1(folder, subdir, form)
    return [toolkit, builders.cudnn_7_6_5(folder, subdir, form)]


def names(home: Home) -> list[str]:
    rows = json.loads("\n".join(succeeded(home.run("list", "--json"))))["toolkits"]
    return [row["name"] for row in rows]


@FORM
def test_a_toolkit_and_its_cudnn_stand_together(home: Home, tmp_path: Path, form: Form) -> None:
    assert succeeded(home.run("install", *made(tmp_path, form=form))) == BOTH
    bare, full = (home.store / "toolkits" / name for name in BOTH)
    assert (full / "include/cudnn.h").is_file()
    assert (full / "lib64/libcudnn.so.7").is_file()
    assert (full / "lib64/libcudart.so.10.1").is_file()
    assert (full / "lib/libcudart.so").resolve().name == "libcudart.so.10.1.243"
    assert (full / "nvvm/libdevice/libdevice.10.bc").is_file()
    assert not (bare / "include/cudnn.h").exists()
    assert not list(bare.rglob("libcudnn*"))
    assert json.loads((full / "version.json").read_text())["cuda"]["version"] == "10.1.243"
    info = home.store / "packages/cudatoolkit-10.1.243-h6bb024c_0/info/index.json"
    assert json.loads(info.read_text())["name"] == "cudatoolkit"


ORDERS = {
    "toolkit first": (("toolkit",), ("cudnn",)),
    "cudnn first": (("cudnn",), ("toolkit",)),
    "one command": (("toolkit", "cudnn"),),
    "one command, cudnn first": (("cudnn", "toolkit"),),
    "each twice in one command": (("cudnn", "toolkit", "cudnn", "toolkit"),),
}


def test_what_came_from_a_url_is_refused_by_it(home: Home, pair: list[Path]) -> None:
    """A refusal names the URL, not the downloaded file, which is gone after the command."""
    whole = pair[0].read_bytes()
    for content, says, variables in (
        (whole[: len(whole) // 2], "is damaged", {}),
        (b"BZh9", "is damaged", {}),
        (whole, "limit in CUDASWITCH_MAX_MEMBERS", {"CUDASWITCH_MAX_MEMBERS": "1"}),
        (whole, "limit in CUDASWITCH_MAX_UNPACK_BYTES", {"CUDASWITCH_MAX_UNPACK_BYTES": "10"}),
        (builders.cudatoolkit_10_1(pair[0].parent, "win-64").read_bytes(), "is for win-64", {}),
    ):
        with Server(content) as server:
            url = server.url("ok", "x.tar.bz2")
            asked = url.replace("http://", "http://me:SECRET@")
            hint = f"unset {next(iter(variables))}" if variables else ""
            said = refused(home.run("install", asked, **variables), says, hint=hint)
            assert f"`{url}`" in said
            assert "SECRET" not in said


def test_pieces_for_every_platform_are_of_the_one_that_their_name_tells(
    home: Home, tmp_path: Path
) -> None:
    def piece(target: str) -> Path:
        tree: dict[str, builders.Content] = {
            "targets/x/include/cuda.h": b"",
            "targets/x/lib/a": b"",
        }
        words = (f"cuda-cudart_{target}", "13.0.96", "h_0", "noarch", tree)
        return builders.conda_package(tmp_path, *words, form="conda")

    here, other = ("linux-64", "linux-aarch64")[:: 1 if current_platform() == "linux-64" else -1]
    assert succeeded(home.run("install", piece(here))) == ["13.0.96"]
    succeeded(home.run("exec", "13.0", "--", "true"))
    foreign = piece(other)
    refused(home.run("install", foreign), f"is for {other}", hint=f"--platform {other}")
    kept = succeeded(home.run("install", "--platform", other, foreign))
    assert kept == [f"13.0.96@{other}"]


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_does_not_matter(home: Home, tmp_path: Path, order: str) -> None:
    toolkit, cudnn = made(tmp_path)
    files = {"toolkit": toolkit, "cudnn": cudnn}
    for command in ORDERS[order]:
        succeeded(home.run("install", *(files[word] for word in command)))
    assert names(home) == BOTH
    for path, number in (("libcudart.so.10.1", "10010"), ("libcudnn.so.7", "7605")):
        assert (home.store / "toolkits" / BOTH[1] / "lib64" / path).is_file(), number


@pytest.mark.parametrize("shell", SHELLS, ids=str)
def test_the_loader_finds_the_runtime_after_use(home: Home, tmp_path: Path, shell: Shell) -> None:
    succeeded(home.run("install", *made(tmp_path)))
    load = {
        FISH: "cudaswitch init fish | source\ncudaswitch use 10.1",
        DASH: 'eval "$(cudaswitch env --shell sh 10.1)"',
        TCSH: 'eval "`cudaswitch init tcsh`"\ncudaswitch use 10.1',
    }.get(shell, f'eval "$(cudaswitch init {shell})"\ncudaswitch use 10.1')
    ask = " ".join(map(shell.quote, (PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")))
    result = run_shell(shell, f"{load}\n{ask}\nsnap on\n", home.env)
    assert (result.rc, result.stdout) == (0, "10010\n"), result.stderr
    assert result.snaps["on"]["CUDA_HOME"] == str(home.store / "toolkits" / BOTH[1])


@FORM
def test_windows_packages_are_kept_beside_those_of_linux(
    home: Home, tmp_path: Path, form: Form
) -> None:
    linux, windows = made(tmp_path / "l", form=form), made(tmp_path / "w", "win-64", form)
    before = snapshot(home.store)
    message = refused(home.run("install", windows[0]), windows[0].name, "win-64", hint="--platform")
    assert "linux-64" in message
    assert snapshot(home.store) == before
    succeeded(home.run("install", *linux))
    kept = [f"{name}@win-64" for name in BOTH]
    assert succeeded(home.run("install", *windows, "--platform", "win-64")) == kept
    folder = home.store / "toolkits" / kept[1] / "Library"
    assert (folder / "bin/cudart64_101.dll").read_bytes()[:2] == b"MZ"
    assert (folder / "bin/cudnn64_7.dll").is_file()
    assert (folder / "include/cudnn.h").is_file()
    assert (home.store / "toolkits" / BOTH[1] / "lib64/libcudnn.so.7").is_file()
    assert {line.split()[0] for line in succeeded(home.run("list"))} == {*BOTH, *kept}
    # A toolkit for another machine never answers a request on this one.
    assert (home.store / "requests/10.1").read_text() == f"{home.store}/toolkits/{BOTH[1]}\n"
    refused(home.run("install", linux[0], "--platform", "win-64"), "linux-64", hint="linux-64")


@FORM
def test_no_byte_is_stored_twice(home: Home, tmp_path: Path, form: Form) -> None:
    succeeded(home.run("install", *made(tmp_path, form=form)))
    packages = bytes_in(home.store / "packages")
    records = sum(path.stat().st_size for path in home.store.glob("toolkits/*/*.json"))
    assert bytes_in(home.store / "toolkits") <= packages + records
    others = sum(bytes_in(home.store / name) for name in ("requests", "locks"))
    assert bytes_in(home.store) <= packages + records + others + len("1\n")
    for library in home.store.glob("toolkits/*/lib64/lib*.so.*.*.*"):
        assert library.stat().st_nlink >= 2, library


@pytest.mark.parametrize("command", ["a file and a version", "versions", "sync"])
def test_what_cannot_be_unpacked_keeps_out_what_came_before_it(
    home: Home, tmp_path: Path, command: str
) -> None:
    """If one version cannot be unpacked, those brought before it are not published either."""
    for release, file in (("12.3.2", "LICENSE"), ("12.4.1", "cudaswitch.json")):
        top = f"cuda_cudart-{FOLDER}-{release}-archive"
        tree: dict[str, builders.Content] = {"lib/libcudart.so.12": b"x", file: b"{}"}
        piece = builders.tar_archive(tmp_path / f"{top}.tar.xz", top, tree)
        redist_index(tmp_path / "mirror", "cuda", release, [piece])
    versions = ("12.3", "12.4", "--from", "nvidia", "--components", "cudart")
    mirror = {"CUDASWITCH_NVIDIA_URL": (tmp_path / "mirror").as_uri()}
    succeeded(home.run("lock", *versions, cwd=tmp_path, **mirror))
    words = {
        "a file and a version": ("install", made(tmp_path)[0], *versions[1:]),
        "versions": ("install", *versions),
        "sync": ("sync",),
    }[command]
    done = home.run(*words, cwd=tmp_path, **mirror)
    assert (done.returncode, done.stdout) == (1, "")
    assert "holds `cudaswitch.json`" in done.stderr
    assert names(home) == []
    assert not list((home.store / "packages").iterdir())


def test_installing_again_changes_nothing(home: Home, tmp_path: Path) -> None:
    files = made(tmp_path)
    first = succeeded(home.run("install", *files))
    inodes, before = inodes_in(home.store), snapshot(home.store)
    assert succeeded(home.run("install", *files)) == first
    for file in files:
        succeeded(home.run("install", file))
    succeeded(home.run("install", "10.1.243"))
    assert inodes_in(home.store) == inodes
    assert snapshot(home.store) == before


def test_the_other_container_of_a_package_is_the_same_package(home: Home, tmp_path: Path) -> None:
    succeeded(home.run("install", *made(tmp_path, form="tar.bz2")))
    inodes = inodes_in(home.store)
    assert succeeded(home.run("install", made(tmp_path, form="conda")[0])) == BOTH
    assert inodes_in(home.store) == inodes


@pytest.mark.parametrize("first", FORMS)
def test_of_both_containers_of_a_package_the_newer_is_taken(
    home: Home, tmp_path: Path, first: Form
) -> None:
    """As where `*cudatoolkit*` names all that conda's package cache has of it."""
    files = {form: made(tmp_path, form=form)[0] for form in sorted(FORMS, key=first.__ne__)}
    done = home.run("install", *files.values())
    assert succeeded(done) == BOTH[:1]
    assert f"`{files['tar.bz2']}` is left out" in done.stderr
    [record] = home.store.glob("packages/*/cudaswitch.json")
    assert json.loads(record.read_text())["origin"] == str(files["conda"])


def test_force_puts_a_package_in_again(home: Home, tmp_path: Path) -> None:
    files = made(tmp_path)
    succeeded(home.run("install", *files))
    library = home.store / "packages/cudnn-7.6.5-cuda10.1_0/tree/lib/libcudnn.so.7.6.5"
    library.write_bytes(b"damaged")
    assert succeeded(home.run("install", "--force", files[1])) == [BOTH[1]]
    composed = home.store / "toolkits" / BOTH[1] / "lib64/libcudnn.so.7.6.5"
    assert library.read_bytes()[:4] == composed.read_bytes()[:4] == b"\x7fELF"
    assert library.stat().st_ino == composed.stat().st_ino
    assert names(home) == BOTH


def test_a_url_of_a_real_server(home: Home, tmp_path: Path) -> None:
    file = made(tmp_path)[0]
    with Server(file.read_bytes()) as server:
        url = server.url("cut", file.name)
        digest = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True)
        wrong, right = "0" * 64, digest.stdout.split()[0]
        refused(home.run("install", url, "--sha256", wrong), right, wrong, hint=None)
        assert not (home.store / "packages").exists()
        assert succeeded(home.run("install", url, "--sha256", right)) == BOTH[:1]
    packages = json.loads(home.run("list", "--json").stdout)["packages"]
    assert (packages[0]["origin"], packages[0]["sha256"]) == (url, right)


@pytest.mark.parametrize("form", ["file URL", "relative", "tilde", "link"])
def test_ways_to_name_a_file(home: Home, tmp_path: Path, form: str) -> None:
    file = builders.cudatoolkit_10_1(home.path)
    link = tmp_path / "any name.tar.bz2"
    link.symlink_to(file)
    spelled = {
        "file URL": file.as_uri(),
        "relative": file.name,
        "tilde": f"~/{file.name}",
        "link": str(link),
    }[form]
    assert succeeded(home.run("install", spelled, cwd=home.path)) == BOTH[:1]


def test_what_a_file_is_called_does_not_matter(home: Home, tmp_path: Path) -> None:
    toolkit, cudnn = made(tmp_path)
    toolkit.rename(tmp_path / "cudnn-7.6.5-cuda10.1_1.tar.bz2")
    cudnn.rename(tmp_path / "download.conda")
    files = [tmp_path / "cudnn-7.6.5-cuda10.1_1.tar.bz2", tmp_path / "download.conda"]
    assert succeeded(home.run("install", *files)) == BOTH


def conda_toolkit(folder: Path, form: Form, **files: builders.Content) -> Path:
    """Return a small cudatoolkit with these files; `__` stands for `/`."""
    tree = {name.replace("__", "/"): content for name, content in files.items()}
    tree["lib/libcudart.so.9.9.9"] = builders.elf_bytes("libcudart.so.9.9", {"x": 1})
    return builders.conda_package(
        folder, "cudatoolkit", "9.9.9", "h0_0", "linux-64", tree, form=form
    )


def test_a_terminal_sees_how_far_a_large_file_is_unpacked(home: Home, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(9 << 20)
    package = conda_toolkit(tmp_path, "tar.bz2", lib__blob=noise)
    command = ["install", str(package)]
    with pexpect.spawn(str(console_script()), command, env=home.env, timeout=60) as terminal:
        terminal.expect(pexpect.EOF)
    said = terminal.before.decode()
    assert f"unpacking {package.name}: " in said
    assert re.search(r"[1-9]\d?%\|.+/9\.\d+MiB \[", said)
    # The bar is wiped out in the end, and what can be used stands alone.
    assert said.rpartition("\r")[0].rpartition("\r")[2].strip() == "9.9.9"
    assert home.run("install", package, "--force").stderr == ""


def test_a_file_that_is_gone_when_it_is_to_be_unpacked(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"gone\.conda"):
        unpacked(Artifact(tmp_path / "gone.conda", "gone.conda"), tmp_path)


@FORM
def test_conda_links_packages_so(home: Home, tmp_path: Path, form: Form) -> None:
    old = PLACEHOLDER.encode()
    package = conda_toolkit(
        tmp_path,
        form,
        bin__tool=File(b"#!" + old + b"/bin/sh\n", True, PLACEHOLDER),
        lib__blob=File(
            b"\0" + old + b"/a:" + old + b"/b\0end", placeholder=PLACEHOLDER, mode="binary"
        ),
        etc__own=File(b"mine", no_link=True),
        etc__shared=File(b"ours"),
        lib__alias=Link("blob"),
        share__up=Link("../lib/libcudart.so.9.9.9"),
        share__deep__a=b"a",
    )
    assert succeeded(home.run("install", package)) == ["9.9.9"]
    final = home.store / "toolkits/9.9.9"
    tree = home.store / "packages/cudatoolkit-9.9.9-h0_0/tree"
    assert (final / "bin/tool").read_text() == f"#!{final}/bin/sh\n"
    assert os.access(final / "bin/tool", os.X_OK)
    blob, path = (final / "lib64/blob").read_bytes(), os.fsencode(final)
    assert blob.rstrip(b"end").rstrip(b"\0") == b"\0" + path + b"/a:" + path + b"/b"
    assert (len(blob), blob[-4:]) == (2 * len(old) + 10, b"\0end")
    assert PLACEHOLDER in (tree / "bin/tool").read_text(), "packages are never changed"
    assert (final / "etc/own").stat().st_ino != (tree / "etc/own").stat().st_ino
    assert (final / "etc/shared").stat().st_ino == (tree / "etc/shared").stat().st_ino
    assert (final / "lib64/alias").resolve() == final / "lib64/blob"
    assert (final / "share/up").resolve().name == "libcudart.so.9.9.9"
    assert (final / "share/deep/a").read_bytes() == b"a"


def test_a_placeholder_too_short_for_the_store_is_refused(home: Home, tmp_path: Path) -> None:
    blob = File(b"\0/short/x\0", placeholder="/short", mode="binary")
    package = conda_toolkit(tmp_path, "tar.bz2", lib__blob=blob)
    refused(home.run("install", package), "too long", "lib/blob", hint="CUDASWITCH_HOME")
    assert names(home) == []
    assert not list((home.store / "packages").iterdir())


def test_links_into_targets_are_no_circles(home: Home, tmp_path: Path) -> None:
    """Links from lib/ and include/ into targets/, as in conda-forge's packages, make no circles."""
    package = conda_toolkit(
        tmp_path,
        "conda",
        **{
            "targets__x86_64-linux__lib__libx.so.1": b"library",
            "lib__libx.so.1": Link("../targets/x86_64-linux/lib/libx.so.1"),
            "targets__x86_64-linux__include__x.h": b"header",
            "include": Link("targets/x86_64-linux/include"),
        },
    )
    succeeded(home.run("install", package))
    final = home.store / "toolkits/9.9.9"
    for place in ("lib64", "lib", "targets/x86_64-linux/lib"):
        assert (final / place / "libx.so.1").read_bytes() == b"library"
    for place in ("include", "targets/x86_64-linux/include"):
        assert (final / place / "x.h").read_bytes() == b"header"


def broken_links(root: Path) -> list[Path]:
    inside = root.resolve()
    return [
        path
        for path in root.rglob("*")
        if path.is_symlink() and not (path.exists() and path.resolve().is_relative_to(inside))
    ]


@pytest.mark.parametrize("refusal", [0, errno.EPERM, errno.EXDEV, errno.EMLINK])
def test_a_store_can_be_moved(home: Home, tmp_path: Path, refusal: int) -> None:
    """A store can be moved, even if its file system has no hard links, or no more of them."""
    preload = no_hard_links(tmp_path, refusal) if refusal else {}
    succeeded(home.run("install", *made(tmp_path), **preload))
    library = home.store / "toolkits" / BOTH[1] / "lib64/libcudart.so.10.1.243"
    assert library.is_symlink() is bool(refusal)
    assert broken_links(home.store) == []
    moved = tmp_path / "elsewhere" / "moved store"
    moved.parent.mkdir()
    home.store.rename(moved)
    assert broken_links(moved) == []
    there = {"CUDASWITCH_HOME": str(moved)}
    done = home.run(
        "exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1", **there
    )
    assert succeeded(done) == ["10010"]
    listed = json.loads(home.run("list", "--json", **there).stdout)["toolkits"]
    assert [row["path"] for row in listed] == [str(moved / "toolkits" / name) for name in BOTH]


def test_libnvvm_of_a_wheel_has_its_number_too(home: Home, tmp_path: Path) -> None:
    """libNVVM gets its number, which Numba looks for and CUDA 12's wheel lacks."""
    library = builders.elf_library(tmp_path / "made", "libnvvm.so.4", {"nvvmVersion": 2})
    tag = "py3-none-manylinux_2_17_x86_64"
    tree = {
        "nvidia/cuda_nvcc/bin/ptxas": File(b"#!/bin/sh\n", executable=True),
        "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so": library.read_bytes(),
    }
    wheel = builders.wheel(tmp_path, "nvidia-cuda-nvcc-cu12", "12.9.86", tag, tree=tree)
    assert succeeded(home.run("install", wheel)) == ["12.9.86"]
    folder = home.store / "toolkits/12.9.86/nvvm/lib64"
    assert (folder / "libnvvm.so.4").samefile(folder / "libnvvm.so")
    assert succeeded(home.run("verify")) == []


def test_a_store_of_others_is_read_where_it_is_mounted(home: Home, tmp_path: Path) -> None:
    succeeded(home.run("install", *made(tmp_path)))
    lab = tmp_path / "lab"
    home.store.rename(lab)
    done = home.run("exec", "10.1", "--", "printenv", "CUDA_HOME", CUDASWITCH_STORES=str(lab))
    assert succeeded(done) == [str(lab / "toolkits" / BOTH[1])]
    refused(home.run("exec", "10.1", "--", "true"), "CUDA 10.1", "not installed", hint="install")


def test_a_hostile_store_path_works(hostile_home: Home, tmp_path: Path) -> None:
    home = hostile_home
    assert succeeded(home.run("install", *made(tmp_path))) == BOTH
    for shell, load in (
        (BASH, 'eval "$(cudaswitch init bash)"'),
        (FISH, "cudaswitch init fish | source"),
    ):
        ask = " ".join(map(shell.quote, (PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")))
        result = run_shell(shell, f"{load}\ncudaswitch use 10.1\n{ask}\n", home.env)
        assert (result.rc, result.stdout) == (0, "10010\n"), result.stderr
