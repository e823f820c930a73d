"""Every operation, with each call that changes a file failing, or being the last one, in turn.

By default one call of each operation, drawn by a fixed seed; `CUDASWITCH_FAULTS=all` tries all of
them (docs/reliability.md has the figures), and `CUDASWITCH_FAULTS=200` that many of each. With
`all`, operations that are killed at random moments are killed 100 times each.
"""

from __future__ import annotations

import errno
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.changing_commands import OPERATIONS, Operation, World, another_build, archives_in
from faults.runner import Forking, Runner
from faults.trial import Trial

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "EROFS", "EACCES")
SAMPLE = 1


def numbers(count: int, name: str) -> list[int]:
    """Choose some of the calls, which are numbered from 1."""
    asked = os.environ.get("CUDASWITCH_FAULTS", str(SAMPLE))
    every = range(1, count + 1)
    if asked == "all":
        return list(every)
    return sorted(random.Random(name).sample(every, min(count, int(asked))))


@pytest.fixture(scope="module")
def worlds() -> Iterator[Callable[[], World]]:
    """Make worlds, one by one, in memory if possible: what reaches a disk is tested elsewhere."""
    memory = Path("/dev/shm")  # noqa: S108  # a file system in memory
    within = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="faults-", dir=within) as made:
        folder = Path(made)
        archives = archives_in(folder / "files")
        with Forking(folder / "forking") as forking:
            runner = Runner(forking, folder / "world")
            other = another_build(folder / "other")
            yield lambda: World(runner, *archives, other)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_fault_at_a_call(worlds: Callable[[], World], operation: Operation) -> None:
    """A call that fails, a disk that is full from a call on, and a kill at a call do no damage."""
    trial = Trial(operation, worlds())
    total = len(trial.calls)
    for at in numbers(total, operation.name):
        trial.failed("fail", at, getattr(errno, ERRORS[at % len(ERRORS)]))
    for at in numbers(total, f"{operation.name} on a full disk"):
        trial.failed("fill", at, errno.ENOSPC)
    for at in numbers(total, f"{operation.name} killed"):
        trial.killed(at)


BY_NAME = {one.name: one for one in OPERATIONS}


def test_killed_while_one_takes_the_place_of_another(worlds: Callable[[], World]) -> None:
    """A kill before a rename, or before the call after it, always leaves the old or the new one."""
    trial = Trial(BY_NAME["install --force"], worlds())
    renames = [at for at, call in enumerate(trial.calls, 1) if " rename " in call]
    assert len(renames) > 4
    for at in sorted({at + later for at in renames for later in (0, 1)} - {len(trial.calls) + 1}):
        trial.killed(at)


@pytest.mark.parametrize("name", ["install", "compose", "pin", "remove", "gc", "sync"])
def test_killed_at_any_moment(worlds: Callable[[], World], name: str) -> None:
    """A kill at any moment does no damage, be it within a call or while nothing is written."""
    trial = Trial(BY_NAME[name], worlds())
    chance = random.Random(f"moments of {name}")
    asked = os.environ.get("CUDASWITCH_FAULTS", "")
    wanted = {"": 2, "all": 100}.get(asked) or int(asked)
    killed = 0
    for _ in range(wanted * 20):
        killed += trial.killed(kill_after=chance.uniform(0, trial.seconds))
        if killed == wanted:
            break
    assert killed == wanted, "it ends before it is killed"


@pytest.mark.parametrize("name", ["install", "remove", "pin", "config", "mirror"])
def test_a_rename_that_happened_and_is_told_as_a_failure(
    worlds: Callable[[], World], name: str
) -> None:
    """A rename that happened, though a file server reports that it failed, is no failure."""
    trial = Trial(BY_NAME[name], worlds())
    renames = [at for at, call in enumerate(trial.calls, 1) if call.split()[1] == "rename"]
    assert renames
    for index in numbers(len(renames), f"{name} renames"):
        done = trial.failed("lie", renames[index - 1], errno.EIO)
        assert done.code == 0, done.shown


@pytest.mark.parametrize("name", ["install", "pin", "download"])
def test_a_disk_that_takes_half_of_what_is_written(worlds: Callable[[], World], name: str) -> None:
    trial = Trial(BY_NAME[name], worlds())
    writes = [at for at, call in enumerate(trial.calls, 1) if call.split()[1] == "write"]
    for index in numbers(len(writes), f"{name} writes"):
        done = trial.failed("halve", writes[index - 1])
        assert done.code == 0, done.shown


def test_a_folder_that_is_not_empty_yet(worlds: Callable[[], World]) -> None:
    """A folder that is not empty yet is removed, as on a file server that renames open files."""
    trial = Trial(BY_NAME["remove"], worlds())
    rmdirs = [at for at, call in enumerate(trial.calls, 1) if call.split()[1] == "rmdir"]
    assert len(rmdirs) > 5
    for index in numbers(len(rmdirs), "rmdirs"):
        done = trial.failed("fail", rmdirs[index - 1], errno.ENOTEMPTY)
        assert done.code == 0, done.shown
        assert not list((trial.world.home.store / ".staging").iterdir())
