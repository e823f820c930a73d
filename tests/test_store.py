"""The store under bad input, a full disk, kills and crowds: changed whole or not at all."""

from __future__ import annotations

import errno
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
from preloaded import EVERY, preloaded
from tools import console_script, require

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


def other(
    folder: Path, build: str = "h6bb024c_0", content: int = 1, version: str = "10.1.243"
) -> Path:
    """Return another cudatoolkit 10.1.243: of the same build, but with other content."""
    library = builders.elf_bytes("libcudart.so.10.1", {"cudaRuntimeGetVersion": Writes(content)})
    tree = builders.versioned("lib", "libcudart", "10.1", version, library)
    return builders.conda_package(folder, "cudatoolkit", version, build, "linux-64", tree)


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
    return [other(folder / "a", "h1_0", 1, "10.1.9"), other(folder / "b", "h2_0", 2, "10.1.9")]


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
    "two builds of one toolkit": (two_builds, "would both be toolkit 10.1.9"),
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


@pytest.mark.parametrize(("step", "stride"), [("rename", 1), ("mkdir", 9), ("symlink", 6)])
def test_the_disk_is_full_from_any_step_on(
    stocked: Home, tmp_path: Path, step: str, stride: int
) -> None:
    """Also behind the point where a package or toolkit has appeared already."""
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    before = snapshot(stocked.store)
    failed = 0
    for number in range(1, 100, stride):
        full = preloaded(tmp_path, "fail", step, number, EVERY, errno.ENOSPC)
        done = stocked.run("install", archive, **full)
        if done.returncode == 0:
            break
        failed += 1
        refused(done, "cannot write", "No space left on device", hint="make room")
        assert snapshot(stocked.store) == before, number
    else:
        pytest.fail("it never ended well")
    assert failed


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


def without_privileges(home: Home, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command so that permissions hold for it, also where the tests run as root."""
    ordinary = [require("setpriv"), "--bounding-set=-all", "--inh-caps=-all"]
    return subprocess.run(
        [*(ordinary if os.geteuid() == 0 else []), console_script(), *arguments],
        env=home.env, cwd=home.path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_a_file_that_may_not_be_read(home: Home, pair: list[Path]) -> None:
    pair[0].chmod(0)
    refused(
        without_privileges(home, "install", *pair), "Permission denied", str(pair[0]), hint=None
    )
    assert not home.store.exists()


@pytest.mark.parametrize("folder", ["", "packages", "toolkits", ".staging", "locks", "requests"])
def test_a_folder_of_the_store_that_may_not_be_written(
    stocked: Home, tmp_path: Path, folder: str
) -> None:
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    before = snapshot(stocked.store)
    (stocked.store / folder).chmod(0o555)
    try:
        done = without_privileges(stocked, "install", archive)
        if folder:
            refused(done, "cannot write", "Permission denied", hint="CUDASWITCH_HOME")
            assert snapshot(stocked.store) == before
        else:
            # Nothing is ever put beside the folders.
            assert succeeded(done) == ["10.1.243+cudnn7.5.0"]
    finally:
        (stocked.store / folder).chmod(0o755)


@pytest.mark.parametrize("folder", ["toolkits", "toolkits/10.1.243", "packages"])
def test_a_folder_of_the_store_that_may_not_be_read(stocked: Home, folder: str) -> None:
    (stocked.store / folder).chmod(0)
    try:
        done = without_privileges(stocked, "list")
        refused(done, "Permission denied", folder, hint=None)
    finally:
        (stocked.store / folder).chmod(0o755)


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


@pytest.mark.parametrize("step", ["rename", "mkdir", "link", "symlink"])
def test_killed_at_each_step_the_next_run_ends_right(
    home: Home, tmp_path: Path, pair: list[Path], step: str
) -> None:
    succeeded(home.run("install", *pair))
    expected = whole(home)
    kills = 0
    for number in (1, 3, 8):
        shutil.rmtree(home.store)
        done = home.run("install", *pair, **preloaded(tmp_path, "kill", step, number))
        kills += done.returncode == -signal.SIGKILL
        assert home.run("list").returncode == 0
        assert succeeded(home.run("install", *pair)) == BOTH
        assert whole(home) == expected
    assert kills, f"no call of {step}"


def crowd(
    home: Home, commands: list[list[str | Path]], **variables: str
) -> list[subprocess.CompletedProcess[str]]:
    """Run commands at once and wait for all of them."""
    children = [
        subprocess.Popen(
            [console_script(), *command], env=home.env | variables, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for command in commands
    ]  # fmt: skip
    ended = []
    for child in children:
        out, err = child.communicate(timeout=60)
        ended.append(subprocess.CompletedProcess(child.args, child.returncode, out, err))
    return ended


@pytest.mark.parametrize("form", ["the same", "in another order"])
def test_eight_at_once(home: Home, tmp_path: Path, pair: list[Path], form: str) -> None:
    orders = {
        "the same": [pair],
        "in another order": [pair, pair[::-1]],
    }[form]
    # Slow at what counts, so that they do meet.
    slow = preloaded(tmp_path, "sleep", "rename", last=EVERY)
    for one in crowd(home, [["install", *orders[n % len(orders)]] for n in range(8)], **slow):
        succeeded(one)
    rows = json.loads(home.run("list", "--json").stdout)
    assert [row["name"] for row in rows["toolkits"]] == BOTH
    assert not list((home.store / ".staging").iterdir())
    inodes = inodes_in(home.store)
    succeeded(home.run("install", *pair))
    assert inodes_in(home.store) == inodes, "the work was done once"
    assert (home.store / "requests/10.1").read_text().strip().endswith(BOTH[1])


def test_a_toolkit_and_its_cudnn_at_once(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    """Two processes that share no package: one of them puts both together."""
    slow = preloaded(tmp_path, "sleep", "rename", last=EVERY)
    for _ in range(3):
        for one in crowd(home, [["install", pair[0]], ["install", pair[1]]], **slow):
            succeeded(one)
        assert sorted(path.name for path in (home.store / "toolkits").iterdir()) == BOTH
        assert (home.store / "requests/10.1").read_text().endswith(f"/{BOTH[1]}\n")
        shutil.rmtree(home.store)


def test_installing_and_removing_at_once(stocked: Home, pair: list[Path]) -> None:
    commands: list[list[str | Path]] = [["install", *pair], ["remove", *BOTH]] * 4
    for done in crowd(stocked, commands):
        if done.returncode:
            refused(done, "is installed", hint="list")
    assert not list((stocked.store / ".staging").iterdir())
    assert succeeded(stocked.run("install", *pair)) == BOTH
    answer = stocked.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
    assert succeeded(answer) == ["10010"]
