"""Every operation with every call that changes a file failing, or the last one, in turn.

By default a few calls of each operation, drawn by a fixed seed; `CUDASWITCH_FAULTS=all` tries all
of them (docs/reliability.md has the figures), and `CUDASWITCH_FAULTS=200` that many of each.
"""

from __future__ import annotations

import errno
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.operations import OPERATIONS, Operation, World, archives_in
from faults.runner import Runner
from faults.trial import Trial

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "EROFS", "EACCES")
SAMPLE = 1


def numbers(count: int, name: str) -> list[int]:
    """Choose among calls, which are numbered from 1."""
    asked = os.environ.get("CUDASWITCH_FAULTS", str(SAMPLE))
    every = range(1, count + 1)
    if asked == "all":
        return list(every)
    return sorted(random.Random(name).sample(every, min(count, int(asked))))


@pytest.fixture(scope="module")
def worlds() -> Iterator[Callable[[], World]]:
    """Make worlds, one after another, in memory where that is a place: what reaches a disk is
    another test's matter."""
    memory = Path("/dev/shm")
    within = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="faults-", dir=within) as made:
        folder = Path(made)
        archives = archives_in(folder / "files")
        with Runner(folder / "runner", folder / "world") as runner:
            yield lambda: World(runner, *archives)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_fault_at_a_call(worlds: Callable[[], World], operation: Operation) -> None:
    """A call fails; all do from one on, as on a full disk; the process is killed at one."""
    trial = Trial(operation, worlds())
    total = len(trial.calls)
    for at in numbers(total, operation.name):
        trial.failed("fail", at, getattr(errno, ERRORS[at % len(ERRORS)]))
    for at in numbers(total, f"{operation.name} on a full disk"):
        trial.failed("fill", at, errno.ENOSPC)
    for at in numbers(total, f"{operation.name} killed"):
        trial.killed(at)
