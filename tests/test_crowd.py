"""Eight processes that install, use, pin and remove the same and different toolkits at once.

For four seconds, or as many as `CUDASWITCH_CROWD` says, and each three times at the least.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from checks import PYTHON, RUNTIME_ANSWER, snapshot, succeeded
from cudaswitch.changing import OwnStore
from cudaswitch.cli.packages import _refuse_used
from cudaswitch.errors import StoreError
from cudaswitch.paths import Home as Folders
from faults.changing_commands import archives_in, make_virtualenv
from faults.runner import Forking, Ran, Runner
from homes import Home

PROCESSES = 8
SECONDS = float(os.environ.get("CUDASWITCH_CROWD", "4"))
BARE, KITS = "10.1.243", ("10.1.243+cudnn7.6.5", "10.1.243+cudnn7.5.0")
REFUSALS = (
    "no toolkit",
    "is not installed",
    "is pinned by",
    "in use by",
    "was removed in the meantime",
    "is used again",
    "which is not installed",
    "is gone",
    "no alias",
)
"""Reasons to refuse that one of the crowd may hear when another was faster."""


class Person:
    """One of the crowd: what they do next, and what came of it."""

    def __init__(self, number: int, home: Home, runner: Runner, files: list[Path]) -> None:
        self.home, self.runner, self.files = home, runner, files
        self.chance = random.Random(number)
        self.number = number
        self.done: Counter[str] = Counter()
        self.env = home.path / f"env{number}"
        make_virtualenv(self.env)

    def work(self, until: float) -> None:
        actions = [
            self.install, self.install, self.remove, self.remove, self.collect, self.use, self.use,
            self.pin, self.unpin, self.name, self.look,
        ]  # fmt: skip
        while time.monotonic() < until or self.done.total() < 3:
            action = self.chance.choice(actions)
            action()
            self.done[action.__name__] += 1

    def call(self, *arguments: str | Path, may_refuse: bool = True) -> Ran:
        ran = self.runner.run(*arguments, env=self.home.env, cwd=self.home.path)
        told = [line for line in ran.err.splitlines() if line.startswith("cudaswitch: ")]
        if ran.code:
            assert may_refuse, ran.shown
            assert ran.code == 1, ran.shown
            assert any(words in told[-1] for words in REFUSALS), ran.shown
        assert "Traceback" not in ran.err
        assert "killed runs" not in ran.err, f"nobody was killed\n{ran.shown}"
        return ran

    def install(self) -> None:
        files = self.chance.sample(self.files, self.chance.randint(1, len(self.files)))
        self.call("install", *files)

    def remove(self) -> None:
        self.call("remove", self.chance.choice(KITS))

    def collect(self) -> None:
        self.call("gc", may_refuse=False)

    def use(self) -> None:
        """Run a program with the bare toolkit, which is never removed and so always works."""
        program = ["--cudnn", "none", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1"]
        assert self.call("exec", BARE, *program, may_refuse=False).out == "10010\n"

    def pin(self) -> None:
        self.call("pin", self.chance.choice(["10.1", BARE]), "-p", self.env)

    def unpin(self) -> None:
        self.runner.run("unpin", "-p", self.env, env=self.home.env, cwd=self.home.path)

    def name(self) -> None:
        self.call("alias", self.chance.choice("ab") + "x", self.chance.choice(["10.1", BARE]))

    def look(self) -> None:
        """Check that every toolkit of the store is there whole."""
        self.call("list", "--json", may_refuse=False)
        store = self.home.store
        for kit in (store / "toolkits").iterdir():
            names = {"cudaswitch.json", "cudaswitch-files.json", "lib64", "include"}
            found = {path.name for path in kit.iterdir()} if kit.is_dir() else names
            assert names <= found or not kit.exists(), (kit, found)


@pytest.fixture
def crowd(home: Home, tmp_path: Path) -> Iterator[list[Person]]:
    pair, others = archives_in(tmp_path / "files")
    succeeded(home.run("install", pair[0]))
    with Forking(tmp_path / "forking") as forking:
        files = [*pair, others[1]]
        runners = [Runner(forking, tmp_path) for _ in range(PROCESSES)]
        yield [Person(number, home, runner, files) for number, runner in enumerate(runners)]


def test_a_crowd_comes_to_a_good_end(home: Home, crowd: list[Person]) -> None:
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(PROCESSES) as pool:
        for ended in [pool.submit(person.work, until) for person in crowd]:
            ended.result()
    done = sum((person.done for person in crowd), Counter[str]())
    print(f"{done.total()} commands: {dict(done)}")
    succeeded(home.run("verify"))
    succeeded(home.run("gc"))
    assert not list((home.store / ".staging").iterdir())
    assert succeeded(home.run("install", *crowd[0].files))
    succeeded(home.run("verify"))
    answers = [
        path.read_text().strip().partition(":")[0]
        for path in (home.store / "requests").glob("[!.]*")
    ]
    assert answers
    assert all(Path(text).is_dir() for text in answers)


def test_who_comes_between_the_check_and_the_removal_is_seen(stocked: Home) -> None:
    kit = KITS[0]
    library = stocked.store / "toolkits" / kit / "lib64/libcudnn.so.7"
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(1, flush=True); input()"
    user = subprocess.Popen(
        [PYTHON, "-c", code, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    store = OwnStore(Folders(str(stocked.store)))
    [chosen] = [one for one in store.toolkits() if one.name == kit]
    before = snapshot(stocked.store)
    try:
        assert user.stdout is not None
        assert user.stdout.readline() == "1\n"
        with pytest.raises(StoreError, match="in use by"):
            store.remove(chosen, partial(_refuse_used, [kit]))
        assert snapshot(stocked.store) == before
        # `--force` takes the toolkit away, and the process goes on.
        succeeded(stocked.run("remove", "--force", kit))
        assert user.poll() is None
        maps = Path(f"/proc/{user.pid}/maps").read_text()
        assert "libcudnn" in maps and "(deleted)" in maps
    finally:
        user.communicate("\n")
    assert user.returncode == 0
