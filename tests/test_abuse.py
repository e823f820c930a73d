"""Whatever a command is fed: one clear line, nothing written, no hang, bounded memory.

Every case of tests/abuse and of the tables of hostile archives goes through the whole command,
in an account with a store and with canaries around it.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import raw_archives as raw
from abuse import environments, networks, texts
from abuse.archives import ARCHIVES, NAMES, archive
from abuse.arena import Arena, Make, check_bounds, check_refused, described
from abuse.lawful import LAWFUL
from abuse.packages import PACKAGES as MORE_PACKAGES
from abuse.reasons import REASONS
from homes import make_home
from hostile_packages import PACKAGES
from hostile_tars import TARS
from http_server import Server

_ARCHIVES = ARCHIVES | MORE_PACKAGES


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    """An account with one package in its store."""
    base = tmp_path_factory.mktemp("arena")
    made = Arena(base, make_home(base))
    made.plant()
    package = made.write(raw.conda_zip(), "lawful.conda")
    outcome = made.run("install", package)
    assert outcome.code == 0, outcome
    made.plant()
    return made


@pytest.fixture
def work(arena: Arena) -> Iterator[Arena]:
    """The arena with nothing in `work` but a canary; the folder is emptied after each case."""
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
    """`install` refuses each archive in the words of the reader or of its own first look."""
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
    refuse(work, words, archive(_ARCHIVES[case], NAMES.get(case, "package")))


def test_every_archive_has_its_reason() -> None:
    named = [case for cases in REASONS.values() for case in cases]
    assert sorted(named) == sorted(_ARCHIVES)


@pytest.mark.parametrize(
    ("words", "case"), [(words, case) for case, (words, _) in texts.REFUSED.items()]
)
def test_texts(work: Arena, words: str, case: str) -> None:
    refuse(work, words, texts.REFUSED[case][1])


@pytest.mark.parametrize("case", texts.STORES)
def test_records_of_toolkits_are_passed_over(work: Arena, case: str) -> None:
    words, make = texts.STORES[case]
    arguments = make(work)
    before = work.state()
    outcome = work.run(*arguments)
    check_bounds(outcome)
    assert (outcome.code, outcome.out) == (0, ""), outcome
    message, hint, *_ = outcome.err.splitlines()
    assert words in message, outcome
    assert message.endswith(", so it is skipped"), outcome
    assert hint == "hint: cudaswitch verify --repair", outcome
    assert work.state() == before


@pytest.mark.parametrize("kind", texts.NO_FILES)
def test_a_version_file_that_is_no_file_decides_nothing(work: Arena, kind: str) -> None:
    texts.special(work, ".cuda-version", kind)
    outcome = work.run("exec", "--", "true")
    check_bounds(outcome)
    assert outcome.code == 0


@pytest.mark.parametrize("case", texts.PASTED)
def test_pasted_messages(work: Arena, case: str) -> None:
    pasted = Path(work.write(texts.PASTED[case], "error.txt"))
    before = work.state()
    outcome = work.run("doctor", stdin=pasted)
    check_bounds(outcome)
    assert outcome.code in (0, 1)
    assert work.state() == before


@pytest.mark.parametrize("case", environments.ENVIRONMENTS)
def test_environments(work: Arena, case: str) -> None:
    arguments = environments.ENVIRONMENTS[case](work)
    before = work.state()
    outcome = work.run(*arguments)
    check_bounds(outcome)
    assert outcome.code == 0, outcome
    assert outcome.out.strip(), outcome
    assert "alive" not in outcome.out + outcome.err, "the canary was read"
    assert work.state() == before


@pytest.mark.parametrize("case", LAWFUL)
def test_what_is_lawful_is_taken(tmp_path: Path, case: str) -> None:
    """Odd but lawful archives install, even from a file whose name claims another version."""
    arena = Arena(tmp_path / "arena", make_home(tmp_path / "arena"))
    arena.home.store.mkdir(parents=True)
    arena.plant()
    package = arena.write(LAWFUL[case](), "cudnn-99.9-linux-x64-v7.6.5.32.tgz")
    before = described(arena.base, ("store", "home/xdg-cache"))
    outcome = arena.run("install", package)
    check_bounds(outcome)
    assert outcome.code == 0, outcome
    assert "99.9" not in outcome.out
    assert described(arena.base, ("store", "home/xdg-cache")) == before
    for path in arena.home.store.rglob("*"):
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
        assert path.is_symlink() or not mode & 0o7022, path
        target = path.readlink() if path.is_symlink() else path.name
        inside = Path(os.path.normpath(path.parent / target))
        assert inside.is_relative_to(arena.home.store)
    outcome = arena.run("verify")
    check_bounds(outcome)
    assert outcome.code == 0, outcome


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.mark.parametrize("way", networks.WAYS)
@pytest.mark.parametrize("mode", networks.MODES)
def test_servers(work: Arena, server: Server, way: str, mode: str) -> None:
    refuse(work, networks.MODES[mode], lambda _: networks.asking(server, way, mode))


@pytest.mark.parametrize("case", networks.CHANNELS)
def test_channels_that_lie(work: Arena, server: Server, case: str) -> None:
    words, content = networks.CHANNELS[case]
    server.content = content.encode()
    refuse(work, words, lambda _: networks.asking(server, "conda", "plain"))


@pytest.mark.parametrize("case", networks.REDIST)
def test_indexes_that_lie(work: Arena, server: Server, case: str) -> None:
    words, content = networks.REDIST[case]
    server.content = content.encode()
    refuse(work, words, lambda _: networks.asking(server, "nvidia", "ok"))


@pytest.mark.parametrize("mode", networks.PIP)
def test_pips_index(work: Arena, server: Server, mode: str) -> None:
    refuse(work, "pip", lambda _: networks.asking_pip(server, mode))
