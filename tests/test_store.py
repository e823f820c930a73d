"""The store under bad input, a full disk, kills and crowds: changed whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from builders import Writes
from checks import PYTHON, RUNTIME_ANSWER, inodes_in, refused, snapshot, succeeded
from homes import Home
from tools import console_script

BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


@pytest.fixture
def pair(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "files"
    return [builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder)]


@pytest.fixture
def stocked(home: Home, pair: list[Path]) -> Home:
    """A home with cudatoolkit 10.1.243, bare and with cuDNN 7.6.5."""
    assert succeeded(home.run("install", *pair)) == BOTH
    return home


def other(folder: Path, build: str = "h6bb024c_0", content: int = 1) -> Path:
    """Return another cudatoolkit 10.1.243: of the same build, but with other content."""
    library = builders.elf_bytes("libcudart.so.10.1", {"cudaRuntimeGetVersion": Writes(content)})
    tree = builders.versioned("lib", "libcudart", "10.1", "10.1.243", library)
    return builders.conda_package(folder, "cudatoolkit", "10.1.243", build, "linux-64", tree)


def truncated(folder: Path) -> list[Path]:
    whole = builders.cudatoolkit_10_1(folder)
    whole.write_bytes(whole.read_bytes()[:-2000])
    return [whole]


def damaged(folder: Path) -> list[Path]:
    whole = builders.cudatoolkit_10_1(folder, form="conda")
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 0x10
    whole.write_bytes(data)
    return [whole]


def empty(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "cudatoolkit-10.1.243-h6bb024c_0.tar.bz2").touch()
    return list(folder.iterdir())


def portal(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "cudatoolkit.conda").write_text("<html>Please log in</html>")
    return list(folder.iterdir())


def fifo(folder: Path) -> list[Path]:
    folder.mkdir()
    os.mkfifo(folder / "pipe.conda")
    return [folder / "pipe.conda"]


def looping(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "loop.conda").symlink_to("loop.conda")
    return [folder / "loop.conda"]


def half_of_two(folder: Path) -> list[Path]:
    """A good cuDNN, and a toolkit that cannot be installed, in one command."""
    good = builders.cudnn_archive(folder, "7.2-8.3.0", "7.5.0.56", "10.1")
    return [good, *truncated(folder / "bad")]


def two_builds(folder: Path) -> list[Path]:
    return [other(folder / "a", "h1_0", 1), other(folder / "b", "h2_0", 2)]


def two_cudnns(folder: Path) -> list[Path]:
    conda = builders.conda_package(
        folder, "cudnn", "7.5.0", "cuda10.1_0", "linux-64",
        {**builders.recipes.cudnn_headers("7.5.0"), **builders.recipes.cudnn_libraries("7.5.0")},
    )  # fmt: skip
    return [conda, builders.cudnn_archive(folder, "7.2-8.3.0", "7.5.0.56", "10.1")]


def no_package(folder: Path) -> list[Path]:
    return [builders.conda_package(folder, "numpy", "1.0", "h_0", "linux-64", {"lib/x": b"x"})]


BAD: dict[str, tuple[Callable[[Path], list[Path]], str]] = {
    "truncated": (truncated, "damaged"),
    "one bit": (damaged, "damaged"),
    "empty": (empty, "empty"),
    "a login page": (portal, "web page"),
    "missing": (lambda at: [at / "nothing.conda"], "no file"),
    "a folder": (lambda at: [at.parent], "is a folder"),
    "a pipe": (fifo, "pipe.conda"),
    "a circle of links": (looping, "loop.conda"),
    "the same name, other content": (lambda at: [other(at)], "other content"),
    "two files of one name": (
        lambda at: [other(at / "a", "h_0", 1), other(at / "b", "h_0", 2)],
        "both claim to be cudatoolkit-10.1.243-h_0",
    ),
    "another build of an installed toolkit": (lambda at: [other(at, "h_1")], "already"),
    "two builds of one toolkit": (two_builds, "already"),
    "two packages of one cuDNN": (two_cudnns, "already"),
    "another platform": (
        lambda at: [builders.cudatoolkit_10_1(at, "win-64")],
        "is for win-64",
    ),
    "one good and one bad": (half_of_two, "damaged"),
    "not of CUDA": (no_package, "numpy"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_one_line_and_changes_nothing(stocked: Home, tmp_path: Path, bad: str) -> None:
    make, word = BAD[bad]
    files = make(tmp_path / "bad")
    before, inodes = snapshot(stocked.store), inodes_in(stocked.store)
    refused(stocked.run("install", *files, timeout=20), word, hint=None)
    assert snapshot(stocked.store) == before
    assert (
        inodes.items()
        >= {
            path: inode for path, inode in inodes_in(stocked.store).items() if "lock" not in path
        }.items()
    )


REQUESTS = {
    "unknown version": (["exec", "99", "--", "true"], "CUDA 99 is not installed"),
    "not offline": (["install", "--offline", "99"], "offline"),
    "no version": (["install", "10.x"], "`10.x` is not a CUDA version"),
    "unknown alias": (["install", "thesis"], "no alias `thesis`"),
    "system": (["install", "system"], "`system` cannot be installed"),
    "auto without an environment": (["install", "auto"], "needs an active environment"),
    "odd cuDNN": (["install", "10.1", "--cudnn", "new"], "`new` is not a cuDNN version"),
    "control characters": (["install", "1\x1b[2J\n"], "\\x1b"),
    "empty": (["install", ""], "is not a CUDA version"),
    "a URL offline": (["install", "--offline", "http://127.0.0.1:9/x.conda"], "127.0.0.1"),
    "another protocol": (["install", "ftp://127.0.0.1/x.conda"], "ftp"),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_a_bad_request_is_one_line_and_changes_nothing(home: Home, case: str) -> None:
    arguments, word = REQUESTS[case]
    refused(home.run(*arguments, PIP_NO_INDEX="1", PIP_RETRIES="0"), word, hint=None)
    assert not home.store.exists()


def test_a_wrong_hash_of_a_file(home: Home, pair: list[Path]) -> None:
    right = hashlib.sha256(pair[0].read_bytes()).hexdigest()
    refused(home.run("install", pair[0], "--sha256", "0" * 64), right, "0" * 64)
    refused(home.run("install", pair[0], "--sha256", "abc"), "`abc` is not a sha256")
    assert not home.store.exists()
    assert succeeded(home.run("install", pair[0], "--sha256", right.upper())) == BOTH[:1]
    refused(home.run("install", *pair, "--sha256", right), code=2, hint="--help")


# -- a store that cannot be written ------------------------------------------------------


def in_own_mounts(
    home: Home, script: str, *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run a script where it may mount, unseen by others; skips, or fails in CI, without that."""
    options = ["-m"] if os.geteuid() == 0 else ["-r", "-m"]
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", *options, "true"], capture_output=True, check=False
        ).returncode
    ):
        if os.environ.get("CI"):
            pytest.fail("CI must let tests mount file systems")
        pytest.skip("needs to mount file systems")
    return subprocess.run(
        ["unshare", *options, "sh", "-ec", script, "sh", *arguments],
        env=home.env, cwd=home.path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


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
    refused(done, "cannot write", "No space left", hint="make room")
    assert (home.path / "after").read_text() == (home.path / "before").read_text()


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
    refused(done, "cannot write", "File too large", hint="make room")
    assert snapshot(stocked.store) == before
    assert succeeded(stocked.run("install", archive)) == ["10.1.243+cudnn7.5.0"]


@pytest.mark.parametrize("command", ["install", "remove", "alias", "adopt"])
def test_a_store_that_is_read_only(stocked: Home, tmp_path: Path, command: str) -> None:
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    place = tmp_path / "cuda/lib64/libcudart.so.9.0"
    builders.elf_library(place, "libcudart.so.9.0", {"x": 1})
    what = {
        "install": [archive],
        "remove": [BOTH[1]],
        "alias": ["lab", "10.1"],
        "adopt": [place.parent.parent],
    }[command]
    before = snapshot(stocked.store)
    done = in_own_mounts(
        stocked,
        'mount --bind "$CUDASWITCH_HOME" "$CUDASWITCH_HOME"\n'
        'mount -o remount,bind,ro "$CUDASWITCH_HOME"\n'
        'exec cudaswitch "$@"',
        command, *what,
    )  # fmt: skip
    refused(done, "cannot write", "Read-only file system", hint="CUDASWITCH_HOME")
    assert snapshot(stocked.store) == before
    answer = in_own_mounts(
        stocked,
        'mount --bind "$CUDASWITCH_HOME" "$CUDASWITCH_HOME"\n'
        'mount -o remount,bind,ro "$CUDASWITCH_HOME"\n'
        "cudaswitch list >/dev/null; exec cudaswitch exec 10.1 -- printenv CUDA_HOME",
    )
    assert succeeded(answer) == [str(stocked.store / "toolkits" / BOTH[1])]


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


def test_a_store_that_is_a_file(home: Home, pair: list[Path]) -> None:
    home.store.write_text("mine")
    refused(home.run("install", pair[0]), "cannot write the store", str(home.store))
    assert home.store.read_text() == "mine"


RECORDS = {
    "no JSON": "{",
    "another shape": "[]",
    "without keys": "{}",
    "odd version": '{"name": "x", "version": "new", "files": [], "cudnn": null, "packages": []}',
    "no text": "\udcff\udcfe",
    "deep": "[" * 100_000,
    "empty": "",
}


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("folder", ["toolkits/10.1.243", "packages/cudnn-7.6.5-cuda10.1_0"])
def test_a_damaged_record_is_named(stocked: Home, folder: str, record: str, tmp_path: Path) -> None:
    path = stocked.store / folder / "cudaswitch.json"
    path.write_text(RECORDS[record], errors="surrogateescape")
    message = refused(stocked.run("list"), "damaged", str(path), hint=f"delete `{path.parent}`")
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    assert refused(stocked.run("install", archive), "damaged") == message
    shutil.rmtree(path.parent)
    assert stocked.run("list").returncode == 0


# -- kills and crowds --------------------------------------------------------------------


def whole(home: Home) -> dict[str, str]:
    """Describe the store without what differs between two installs of the same.

    A kill may leave a temporary file beside the one that it was to become.
    """
    return {
        name: text
        for name, text in snapshot(home.store).items()
        if not (name.startswith("packages/") and name.endswith("cudaswitch.json"))
        and not name.endswith(".tmp")
    }


def test_killed_at_any_moment_the_next_run_ends_right(home: Home, pair: list[Path]) -> None:
    start = time.monotonic()
    succeeded(home.run("install", *pair))
    usual = time.monotonic() - start
    expected = whole(home)
    chance = random.Random(0)
    killed = 0
    for _ in range(5):
        shutil.rmtree(home.store)
        child = subprocess.Popen([console_script(), "install", *pair], env=home.env)
        # Most of the time goes into starting Python; what writes comes at the end.
        time.sleep(usual * chance.uniform(0.5, 1.0))
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        assert home.run("list").returncode == 0
        assert succeeded(home.run("install", *pair)) == BOTH
        assert whole(home) == expected
    assert killed


STEPS = ("rename", "mkdir", "link", "symlink")


def killer(folder: Path) -> Path:
    """Return a library for LD_PRELOAD that kills at the n-th call: KILL_AT=rename:3."""
    source, library = folder / "kill.c", folder / "kill.so"
    source.write_text(KILLER)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step_the_next_run_ends_right(
    home: Home, tmp_path: Path, pair: list[Path], step: str
) -> None:
    library = killer(tmp_path)
    succeeded(home.run("install", *pair))
    expected = whole(home)
    kills = 0
    for number in (1, 3, 8):
        shutil.rmtree(home.store)
        env = {"LD_PRELOAD": str(library), "KILL_AT": f"{step}:{number}"}
        done = home.run("install", *pair, **env)
        kills += done.returncode == -signal.SIGKILL
        assert home.run("list").returncode == 0
        assert succeeded(home.run("install", *pair)) == BOTH
        assert whole(home) == expected
    assert kills, f"no call of {step}"


KILLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static int count;
static void step(const char *name, const char *path) {
  const char *at = getenv("KILL_AT"), *home = getenv("CUDASWITCH_HOME");
  size_t length = strlen(name);
  if (!at || strncmp(at, name, length) || at[length] != ':') return;
  if (home && path && path[0] == '/' && strncmp(path, home, strlen(home))) return;
  if (++count == atoi(at + length + 1)) kill(getpid(), SIGKILL);
}
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
int rename(const char *a, const char *b) {
  step("rename", b); return NEXT(int (*)(const char *, const char *), "rename")(a, b);
}
int mkdir(const char *a, mode_t m) {
  step("mkdir", a); return NEXT(int (*)(const char *, mode_t), "mkdir")(a, m);
}
int mkdirat(int d, const char *a, mode_t m) {
  step("mkdir", 0); return NEXT(int (*)(int, const char *, mode_t), "mkdirat")(d, a, m);
}
int link(const char *a, const char *b) {
  step("link", b); return NEXT(int (*)(const char *, const char *), "link")(a, b);
}
int linkat(int c, const char *a, int d, const char *b, int f) {
  step("link", b);
  return NEXT(int (*)(int, const char *, int, const char *, int), "linkat")(c, a, d, b, f);
}
int symlink(const char *a, const char *b) {
  step("symlink", b); return NEXT(int (*)(const char *, const char *), "symlink")(a, b);
}
int symlinkat(const char *a, int d, const char *b) {
  step("symlink", 0); return NEXT(int (*)(const char *, int, const char *), "symlinkat")(a, d, b);
}
int unlink(const char *a) {
  step("unlink", a); return NEXT(int (*)(const char *), "unlink")(a);
}
int unlinkat(int d, const char *a, int f) {
  step("unlink", 0); return NEXT(int (*)(int, const char *, int), "unlinkat")(d, a, f);
}
"""


def crowd(home: Home, commands: list[list[str | Path]]) -> list[subprocess.CompletedProcess[str]]:
    """Run commands at once and wait for all of them."""
    children = [
        subprocess.Popen(
            [console_script(), *command], env=home.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for command in commands
    ]  # fmt: skip
    ended = []
    for child in children:
        out, err = child.communicate(timeout=60)
        ended.append(subprocess.CompletedProcess(child.args, child.returncode, out, err))
    return ended


@pytest.mark.parametrize("form", ["the same", "in another order", "toolkit and cuDNN"])
def test_eight_at_once(home: Home, pair: list[Path], form: str) -> None:
    orders = {
        "the same": [pair],
        "in another order": [pair, pair[::-1]],
        "toolkit and cuDNN": [pair[:1], pair[1:]],
    }[form]
    done = crowd(home, [["install", *orders[n % len(orders)]] for n in range(8)])
    for one in done:
        succeeded(one)
    rows = json.loads(home.run("list", "--json").stdout)
    assert [row["name"] for row in rows["toolkits"]] == BOTH
    assert not list((home.store / ".staging").iterdir())
    inodes = inodes_in(home.store)
    succeeded(home.run("install", *pair))
    assert inodes_in(home.store) == inodes, "the work was done once"
    assert (home.store / "requests/10.1").read_text().strip().endswith(BOTH[1])


def test_installing_and_removing_at_once(stocked: Home, pair: list[Path]) -> None:
    commands: list[list[str | Path]] = [["install", *pair], ["remove", *BOTH]] * 4
    for done in crowd(stocked, commands):
        if done.returncode:
            refused(done, "is installed", hint="list")
    assert not list((stocked.store / ".staging").iterdir())
    assert succeeded(stocked.run("install", *pair)) == BOTH
    answer = stocked.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
    assert succeeded(answer) == ["10010"]
