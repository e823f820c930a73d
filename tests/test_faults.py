"""Every operation with every call that changes a file failing, or the last one, in turn.

By default a few calls of each operation, drawn by a fixed seed; `CUDASWITCH_FAULTS=all` tries all
of them (docs/reliability.md has the figures), and `CUDASWITCH_FAULTS=200` that many of each.
"""

from __future__ import annotations

import errno
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.operations import OPERATIONS, Operation, World
from faults.runner import Runner
from faults.trial import Trial

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "EROFS", "EACCES")
SAMPLE = 3


def numbers(count: int, name: str) -> list[int]:
    """Choose among calls, which are numbered from 1."""
    asked = os.environ.get("CUDASWITCH_FAULTS", str(SAMPLE))
    every = range(1, count + 1)
    if asked == "all":
        return list(every)
    return sorted(random.Random(name).sample(every, min(count, int(asked))))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: what is on disk is another test's matter."""
    memory = Path("/dev/shm")  # for what only one test uses
    within = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="faults-", dir=within) as made:
        yield Path(made)


@pytest.fixture
def trial(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    operation: Operation = request.param
    root = folder / operation.name.replace(" ", "") / "world"
    root.parent.mkdir()
    with Runner(root.parent / "runner", root) as runner:
        yield Trial(operation, World(root, root.parent / "files", runner))


every_operation = pytest.mark.parametrize(
    "trial", OPERATIONS, indirect=True, ids=[one.name for one in OPERATIONS]
)


@every_operation
def test_a_call_that_fails_and_a_kill_at_each(trial: Trial) -> None:
    total = len(trial.calls)
    for at in numbers(total, trial.operation.name):
        name = ERRORS[at % len(ERRORS)]
        trial.failed("fail", at, getattr(errno, name))
    for at in numbers(total, f"{trial.operation.name} killed"):
        trial.killed(at)
