"""Several connections for one file: only where one is the limit, and always the same bytes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cudaswitch.download.cache import url_key
from cudaswitch.download.fetching import fetch
from cudaswitch.download.parts import Part, Record, gaps
from cudaswitch.download.ranges import CONNECTIONS, is_worth_it
from cudaswitch.errors import SourceError
from http_modes import random_bytes
from http_server import Server

CONTENT = random_bytes(24 << 20)
HASH = hashlib.sha256(CONTENT).hexdigest()
RATE = 4 << 20
FETCH = """
import sys
from pathlib import Path
from cudaswitch.download.fetching import fetch
fetch(sys.argv[1], Path(sys.argv[2]))
"""


@pytest.fixture
def content() -> bytes:
    return CONTENT


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_RETRIES", "3")


def left(cache: Path) -> list[str]:
    return sorted(path.suffix for path in (cache / "urls").iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("kind", ["", ",cut", ",few"])
@pytest.mark.parametrize("known", [HASH, None], ids=["sha256", "no hash"])
def test_a_limit_for_each_connection(
    server: Server, cache: Path, kind: str, known: str | None
) -> None:
    """Where each connection is limited, several work at the same time, and little is sent twice."""
    path = fetch(server.url(f"limited:{RATE}{kind}"), cache, sha256=known)
    assert path.read_bytes() == CONTENT
    assert server.most_open >= 4
    assert server.ranges >= 8
    # What the first connection has on its way when it is given up is wasted.
    assert server.sent < len(CONTENT) + (6 << 20)
    assert left(cache) == [".json"]


@pytest.mark.parametrize("kind", ["whole", "changing", "wrong", "denied"])
def test_a_server_that_does_not_deliver_ranges(server: Server, cache: Path, kind: str) -> None:
    """Where ranges fail, the download begins again on one connection, and ends right."""
    path = fetch(server.url(f"limited:{2 * RATE},{kind}"), cache)
    assert path.read_bytes() == server.content
    assert len(server.asked) > 1
    assert left(cache) == [".json"]


def test_a_refusal_costs_nothing_that_has_arrived(server: Server, cache: Path) -> None:
    """A server that refuses for now, as without a login, may deliver the rest the next time."""
    url = server.url("status:403")
    (cache / "urls").mkdir(parents=True)
    part = Part(cache / "urls" / f"{url_key(url)}.part")
    part.begin(Record(url, "file.bin", len(CONTENT), etag='"x"'))
    part.path.write_bytes(CONTENT[: 1 << 20])
    part.journal_path.write_text("0 1000\n2000 9000\n")
    with pytest.raises(SourceError, match="answered 403"):
        fetch(url, cache)
    assert Part(part.path).spans() == [(0, 1000), (2000, 9000)]


def test_other_bytes_than_expected_are_refused(server: Server, cache: Path) -> None:
    with pytest.raises(SourceError, match="its sha256 is"):
        fetch(server.url(f"limited:{2 * RATE},changing"), cache, sha256=HASH)
    assert left(cache) == []


def test_a_fast_server_is_asked_once(server: Server, cache: Path) -> None:
    fetch(server.url("limited:0"), cache)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("spent", "arrived", "missing", "answer"),
    [
        (0.1, 1 << 20, 1 << 30, False),
        (0.3, 1 << 20, 1 << 30, True),
        (0.3, 100 << 20, 200 << 20, False),
        (0.3, 1 << 10, 7 << 20, False),
        (5.0, 0, 1 << 30, True),
    ],
    ids=("too early", "slow", "fast", "small", "nothing yet"),
)
def test_what_is_worth_it(spent: float, arrived: int, missing: int, answer: bool) -> None:
    assert is_worth_it(spent, arrived, missing) is answer


def test_killed_again_and_again(server: Server, cache: Path) -> None:
    """A download that is killed at 8 random moments fetches nothing again, and ends right."""
    random_ = random.Random(5)
    command = [sys.executable, "-c", FETCH, server.url(f"limited:{RATE // 2}"), str(cache)]
    killed = 0
    for _ in range(8):
        with subprocess.Popen(command, env=os.environ) as process:
            try:
                process.wait(0.3 + random_.random() * 0.8)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                killed += 1
    assert killed >= 2
    path = fetch(server.url(f"limited:{RATE // 2}"), cache)
    assert path.read_bytes() == CONTENT
    # What was in the sockets of up to nine connections is lost with each kill.
    assert server.sent < len(CONTENT) + (killed + 1) * (9 << 20)


def test_an_interrupt_does_not_wait_for_silent_connections(server: Server, cache: Path) -> None:
    command = [sys.executable, "-c", FETCH, server.url(f"limited:{RATE // 8},mute"), str(cache)]
    with subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL) as process:
        while server.ranges < CONNECTIONS:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


def test_a_journal_that_was_cut(tmp_path: Path) -> None:
    """In a journal a last line without an end does not count, nor does what the file lacks."""
    part = Part(tmp_path / "x.part")
    part.path.write_bytes(bytes(100))
    part.journal_path.write_bytes(b"\n0 10\n5 20\n90 300\nx y\n40 5")
    assert part.spans() == [(0, 20), (90, 100)]
    assert gaps(part.spans(), 120) == [(20, 90), (100, 120)]
    part.begin_ranges()
    part.add((40, 50))
    assert Part(part.path).spans() == [(0, 20), (40, 50), (90, 100)]
