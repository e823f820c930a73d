"""Several downloads at once, limits of one, and pages: against a real server."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cudaswitch.download.fetching import fetch
from cudaswitch.download.pages import read_page
from cudaswitch.download.several import WantedFile, fetch_all
from cudaswitch.errors import NotFoundError, SourceError
from cudaswitch.settings import value
from downloads.served import CONTENT, HASH
from folder_server import FolderServer
from http_modes import random_bytes
from http_server import Server

pytestmark = pytest.mark.usefixtures("once")


def wanted(url: str, content: bytes = CONTENT) -> WantedFile:
    return WantedFile(url, hashlib.sha256(content).hexdigest(), len(content))


def test_in_order_and_not_again(tmp_path: Path) -> None:
    contents = [random_bytes(1000 + seed, seed) for seed in range(2 * value("jobs"))]
    root = tmp_path / "root"
    root.mkdir()
    for number, content in enumerate(contents):
        (root / f"{number}.bin").write_bytes(content)
    with FolderServer(root) as server:
        files = [wanted(f"{server.url}/{at}.bin", one) for at, one in enumerate(contents)]
        paths = fetch_all(files, tmp_path / "cache")
        assert [path.read_bytes() for path in paths] == contents
        assert sorted(server.asked) == [(f"/{at}.bin", 200) for at in range(len(contents))]
        assert fetch_all(files, tmp_path / "cache", offline=True) == paths
        assert fetch_all([], tmp_path / "cache") == []
    assert len(server.asked) == len(contents)


def test_at_the_same_time(tmp_path: Path) -> None:
    with Server(CONTENT) as server:
        mode = f"together:{value('jobs')}"
        urls = [server.url(mode, f"{number}.bin") for number in range(value("jobs"))]
        # All have one content: once the first is finished, the cache would serve the others.
        fetch_all([wanted(url) for url in urls], tmp_path / "cache")
        assert server.hits["together"] == value("jobs")


def test_the_first_failure_stops_the_others_and_they_go_on_later(tmp_path: Path) -> None:
    with Server(CONTENT) as server:
        slow = wanted(server.url("slow:400000", "slow.bin"))
        wrong = WantedFile(server.url("slow:2000000", "wrong.bin"), "0" * 64, len(CONTENT))
        with pytest.raises(SourceError, match=r"wrong\.bin.*its sha256 is"):
            fetch_all([slow, wrong], tmp_path / "cache")
        parts = list((tmp_path / "cache/urls").glob("*.part"))
        assert [0 < part.stat().st_size < len(CONTENT) for part in parts] == [True]
        sent = server.sent
        [path] = fetch_all([slow], tmp_path / "cache")
        assert path.read_bytes() == CONTENT
        assert "Range" in server.asked[-1].headers
        assert server.sent - sent < len(CONTENT)


@pytest.mark.parametrize("other", ["stall:60", "status:503"])
def test_a_failure_waits_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """A failure waits neither for a silent server nor for further tries at a busy one."""
    monkeypatch.setenv("CUDASWITCH_RETRIES", "9")
    with Server(CONTENT) as server:
        missing = wanted(server.url("status:404", "missing.bin"))
        began = time.monotonic()
        with pytest.raises(NotFoundError, match=r"missing\.bin"):
            fetch_all([wanted(server.url(other, "other.bin")), missing], tmp_path / "cache")
        assert time.monotonic() - began < 20
        time.sleep(1.5)
        asked = len(server.asked)
        time.sleep(2)
        assert len(server.asked) == asked


PROGRAM = """
import sys
from pathlib import Path
from cudaswitch.download.several import WantedFile, fetch_all
try:
    cache, sha256, size, *urls = sys.argv[1:]
    fetch_all([WantedFile(url, sha256, int(size)) for url in urls], Path(cache))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interrupt_does_not_wait_for_a_silent_server(tmp_path: Path) -> None:
    with Server(CONTENT) as server:
        # The silent one second: Python before 3.13 takes an interrupted join for a thread's end.
        urls = [server.url("slow:20000", "a.bin"), server.url("stall:60", "b.bin")]
        arguments = [sys.executable, "-c", PROGRAM, tmp_path / "cache", HASH, str(len(CONTENT))]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([*arguments, *urls], env=env, stderr=subprocess.PIPE) as process:
            urls_folder = tmp_path / "cache/urls"
            while sum(part.stat().st_size > 0 for part in urls_folder.glob("*.part")) < len(urls):
                assert process.poll() is None
                time.sleep(0.05)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=50)
        assert (process.returncode, b"Traceback" in said) == (130, False)
        assert time.monotonic() - began < 40


def test_a_limit(tmp_path: Path) -> None:
    local = tmp_path / "local.bin"
    local.write_bytes(CONTENT)
    with Server(CONTENT) as server:
        for url in (server.url("ok"), server.url("chunked"), local.as_uri()):
            with pytest.raises(SourceError, match="1000"):
                fetch(url, tmp_path / "cache", limit=1000)
            assert fetch(url, tmp_path / "cache", limit=len(CONTENT)).read_bytes() == CONTENT


def test_what_is_not_there(tmp_path: Path) -> None:
    with Server(CONTENT) as server:
        for status, kind in ((404, NotFoundError), (410, NotFoundError), (403, SourceError)):
            with pytest.raises(SourceError) as caught:
                fetch(server.url(f"status:{status}"), tmp_path / "cache")
            assert type(caught.value) is kind
        with pytest.raises(NotFoundError):
            fetch(server.url("ok"), tmp_path / "cache", offline=True)
    with pytest.raises(NotFoundError):
        fetch((tmp_path / "nothing").as_uri(), tmp_path / "cache")


def test_pages(tmp_path: Path) -> None:
    (tmp_path / "é").mkdir()
    with FolderServer(tmp_path, lists=True) as server:
        assert "<a href='é'>é</a>" in read_page(f"{server.url}/", 1 << 20)
        with pytest.raises(SourceError, match="larger than 10 bytes"):
            read_page(f"{server.url}/", 10)
        with pytest.raises(NotFoundError, match="404"):
            read_page(f"{server.url}/nothing/", 1 << 20)
    with pytest.raises(SourceError, match="cannot download"):
        read_page(f"{server.url}/", 1 << 20)
    with Server(CONTENT) as busy, pytest.raises(SourceError, match="503"):
        read_page(busy.url("status:503"), 1 << 20)
