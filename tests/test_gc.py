"""gc: what nobody needs goes, what anybody needs stays, whoever is killed or running meanwhile."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from checks import PYTHON, RUNTIME_ANSWER, bytes_in, in_the_middle, snapshot, succeeded
from cudaswitch.processes import may_be_in, since
from homes import Home
from preloaded import EVERY, preloaded
from shells.venvs import with_venv
from tools import console_script, require, root_only

KITS = ["10.1.243", "10.1.243+cudnn7.6.5"]
CUDNN = "cudnn-7.6.5-cuda10.1_0"
LONG_AGO = (1_000_000_000, 1_000_000_000)
THIS_BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def left(note: Path, boot: str, seconds: float) -> None:
    """Let a note say when an environment was left: in which boot, and how many seconds after it."""
    row = json.loads(note.read_text())
    assert row["left"].split()[0] == THIS_BOOT
    note.write_text(json.dumps({**row, "left": f"{boot} {seconds}"}))


@contextlib.contextmanager
def shell_running() -> Iterator[int]:
    """Start a shell that waits, and give its process number."""
    process = subprocess.Popen(["sh", "-c", "read x"], stdin=subprocess.PIPE)
    try:
        yield process.pid
    finally:
        process.communicate()


def waited_for(home: Home, env: Path) -> list[str]:
    """Check that `gc` leaves an environment's hooks; return the processes that may need them."""
    done = home.run("gc")
    assert succeeded(done) == []
    assert f"skipped: the hooks of `{env}`, which may be needed by " in done.stderr
    [note] = (home.store / "pins").iterdir()
    # The message names only a few, and a machine may have many shells.
    return may_be_in(env, since(json.loads(note.read_text())["left"], note.stat().st_mtime))


def kinds(home: Home, *options: str) -> dict[str, str]:
    """Return the paths that `gc` says it takes, with their kinds."""
    lines = succeeded(home.run("gc", *options))
    return {line.split()[-1]: line.split()[0] for line in lines}


@pytest.fixture
def leftover(stocked: Home) -> Home:
    """Both packages without the toolkit with cuDNN, as an old installation may leave them."""
    shutil.rmtree(stocked.store / "toolkits/10.1.243+cudnn7.6.5")
    return stocked


def test_packages_that_no_toolkit_uses(leftover: Home) -> None:
    at = leftover.store / "packages" / CUDNN
    before = snapshot(leftover.store)
    done = leftover.run("gc", "--dry-run")
    assert snapshot(leftover.store) == before
    [line] = succeeded(done)
    assert line.split()[0] == "package"
    assert line.endswith(str(at))
    assert "would remove 1 thing, " in done.stderr
    assert f"{bytes_in(at) / 1024:.0f} KiB" in done.stderr
    assert kinds(leftover) == {str(at): "package"}
    assert not at.exists()
    assert kinds(leftover) == {}
    answer = leftover.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
    assert succeeded(answer) == ["10010"]


def test_bytes_that_have_another_name_are_not_freed(leftover: Home, tmp_path: Path) -> None:
    at = leftover.store / "packages" / CUDNN
    library = at / "tree/lib/libcudnn.so.7.6.5"
    shared = 50 << 10
    os.truncate(library, shared)
    (tmp_path / "mine").hardlink_to(library)
    said = leftover.run("gc", "--dry-run").stderr
    assert f"would remove 1 thing, {(bytes_in(at) - shared) / 1024:.0f} KiB" in said


def test_all_that_is_used_stays(stocked: Home) -> None:
    before = snapshot(stocked.store)
    assert kinds(stocked) == {}
    assert snapshot(stocked.store) == before


def test_what_a_repair_can_mend_stays(stocked: Home) -> None:
    """A toolkit that has lost its record stays: its list tells a repair of which packages it is."""
    kit = stocked.store / "toolkits" / KITS[1]
    (kit / "cudaswitch.json").unlink()
    folders = [stocked.store / name for name in ("toolkits", "packages")]
    before = list(map(snapshot, folders))
    for words in (["gc", "--dry-run"], ["gc"]):
        done = stocked.run(*words)
        assert succeeded(done) == []
        assert f"`cudaswitch verify {KITS[1]} --repair`" in done.stderr
        assert list(map(snapshot, folders)) == before
    # Its packages do not go with another toolkit, either.
    succeeded(stocked.run("remove", KITS[0]))
    assert len(list((stocked.store / "packages").iterdir())) == 2
    succeeded(stocked.run("verify", KITS[1], "--repair"))
    assert succeeded(stocked.run("list"))[0].split()[0] == KITS[1]


@pytest.mark.parametrize("options", [["--dry-run"], []])
def test_what_somebody_has_put_there_stays(
    stocked: Home, tmp_path: Path, options: list[str]
) -> None:
    """What somebody put there stays, and what lost all marks of being ours: it may be a copy."""
    toolkits, packages = (stocked.store / name for name in ("toolkits", "packages"))
    for folder in (toolkits / "11.8.0", packages / "mine-1.0-0"):
        folder.mkdir()
        (folder / "notes").write_text("the only copy\n")
    (toolkits / "README").write_text("mine\n")
    for folder in (toolkits, packages):
        (folder / "gone").symlink_to(tmp_path / "gone")
        (folder / ".hidden").write_text("unseen by verify, too\n")
    for name in ("cudaswitch.json", "cudaswitch-files.json"):
        (toolkits / KITS[1] / name).unlink()
    succeeded(stocked.run("alias", "any", "10.1"))
    (packages / CUDNN / "cudaswitch.json").unlink()
    before = [snapshot(toolkits), snapshot(packages)]
    done = stocked.run("gc", *options)
    assert succeeded(done) == []
    assert [snapshot(toolkits), snapshot(packages)] == before
    strange = {toolkits / name for name in ("11.8.0", "README", "gone", KITS[1])}
    strange |= {packages / name for name in ("mine-1.0-0", "gone", CUDNN)}
    hint = "which does not belong to cudaswitch: `cudaswitch verify --repair` sets it aside"
    told = [line for line in done.stderr.splitlines() if "skipped: " in line]
    assert set(told) == {f"cudaswitch: skipped: `{path}`, {hint}" for path in strange}
    assert len(told) == len(strange)
    succeeded(stocked.run("verify", "--repair"))
    assert not any(map(os.path.lexists, strange))
    assert "skipped: " not in stocked.run("gc").stderr


@root_only
def test_a_folder_that_was_half_deleted_where_it_was(stocked: Home, tmp_path: Path) -> None:
    """A folder half deleted in place, for want of a rename, is finished by later runs of `gc`."""
    kit, empty = (stocked.store / "toolkits" / name for name in (KITS[1], "empty"))
    # Nothing can be deleted from somebody else's folder, so the removal ends half way.
    os.chown(kit / "lib64", 12345, -1)
    crossing = preloaded(tmp_path, "fail", "rename", number=errno.EXDEV)
    assert stocked.run_plainly("remove", KITS[1], **crossing).returncode == 1
    assert not (kit / "cudaswitch.json").exists()
    os.chown(kit / "lib64", os.geteuid(), -1)
    empty.mkdir()
    # Its packages are still whole, but are no toolkit's.
    orphan = {str(stocked.store / "packages" / CUDNN): "package"}
    found = {str(kit): "leftover", str(empty): "leftover", **orphan}
    assert kinds(stocked, "--dry-run") == found
    assert "skipped: " not in stocked.run("gc", "--dry-run").stderr
    for number in (1, 3, 5):
        kill = preloaded(tmp_path, "kill", "unlink", number)
        assert stocked.run("gc", **kill).returncode == -signal.SIGKILL
        assert kit.exists()
    assert kinds(stocked)[str(kit)] == "leftover"
    assert not any(map(os.path.lexists, (kit, empty)))


def test_a_package_in_use_stays(leftover: Home) -> None:
    library = leftover.store / "packages" / CUDNN / "tree/lib/libcudnn.so.7.6.5"
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(True, flush=True); input()"
    with in_the_middle(code, library):
        done = leftover.run("gc")
        assert succeeded(done) == []
        assert f"skipped: {CUDNN}, in use by" in done.stderr
        assert library.exists()
    assert kinds(leftover)


def test_what_is_being_installed_stays(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    """`gc` takes nothing of a slow install, which has packages in the store before toolkits."""
    slow = preloaded(tmp_path, "sleep", "rename", last=EVERY)
    child = subprocess.Popen(
        [console_script(), "install", *pair], env=home.env | slow, stdout=subprocess.DEVNULL
    )
    while child.poll() is None:
        assert home.run("gc", "--downloads").returncode == 0
    assert child.returncode == 0
    succeeded(home.run("verify"))
    assert succeeded(home.run("list"))


def test_leftovers_of_killed_processes(stocked: Home, tmp_path: Path, pair: list[Path]) -> None:
    shutil.rmtree(stocked.store)
    kill = preloaded(tmp_path, "kill", "rename", 3)
    assert stocked.run("install", *pair, **kill).returncode == -signal.SIGKILL
    assert list((stocked.store / ".staging").iterdir())
    cache = Path(stocked.env["XDG_CACHE_HOME"]) / "cudaswitch"
    (cache / "urls").mkdir(exist_ok=True)
    work = list(cache.glob("work-*"))
    assert work, "a killed install leaves its work folder"
    part = cache / "urls" / ("a" * 64 + ".part")
    part.write_bytes(b"x" * 5000)
    mark = cache / "in-use"
    mark.write_text("who had it last\n")
    for lock in (stocked.store / "locks").iterdir():
        lock.unlink()
    before = sorted(tmp_path.rglob("*"))
    assert {str(part), *map(str, work)} <= kinds(stocked, "--dry-run").keys()
    assert sorted(tmp_path.rglob("*")) == before, "not even a lock"
    assert mark.read_text() == "who had it last\n"
    files = [stocked.store / f".layout.{name}.tmp" for name in ("0123abcd", "4567cdef", "89ab0123")]
    for path in files:
        path.write_text("x")
    old, young, written = files
    os.utime(old, LONG_AGO)
    os.utime(written, LONG_AGO)
    with written.open() as file:
        # A writer holds a lock on the file; neither its age nor a number in its name shows that.
        fcntl.flock(file, fcntl.LOCK_EX)
        found = kinds(stocked)
    assert {str(old), str(young), str(part), *map(str, work)} <= found.keys()
    assert set(found.values()) <= {"leftover", "package"}
    assert not list((stocked.store / ".staging").iterdir())
    assert not any(path.exists() for path in (old, young, part, *work))
    assert written.exists()
    assert succeeded(stocked.run("install", *pair)) == KITS


def test_downloads_go_only_when_asked(stocked: Home) -> None:
    cache = Path(stocked.env["XDG_CACHE_HOME"]) / "cudaswitch"
    (cache / "urls").mkdir(exist_ok=True)
    whole, other = cache / ("b" * 64), cache / "notes.txt"
    for path in (whole, other):
        path.write_text("x" * 2000)
    assert kinds(stocked) == {}
    assert kinds(stocked, "--downloads") == {str(whole): "download"}
    assert not whole.exists()
    assert other.exists(), "what is not ours stays"


def test_a_cache_that_somebody_works_in_is_left_alone(stocked: Home) -> None:
    cache = Path(stocked.env["XDG_CACHE_HOME"]) / "cudaswitch"
    whole = cache / ("b" * 64)
    whole.write_text("x")
    code = (
        "import sys; from pathlib import Path; from cudaswitch.download.cache import workplace\n"
        "with workplace(Path(sys.argv[1])):\n    print(True, flush=True); input()"
    )
    with in_the_middle(code, cache):
        done = stocked.run("gc", "--downloads")
        assert succeeded(done) == []
        assert f"skipped: `{cache}`" in done.stderr
        assert whole.exists()
    # The killed process left its folder.
    assert sorted(kinds(stocked, "--downloads").values()) == ["download", "leftover"]


def test_hooks_that_unpin_left(stocked: Home, tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    pristine = snapshot(env)
    succeeded(stocked.run("pin", "10.1", "-p", env))
    succeeded(stocked.run("unpin", "-p", env))
    rest = env / "etc/cudaswitch"
    assert (rest / "off.sh").exists()
    # A process that was started in the environment may have it active.
    user = subprocess.Popen(["sleep", "60"], env=stocked.env | {"VIRTUAL_ENV": str(env)})
    [note] = (stocked.store / "pins").iterdir()
    left(note, THIS_BOOT, 0)
    try:
        done = stocked.run("gc")
        assert succeeded(done) == []
        assert f"needed by sleep (process {user.pid})" in done.stderr
        assert (rest / "off.sh").exists()
    finally:
        user.kill()
        user.wait()
    assert set(kinds(stocked).values()) == {"hook"}
    assert {at: text for at, text in snapshot(env).items() if at != "etc"} == pristine
    assert not list((stocked.store / "pins").iterdir())


def test_of_many_that_may_need_hooks_a_few_are_named(stocked: Home, tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    succeeded(stocked.run("unpin", "-p", env))
    with contextlib.ExitStack() as running:
        for _ in range(8):
            running.enter_context(
                subprocess.Popen(
                    ["sh", "-c", "read x"], env={"VIRTUAL_ENV": str(env)}, stdin=subprocess.PIPE
                )
            )
        done = stocked.run("gc")
    assert succeeded(done) == []
    one = r"[^,]+ \(process \d+\)"
    assert re.search(rf"by {one}(, {one}){{4}} and \d+ more$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("clock", [-86400, 0, 86400])
def test_no_clock_tells_how_old_a_shell_is(stocked: Home, tmp_path: Path, clock: int) -> None:
    """No clock tells a shell's age: this machine's may be set, and a file server's may differ."""
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    with shell_running() as older:
        succeeded(stocked.run("unpin", "-p", env))
        [note] = (stocked.store / "pins").iterdir()
        os.utime(note, (time.time() + clock, time.time() + clock))
        # The system counts the starts of processes in hundredths of a second.
        time.sleep(0.02)
        with shell_running() as younger:
            users = waited_for(stocked, env)
    assert f"sh (process {older})" in users
    assert f"sh (process {younger})" not in users
    assert (env / "etc/cudaswitch/off.sh").exists()


@root_only
def test_a_shell_of_somebody_else_counts_at_its_terminal(stocked: Home, tmp_path: Path) -> None:
    """Another user's shell counts if it has a terminal: it may have activated what is shared."""
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    theirs = [require("setpriv"), "--reuid=12345", "--clear-groups", "sh", "-c", "echo on; read x"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        pexpect.spawn(theirs[0], theirs[1:], timeout=60) as shell,
        subprocess.Popen(theirs, start_new_session=True, **pipes) as service,
    ):
        shell.expect("on")
        assert service.stdout
        service.stdout.readline()
        succeeded(stocked.run("unpin", "-p", env))
        users = waited_for(stocked, env)
        service.kill()
    assert f"sh (process {shell.pid})" in users
    assert f"sh (process {service.pid})" not in users
    assert (env / "etc/cudaswitch/off.sh").exists()


def test_hooks_that_cannot_be_taken_away_are_found_again(stocked: Home, tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    succeeded(stocked.run("unpin", "-p", env))
    [note] = (stocked.store / "pins").iterdir()
    left(note, "0", 1e9)
    os.utime(note, LONG_AGO)
    (env / "etc/cudaswitch").chmod(0o555)
    assert "Permission denied" in stocked.run_plainly("gc").stderr
    (env / "etc/cudaswitch").chmod(0o755)
    assert set(kinds(stocked).values()) == {"hook"}
    assert not list((stocked.store / "pins").iterdir())


def test_after_another_start_of_the_machine_the_clock_tells(stocked: Home, tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    succeeded(stocked.run("unpin", "-p", env))
    [note] = (stocked.store / "pins").iterdir()
    left(note, "0", 1e9)
    os.utime(note, (time.time() + 60, time.time() + 60))
    with shell_running() as older:
        assert f"sh (process {older})" in waited_for(stocked, env)
    os.utime(note, LONG_AGO)
    assert set(kinds(stocked).values()) == {"hook"}


def test_a_pinned_environment_keeps_its_hooks(stocked: Home, tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    succeeded(stocked.run("unpin", "-p", env))
    succeeded(stocked.run("pin", "10.1", "-p", env))
    for note in (stocked.store / "pins").iterdir():
        os.utime(note, LONG_AGO)
    before = snapshot(env)
    assert kinds(stocked) == {}
    assert snapshot(env) == before
    assert len(list((stocked.store / "pins").iterdir())) == 1


def test_a_directory_in_an_environment_is_not_the_environment(
    stocked: Home, tmp_path: Path
) -> None:
    env = with_venv(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", env))
    succeeded(stocked.run("unpin", "-p", env))
    [note] = (stocked.store / "pins").iterdir()
    note.unlink()
    project = env / "src/project"
    project.mkdir(parents=True)
    succeeded(stocked.run("pin", "10.1", "--dir", project))
    (project / ".cuda-version").unlink()
    [note] = (stocked.store / "pins").iterdir()
    os.utime(note, LONG_AGO)
    before = snapshot(env)
    assert kinds(stocked) == {}
    assert snapshot(env) == before


def test_notes_of_what_is_gone(stocked: Home, tmp_path: Path) -> None:
    """Notes of what is gone are dropped, but the folder of a project stays, however empty it is."""
    project = tmp_path / "a/b/project"
    project.mkdir(parents=True)
    succeeded(stocked.run("pin", "10.1", "--dir", project))
    (project / ".cuda-version").unlink()
    assert kinds(stocked) == {}
    assert not list((stocked.store / "pins").iterdir())
    assert project.is_dir()
    answers = stocked.store / "auto"
    answers.mkdir(exist_ok=True)
    gone, there = answers / "%gone%env", answers / str(project).replace("/", "%")
    gone.write_text("/gone/env\n\n")
    there.write_text(f"{project}\n\n")
    for folder in (answers, stocked.store / "pins"):
        os.mkfifo(folder / "%pipe")
    done = stocked.run("gc", timeout=60)
    assert [line.split()[-1] for line in succeeded(done)] == [str(gone)]
    assert there.exists()


@pytest.mark.parametrize("step", ["rename", "unlink"])
def test_killed_while_collecting_the_next_run_ends_it(
    leftover: Home, tmp_path: Path, step: str
) -> None:
    kill = preloaded(tmp_path, "kill", step, 1)
    assert leftover.run("gc", **kill).returncode == -signal.SIGKILL
    assert succeeded(leftover.run("list"))
    succeeded(leftover.run("gc"))
    assert kinds(leftover) == {}
    assert not (leftover.store / "packages" / CUDNN).exists()
    assert not list((leftover.store / ".staging").iterdir())
    succeeded(leftover.run("verify"))


def test_without_a_store_there_is_nothing_to_do(home: Home) -> None:
    assert kinds(home, "--downloads") == {}
    assert home.run("gc").stderr == "cudaswitch: nothing to remove\n"
    assert not home.store.exists()
