"""Whatever somebody feeds it: one clear line, nothing written, no hang, bounded memory.

Every case of tests/abuse and of the tables of hostile archives goes through the whole command,
in an account with a store and with canaries around it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

import raw_archives as raw
from abuse.archives import ARCHIVES, archive
from abuse.arena import Arena, Brood, Make, check_refused
from abuse.packages import PACKAGES as MORE_PACKAGES
from abuse.reasons import REASONS
from homes import make_home
from hostile_packages import PACKAGES
from hostile_tars import TARS

_ARCHIVES = ARCHIVES | MORE_PACKAGES


@pytest.fixture(scope="module")
def brood() -> Iterator[Brood]:
    running = Brood()
    yield running
    running.close()


@pytest.fixture(scope="module")
def arena(brood: Brood, tmp_path_factory: pytest.TempPathFactory) -> Arena:
    """An account with one package in its store."""
    base = tmp_path_factory.mktemp("arena")
    made = Arena(base, make_home(base), brood)
    made.plant()
    package = made.write(raw.conda_zip(), "lawful.conda")
    outcome = made.run("install", package)
    assert outcome.code == 0, outcome
    made.plant()
    return made


@pytest.fixture
def work(arena: Arena) -> Iterator[Arena]:
    """The same with nothing in `work` but a canary; what a case puts there goes afterwards."""
    yield arena
    shutil.rmtree(arena.work)
    arena.plant()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(data, id=case)
        for table in (TARS, PACKAGES)
        for cases in table.values()
        for case, data in cases.items()
    ],
)
def test_archives_that_the_reader_refuses(work: Arena, data: Callable[[], bytes]) -> None:
    """In the reader's own words, or in those of the first look that the command takes."""
    refuse(work, "`", lambda arena: ["install", arena.write(data())])


def refuse(arena: Arena, words: str, make: Make) -> None:
    arguments = make(arena)
    before = arena.state()
    outcome = arena.run(*arguments)
    check_refused(outcome, words)
    assert arena.state() == before


@pytest.mark.parametrize(
    ("words", "case"), [(words, case) for words, cases in REASONS.items() for case in cases]
)
def test_archives(work: Arena, words: str, case: str) -> None:
    refuse(work, words, archive(_ARCHIVES[case]))


def test_every_archive_has_its_reason() -> None:
    named = [case for cases in REASONS.values() for case in cases]
    assert sorted(named) == sorted(_ARCHIVES)
