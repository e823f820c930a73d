"""Locks end with their holder and name it, and nothing goes wrong without them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from checks import in_the_middle, refused, snapshot, succeeded
from cudaswitch.locks import Lock
from homes import Home
from tools import console_script
from traced import injected

HOLDER = (
    "import sys; from pathlib import Path; from cudaswitch.locks import Lock\n"
    "with Lock(Path(sys.argv[1])) as lock:\n    print(lock.take(), flush=True); input()"
)
BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a lock until it is ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with in_the_middle(HOLDER, path) as process:
        yield process


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with holder(path) as process, Lock(path) as lock:
        assert not lock.take()
        assert f"(process {process.pid} on {os.uname().nodename})" in lock.holder
        process.kill()
        killed = time.monotonic()
        while not lock.take():
            assert time.monotonic() - killed < 60
            time.sleep(0.01)
        assert f"process {os.getpid()}" in lock.holder


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["install", "https://me:secret@host/a.whl"], "cudaswitch install"),
        (["https://me:secret@host/a.whl"], "cudaswitch"),
        ([], "cudaswitch"),
    ],
)
def test_a_lock_names_the_command_of_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], shown: str
) -> None:
    """A lock names nothing but its holder's command, whose other words may hold a password."""
    monkeypatch.setattr(sys, "argv", ["/bin/cudaswitch", *words])
    with Lock(tmp_path / "a.lock") as lock:
        assert lock.take()
        assert lock.holder == f"{shown} (process {os.getpid()} on {os.uname().nodename})"


def test_who_waits_goes_on_when_the_holder_is_killed(stocked: Home) -> None:
    with holder(stocked.store / "locks/store.lock") as process:
        waiter = subprocess.Popen(
            [console_script(), "alias", "lab", "10.1"],
            env=stocked.env, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert waiter.stderr is not None
        said = waiter.stderr.readline()
        assert f"waiting for cudaswitch (process {process.pid} on" in said
        assert waiter.poll() is None
        process.kill()
        killed = time.monotonic()
        assert waiter.wait(60) == 0
        assert time.monotonic() - killed < 60
        assert waiter.stderr.read() == ""
    assert (stocked.store / "aliases/lab").read_text() == "10.1\n"


def test_who_waits_gives_up_and_says_on_whom(stocked: Home) -> None:
    with holder(stocked.store / "locks/store.lock") as process:
        process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        done = stocked.run("alias", "lab", "10.1", CUDASWITCH_WAIT="2")
        assert 2 <= time.monotonic() - begun < 60
        waiting, message, hint = done.stderr.splitlines()
        assert waiting.startswith(f"cudaswitch: waiting for cudaswitch (process {process.pid} on")
        assert message.startswith(f"cudaswitch: cudaswitch (process {process.pid} on")
        assert message.endswith("has been busy with store for 2 s")
        assert "locks/store.lock" in hint
        assert done.returncode == 1
    assert not (stocked.store / "aliases/lab").exists()


def test_shared_locks_keep_out_exclusive_ones_only(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with Lock(path, shared=True) as one, Lock(path, shared=True) as two, Lock(path) as alone:
        assert one.take() and two.take()
        assert not alone.take()
        one.release()
        two.release()
        assert alone.take()


def test_a_lock_file_that_was_deleted_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with Lock(path) as old, Lock(path) as new:
        assert old.take()
        path.unlink()
        assert new.take()
        assert path.exists()


REPLACED = """
import os, sys
from pathlib import Path
from cudaswitch.locks import Lock
path, again = Path(sys.argv[1]), sys.argv[2] == "made anew"
def replace(event, _):
    if event == "fcntl.flock" and not replaced:
        replaced.append(event)
        path.unlink()
        if again:
            path.touch()
replaced = []
sys.addaudithook(replace)
lock = Lock(path)
assert lock.take()
print(len(replaced), Lock(path).take())
"""


@pytest.mark.parametrize("how", ["deleted", "made anew"])
def test_a_store_that_is_deleted_between_opening_a_lock_and_taking_it(
    tmp_path: Path, how: str
) -> None:
    """The file that is held must be the one that the next process opens."""
    done = subprocess.run(
        [sys.executable, "-c", REPLACED, tmp_path / "a.lock", how],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1 False\n"


@pytest.mark.parametrize("planted", ["link", "dangling link", "pipe", "folder"])
def test_what_is_planted_in_place_of_a_lock_is_not_followed(stocked: Home, planted: str) -> None:
    target, path = stocked.path / "target", stocked.store / "locks/store.lock"
    path.unlink()
    if planted == "pipe":
        os.mkfifo(path)
    elif planted == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    if planted == "link":
        target.write_text("mine")
    done = stocked.run("alias", "lab", "10.1", timeout=60)
    refused(done, "cannot write", str(path))
    assert planted != "link" or target.read_text() == "mine"
    assert planted != "dangling link" or not target.exists()


def test_only_who_may_write_beside_it_may_hold_it(tmp_path: Path) -> None:
    for mode, expected in ((0o755, 0o600), (0o775, 0o660)):
        folder = tmp_path / str(mode)
        folder.mkdir()
        folder.chmod(mode)
        before = os.umask(0o022)
        try:
            with Lock(folder / "a.lock") as lock:
                assert lock.take()
        finally:
            os.umask(before)
        assert (folder / "a.lock").stat().st_mode & 0o777 == expected


def test_without_locks_nothing_is_half(home: Home, pair: list[Path]) -> None:
    """Without locks work may be done twice, but all is whole, and one more command completes it."""
    rule, other = "flock:error=ENOLCK", "flock:error=EOPNOTSUPP"
    orders = [["install", *pair], ["install", *pair[::-1]], ["install", *pair], ["gc"]]
    children = [
        subprocess.Popen(
            injected(rule, console_script(), *order),
            env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for order in orders
    ]  # fmt: skip
    ended = [(child.communicate(timeout=120), child.returncode) for child in children]
    for (_, said), code in ended:
        assert "Traceback" not in said and "internal error" not in said
        assert code == 0 or said.startswith("cudaswitch: "), said
    assert any(code == 0 for _, code in ended[:3])
    succeeded(home.run("verify"))
    done = subprocess.run(
        injected(other, console_script(), "install", *pair),
        env=home.env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert succeeded(done) == BOTH
    collected = subprocess.run(
        injected(rule, console_script(), "gc"),
        env=home.env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert succeeded(collected) == []
    assert "where file locks do not work" in collected.stderr
    succeeded(home.run("verify"))


def test_without_locks_files_being_written_are_nobodys_leftovers(stocked: Home) -> None:
    left = stocked.store / "aliases/.lab.0123abcd.tmp"
    left.parent.mkdir()
    left.write_text("x")
    done = subprocess.run(
        injected("flock:error=ENOLCK", console_script(), "alias", "lab", "10.1"),
        env=stocked.env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    succeeded(done)
    assert left.exists()
    done = stocked.run("alias", "lab", "10.1")
    succeeded(done)
    assert "removed 1 leftover of killed runs" in done.stderr
    assert not left.exists()


def test_an_empty_file_that_nobody_has_locked_goes_without_a_word(stocked: Home) -> None:
    """An unlocked empty file goes silently: its writer, if still alive, makes another."""
    left = stocked.store / ".layout.0123abcd.tmp"
    left.touch()
    done = stocked.run("alias", "lab", "10.1")
    succeeded(done)
    assert done.stderr == ""
    assert not left.exists()


def test_a_folder_staged_by_a_running_process_stays(stocked: Home) -> None:
    """A staged folder stays while its package is locked, whatever its age and process number."""
    stage = stocked.store / ".staging/package-foo-1-0-0123abcd"
    stage.mkdir()
    (stage / "file").write_text("x")
    os.utime(stage, (1, 1))
    with holder(stocked.store / "locks/foo-1-0.lock"):
        assert stocked.run("alias", "lab", "10.1").stderr == ""
        assert stage.exists()
    assert "removed 1 leftover" in stocked.run("alias", "lab", "10.1").stderr
    assert not stage.exists()
    before = snapshot(stocked.store)
    assert stocked.run("alias", "lab", "10.1").stderr == ""
    assert snapshot(stocked.store) == before


def test_a_lock_is_not_inherited_by_programs_that_are_started(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with Lock(path) as lock:
        assert lock.take()
        child = subprocess.Popen(["sleep", "30"])
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        child.kill()
        child.wait()
