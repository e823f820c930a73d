"""Killed at any moment, called eight times at once: the store ends right."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from checks import PYTHON, RUNTIME_ANSWER, inodes_in, refused, snapshot, succeeded
from cudaswitch import paths
from cudaswitch.paths import MANIFEST
from cudaswitch.staging import Staging
from cudaswitch.sweeping import DOOMED
from homes import Home
from preloaded import EVERY, preloaded
from tools import console_script

BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


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
    while killed < 3:
        shutil.rmtree(home.store)
        child = subprocess.Popen([console_script(), "install", *pair], env=home.env)
        # Most of the time goes into starting Python; the writing comes at the end.
        time.sleep(usual * chance.uniform(0.5, 1.0))
        child.send_signal(signal.SIGKILL)
        if child.wait() == -signal.SIGKILL:
            killed += 1
        else:
            usual *= 0.8
        assert home.run("list").returncode == 0
        assert succeeded(home.run("install", *pair)) == BOTH
        assert whole(home) == expected


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
        out, err = child.communicate(timeout=300)
        ended.append(subprocess.CompletedProcess(child.args, child.returncode, out, err))
    return ended


@pytest.mark.parametrize("form", ["the same", "in another order"])
def test_eight_at_once(home: Home, tmp_path: Path, pair: list[Path], form: str) -> None:
    orders = {
        "the same": [pair],
        "in another order": [pair, pair[::-1]],
    }[form]
    # Renames are slow here, so that the processes do meet.
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
    """Of two processes that install a toolkit and its cuDNN at once, one puts both together."""
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
            refused(done, "is installed", hint="cudaswitch")
    assert not list((stocked.store / ".staging").iterdir())
    assert succeeded(stocked.run("install", *pair)) == BOTH
    answer = stocked.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
    assert succeeded(answer) == ["10010"]


class Meanwhile(contextlib.ExitStack):
    """The steps to undo; when the first is added, another process publishes."""

    final: Path

    def callback(self, *arguments: Any, **options: Any) -> Any:
        self.final.mkdir()
        (self.final / MANIFEST).write_text("theirs")
        return super().callback(*arguments, **options)


def test_what_another_published_in_the_meantime_stays(stocked: Home) -> None:
    """Without locks, what another publishes before ours is renamed into place stays."""
    home = paths.Home(str(stocked.store))
    final = home.packages / "half-1.0-0"
    (final / "tree").mkdir(parents=True)
    (final / DOOMED).touch()
    staging = Staging(home)
    with staging.folder("half") as stage, Meanwhile() as undo:
        undo.final = final
        (stage / "tree").mkdir()
        staging.publish(stage, final, {"whose": "ours"}, undo)
        undo.pop_all()
    assert [path.read_text() for path in final.iterdir()] == ["theirs"]


FLICKER = """
import os, sys
from pathlib import Path
os.chdir(sys.argv[1])
while True:
    for name in map(str, range(90, 99)):
        Path(name).write_text("/nowhere\\n")
    for name in map(str, range(90, 99)):
        Path(name).unlink(missing_ok=True)
"""


def test_answers_that_others_write_and_take_away(home: Home, pair: list[Path]) -> None:
    succeeded(home.run("install", *pair))
    others = [
        subprocess.Popen([sys.executable, "-c", FLICKER, home.store / "requests"]) for _ in range(2)
    ]
    try:
        for number in range(3):
            succeeded(home.run("alias", f"lab{number}", "10.1"))
            succeeded(home.run("install", *pair))
    finally:
        for other in others:
            other.kill()
            other.wait()
