"""Disks that are full, stores that may not be written: one clear line, all as before."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import builders
import mounts
from checks import refused, snapshot, succeeded
from folder_server import FolderServer
from homes import Home
from preloaded import EVERY, preloaded
from shells.conda import conda_prefix
from tools import closed, console_script, root_only

BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


def in_own_mounts(
    home: Home, script: str, *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run a script where it may mount, in a user's account."""
    return mounts.in_own_mounts(script, *arguments, cwd=home.path, env=home.env, timeout=60)


@pytest.mark.parametrize(
    ("command", "why", "hint"),
    [
        ("config set jobs 4", "Read-only file system", "set CUDASWITCH_CONFIG to a file"),
        ("init --install bash", "you may not write to `{home}`", "add this line to what"),
    ],
)
def test_a_home_folder_on_a_read_only_file_system(
    home: Home, command: str, why: str, hint: str
) -> None:
    done = in_own_mounts(
        home,
        'mount --bind "$HOME" "$HOME"; mount -o remount,bind,ro "$HOME"\n'
        f"exec cudaswitch {command}",
    )
    refused(done, why.format(home=home.path), hint=hint)


def test_a_full_disk(home: Home, tmp_path: Path) -> None:
    tree = {f"lib/libx{n}.so": random.Random(n).randbytes(200_000) for n in range(20)}
    tree |= builders.recipes.cudatoolkit_tree()
    big = builders.conda_package(tmp_path, "cudatoolkit", "11.0", "h_0", "linux-64", tree)
    home.store.mkdir()
    done = in_own_mounts(
        home,
        'mount -t tmpfs -o size=2m tmpfs "$CUDASWITCH_HOME"\n'
        'cudaswitch install "$1" >/dev/null\n'
        'cd "$CUDASWITCH_HOME"; find . | grep -v ^./locks | sort >"$HOME/before"\n'
        'set +e; cudaswitch install "$2"; code=$?; set -e\n'
        'find . | grep -v ^./locks | sort >"$HOME/after"; exit $code',
        builders.cudatoolkit_10_1(tmp_path),
        big,
    )
    refused(done, "cannot write", "No space left", hint="free some space")
    assert (home.path / "after").read_text() == (home.path / "before").read_text()


@pytest.mark.parametrize(("name", "value"), [("stores", "/shared"), ("libraries", "never")])
def test_settings_lie_elsewhere(stocked: Home, name: str, value: str) -> None:
    """Settings are in another folder, so they can be set even if nobody may write the store."""
    for path in (stocked.store, *filter(Path.is_dir, stocked.store.rglob("*"))):
        path.chmod(0o555)
    for path in filter(Path.is_file, (stocked.store / "locks").iterdir()):
        path.chmod(0o444)
    done = stocked.run_plainly("config", "set", name, value)
    assert succeeded(done) == []
    assert "were not updated: cannot write" in done.stderr
    assert succeeded(stocked.run_plainly("config", "get", name)) == [value]
    succeeded(stocked.run_plainly("config", "unset", name))
    assert succeeded(stocked.run_plainly("config", "get", name)) != [value]


def test_too_few_open_files(home: Home, pair: list[Path]) -> None:
    """The hint for too few open files is `ulimit -n`, as another folder would be no help."""
    line = f"ulimit -n 8; exec '{console_script()}' install '{pair[0]}'"
    done = subprocess.run(
        ["sh", "-c", line], env=home.env, capture_output=True, text=True, check=False
    )
    refused(done, "cannot write", "Too many open files", hint="ulimit -n")


@pytest.mark.parametrize(
    "command",
    ["init --install bash", "pin 10.1 --dir .", "pin 10.1 -p env", "config set jobs 2"],
)
def test_a_full_disk_elsewhere(stocked: Home, command: str) -> None:
    """The hint for a full disk is to free space, as another folder or owner would be no help."""
    (stocked.path / "small").mkdir()
    done = in_own_mounts(
        stocked,
        "mount -t tmpfs -o size=16k,nr_inodes=20 tmpfs small; cd small\n"
        "mkdir -p env/conda-meta env/bin; touch env/conda-meta/history .bashrc\n"
        'export HOME="$PWD" XDG_CONFIG_HOME="$PWD"\n'
        "n=0; while touch $n 2>/dev/null; do n=$((n + 1)); done\n"
        f"exec cudaswitch {command}",
    )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert done.stderr.endswith("\nhint: free some space there\n")


def test_a_full_disk_with_an_environment(stocked: Home) -> None:
    """The hint for `unpin` on a full disk is to free space: the owner could not unpin, either."""
    (stocked.path / "small").mkdir()
    done = in_own_mounts(
        stocked,
        "mount -t tmpfs -o size=4m tmpfs small; cd small\n"
        f"'{sys.executable}' -m venv --without-pip env\n"
        "cudaswitch pin 10.1 -p env 2> /dev/null\n"
        "head -c 8m /dev/zero > full 2> /dev/null || true\n"
        "exec cudaswitch unpin -p env",
    )
    refused(done, "cannot unpin", "No space left on device", hint="free some space there")


@pytest.mark.parametrize("place", ["/proc/nobody", "/dev/null", "FILE/below"])
def test_a_cache_that_cannot_be_made(home: Home, tmp_path: Path, place: str) -> None:
    """A cache that cannot be made, as in containers whose HOME is nobody's, has a hint."""
    archive = builders.cudatoolkit_10_1(tmp_path)
    cache = place.replace("FILE", str(archive))
    nowhere = {"HOME": cache, "XDG_CACHE_HOME": cache}
    done = home.run("install", archive, **nowhere)
    refused(done, "cannot write the download cache", cache, hint="CUDASWITCH_CACHE")
    done = home.run("install", archive, **nowhere, CUDASWITCH_CACHE=str(tmp_path / "cache"))
    assert succeeded(done) == BOTH[:1]


@pytest.mark.parametrize("limit", [0, 100, 1000, 3000, 8000])
def test_a_limit_on_what_may_be_written(stocked: Home, tmp_path: Path, limit: int) -> None:
    """Wherever writing fails, in a package, a record or an answer, all is as before."""
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    before = snapshot(stocked.store)
    done = subprocess.run(
        [console_script(), "install", archive],
        env=stocked.env, cwd=stocked.path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    refused(done, "cannot write", "File too large", hint="check `ulimit -f`")
    assert snapshot(stocked.store) == before
    assert succeeded(stocked.run("install", archive)) == ["10.1.243+cudnn7.5.0"]


@pytest.mark.parametrize(("step", "stride"), [("rename", 1), ("mkdir", 9), ("symlink", 6)])
def test_the_disk_is_full_from_any_step_on(
    stocked: Home, tmp_path: Path, step: str, stride: int
) -> None:
    """A disk that is full from any step on changes nothing, even after a package has appeared."""
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    before = snapshot(stocked.store)
    failed = 0
    for number in range(1, 100, stride):
        full = preloaded(tmp_path, "fail", step, number, EVERY, errno.ENOSPC)
        done = stocked.run("install", archive, **full)
        if done.returncode == 0:
            break
        failed += 1
        refused(done, "cannot write", "No space left on device", hint="free some space")
        assert snapshot(stocked.store) == before, number
    else:
        pytest.fail("it never ended well")
    assert failed


@pytest.mark.parametrize(
    "command", ["install", "remove", "alias", "adopt", "pin", "unpin", "gc", "shims"]
)
def test_a_store_that_is_read_only(stocked: Home, tmp_path: Path, command: str) -> None:
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    place = tmp_path / "cuda/lib64/libcudart.so.9.0"
    builders.elf_library(place, "libcudart.so.9.0", {"x": 1})
    what = {
        "install": [archive],
        "remove": [BOTH[1]],
        "alias": ["lab", "10.1"],
        "adopt": [place.parent.parent],
        "pin": ["10.1", "--dir", "."],
        "unpin": ["--dir", "."],
        "gc": [],
        "shims": ["install"],
    }[command]
    before = snapshot(stocked.store)
    done = in_own_mounts(
        stocked,
        'mount --bind "$CUDASWITCH_HOME" "$CUDASWITCH_HOME"\n'
        'mount -o remount,bind,ro "$CUDASWITCH_HOME"\n'
        'exec cudaswitch "$@"',
        command, *what,
    )  # fmt: skip
    refused(done, "cannot write", "Read-only file system", hint="set CUDASWITCH_HOME to a folder")
    assert "free some space" not in done.stderr
    assert snapshot(stocked.store) == before
    answer = in_own_mounts(
        stocked,
        'mount --bind "$CUDASWITCH_HOME" "$CUDASWITCH_HOME"\n'
        'mount -o remount,bind,ro "$CUDASWITCH_HOME"\n'
        "cudaswitch list >/dev/null; exec cudaswitch exec 10.1 -- printenv CUDA_HOME",
    )
    assert succeeded(answer) == [str(stocked.store / "toolkits" / BOTH[1])]


def test_a_file_that_may_not_be_read(home: Home, pair: list[Path]) -> None:
    pair[0].chmod(0)
    refused(home.run_plainly("install", *pair), "Permission denied", str(pair[0]), hint=None)
    assert not home.store.exists()


@pytest.mark.parametrize("folder", ["", "packages", "toolkits", ".staging", "locks", "requests"])
def test_a_folder_of_the_store_that_may_not_be_written(
    stocked: Home, tmp_path: Path, folder: str
) -> None:
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    before = snapshot(stocked.store)
    (stocked.store / folder).chmod(0o555)
    try:
        done = stocked.run_plainly("install", archive)
        if folder:
            refused(done, "cannot write", "Permission denied", hint="set CUDASWITCH_HOME")
            assert "free some space" not in done.stderr
            assert snapshot(stocked.store) == before
        else:
            # Nothing is ever put beside the store's folders.
            assert succeeded(done) == ["10.1.243+cudnn7.5.0"]
    finally:
        (stocked.store / folder).chmod(0o755)


@root_only
def test_what_cannot_be_deleted_is_all_that_gc_leaves(stocked: Home) -> None:
    """`gc` leaves only what it cannot delete, as folders of root or of a killed group member."""
    staging = stocked.store / ".staging"
    stuck, other = staging / "toolkit-a-0", staging / "toolkit-b-0"
    for folder in (stuck / "inside", other):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    cached = Path(stocked.env["XDG_CACHE_HOME"]) / "cudaswitch" / "work-left"
    cached.mkdir(parents=True)
    os.chown(stuck / "inside", 12345, -1)
    done = stocked.run_plainly("gc")
    assert done.stderr.splitlines()[0] == f"cudaswitch: skipped: `{stuck}`: Permission denied"
    assert str(stuck) not in "".join(succeeded(done))
    assert (other.exists(), cached.exists()) == (False, False)
    os.chown(stuck / "inside", os.geteuid(), -1)
    succeeded(stocked.run_plainly("gc"))
    assert not stuck.exists()


@pytest.mark.parametrize("what", ["-p", "--dir", "--global"])
def test_a_pin_that_the_store_cannot_note(stocked: Home, tmp_path: Path, what: str) -> None:
    """A pin that the store cannot note is refused, even for an environment of the user's own."""
    env = conda_prefix(tmp_path / "env")
    place = {"-p": [env], "--dir": [tmp_path], "--global": []}[what]
    succeeded(stocked.run("pin", "10.1", what, *place))
    before = snapshot(tmp_path)
    before = {at: text for at, text in before.items() if not at.startswith("store/locks")}
    for shut in (stocked.store, stocked.store / "pins"):
        shut.chmod(0o555)
    for words in (["pin", "10"], ["unpin"]):
        done = stocked.run_plainly(*words, what, *place)
        refused(done, "Permission denied", str(stocked.store), hint="set CUDASWITCH_HOME to")
    for shut in (stocked.store, stocked.store / "pins"):
        shut.chmod(0o755)
    shutil.rmtree(stocked.store / "locks")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("folder", ["toolkits", "packages"])
def test_a_folder_of_the_store_that_may_not_be_read(stocked: Home, folder: str) -> None:
    with closed(stocked.store / folder):
        done = stocked.run_plainly("list", "--json")
        refused(done, "Permission denied", folder, hint=None)


@pytest.mark.parametrize("char", list("'\"$`\\:;\n"))
def test_a_store_path_that_cannot_be_carried(home: Home, pair: list[Path], char: str) -> None:
    store = home.path / f"a{char}b"
    done = home.run("install", pair[0], CUDASWITCH_HOME=str(store))
    refused(done, "cannot hold a toolkit", hint="plain folder")
    assert not store.exists()


def test_a_store_of_another_layout_is_not_written(stocked: Home, tmp_path: Path) -> None:
    (stocked.store / "layout").write_text("2\n")
    before = snapshot(stocked.store)
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    for command in (["install", archive], ["remove", BOTH[1]], ["alias", "lab", "10.1"]):
        refused(stocked.run(*command), "has layout 2", hint="newer cudaswitch")
    assert snapshot(stocked.store) == before


def test_a_layout_without_end_is_another_one(home: Home) -> None:
    home.store.mkdir()
    (home.store / "layout").write_bytes(b"1" * 9999)
    message = refused(home.run("alias", "zz", "13"), "has layout", hint="newer cudaswitch")
    assert len(message) < 500


def test_a_store_that_is_a_file(home: Home, pair: list[Path]) -> None:
    home.store.write_text("mine")
    refused(home.run("install", pair[0]), "cannot write the store", str(home.store))
    assert home.store.read_text() == "mine"


@root_only
def test_sudo_is_refused_before_anything_is_downloaded(home: Home, tmp_path: Path) -> None:
    """`sudo` is refused before anything is downloaded, even if the download cache is root's own."""
    home.store.mkdir()
    os.chown(home.store, 1, 1)
    with FolderServer(tmp_path) as server:
        sudo = {"SUDO_UID": "1", "CUDASWITCH_CACHE": str(tmp_path / "cache")}
        done = home.run("install", f"{server.url}/cudnn-linux.tgz", **sudo)
    refused(done, "`sudo` would leave root's files", hint="without sudo")
    assert server.asked == []


def test_a_device_is_no_store_and_nobody_is_told_to_close_it(home: Home, pair: list[Path]) -> None:
    done = home.run("install", pair[0], CUDASWITCH_HOME="/dev/null")
    assert "/dev/null" in refused(done)
    assert "chmod" not in done.stderr


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
@pytest.mark.parametrize("form", ["with links", "without"])
def test_a_file_system_without_symbolic_links(
    home: Home, pair: list[Path], tmp_path: Path, form: str, number: int
) -> None:
    """FAT and exFAT say so in different words, none of which tells what a store needs."""
    tree = {"nvidia/cuda_nvcc/bin/ptxas": b"#!/bin/sh\n"}
    tag = "py3-none-manylinux_2_17_x86_64"
    wheel = builders.wheel(tmp_path, "nvidia-cuda-nvcc-cu12", "12.9.86", tag, tree=tree)
    linkless = preloaded(tmp_path, "fail", "symlink", last=EVERY, number=number)
    done = home.run("install", pair[0] if form == "with links" else wheel, **linkless)
    refused(
        done,
        f"cannot write `{home.store}`: its file system has no symbolic links",
        hint="set CUDASWITCH_HOME to a folder you can write to, on a file system that has them",
    )
    assert os.listdir(home.store / ".staging") == []
