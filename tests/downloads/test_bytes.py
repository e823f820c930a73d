"""Downloads against a real server that misbehaves: the right bytes or one clear error."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest

from cudaswitch.download.failures import TransientError, _retry_after
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import RequestError, SourceError
from downloads.served import CONTENT, HASH, parts, whole_files
from http_modes import random_bytes
from http_server import Server

RIGHT = [
    "ok", "cut", "reset", "chunked", "then_ok:500", "then_ok:503", "then_ok:429", "redirect:10",
    "range_ignored", "range_odd:wrong", "range_odd:416", "range_odd:multi", "range_odd:none",
    "range_odd:short", "range_odd:total", "range_odd:star", "range_odd:huge",
    "range_odd:long",
    "range_odd:chunked", "range_odd:tag",
    "dated:3600", "dated:0", "untagged", "redirect_long",
]  # fmt: skip
WRONG = {
    "cut:always": "the connection was lost",
    "no_length": "does not state its length",
    "no_length:cut": "does not state its length",
    "odd_head:negative": "does not state its length",
    "chunked:cut": "the connection was lost",
    "chunked:bad": "the connection was lost",
    "lie:9": "the connection was lost",
    "stall": "no answer for 0.4 s",
    "silent": "no answer for 0.4 s",
    "slow:200": "slower than 1024 bytes per second",
    "empty": "the file is empty",
    "html": "the server sent a web page instead of the file",
    "status:404": "the server answered 404 Not Found",
    "status:403": "the server answered 403 Forbidden",
    "status:500": "the server answered 500 Internal Server Error",
    "redirect:11": "more than 10 redirects",
    "loop": "more than 10 redirects",
    "gz": "sent it compressed (gzip)",
    "odd_head:two": "the answer is not valid HTTP",
    "odd_head:big": "the answer is not valid HTTP",
    "odd_head:many": "the answer is not valid HTTP",
    "odd_head:garbage": "the answer is not valid HTTP",
    "odd_head:unasked": "the server answered 206",
    "odd_head:endless": "the answer is not valid HTTP",
    "gz:label": "sent it compressed (gzip)",
    "gz:twice": "sent it compressed (gzip)",
    "gz:bomb": "sent it compressed (gzip)",
    "bare": "the answer is not valid HTTP",
    "trickle:status": "no answer for 0.4 s",
    "trickle:head": "no answer for 0.4 s",
    "trickle:chunk": "no answer for 0.4 s",
}
PATIENCE = {mode: "0.4" for mode, said in WRONG.items() if said.endswith("0.4 s")}
PATIENCE["slow:200"] = "1"  # longer than a busy machine lets it wait for the next bytes
WITH_HASH = {
    "lie:-9": "its sha256 is",
    "flip": "its sha256 is",
    "no_length:cut": "its sha256 is",
    "html": "sent a web page",
    "longer": "its sha256 is",
    "half": "its sha256 is",
}


@pytest.mark.parametrize("mode", RIGHT)
@pytest.mark.parametrize("sha256", [None, HASH])
def test_right_bytes_arrive(server: Server, cache: Path, mode: str, sha256: str | None) -> None:
    path = fetch(server.url(mode), cache, sha256=sha256)
    assert path == cache / HASH
    assert path.read_bytes() == CONTENT
    assert server.sent <= 2.001 * len(CONTENT)
    assert parts(cache) == []


@pytest.mark.parametrize("mode", [*WRONG])
def test_wrong_bytes_are_one_clear_error(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", PATIENCE.get(mode, "60"))
    with pytest.raises(SourceError) as caught:
        fetch(server.url(mode), cache)
    assert WRONG[mode] in caught.value.message
    assert f"`{server.url(mode)}`" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert whole_files(cache) == []


@pytest.mark.parametrize("mode", [*WITH_HASH])
def test_a_known_hash_catches_the_rest(server: Server, cache: Path, mode: str) -> None:
    with pytest.raises(SourceError) as caught:
        fetch(server.url(mode), cache, sha256=HASH)
    assert WITH_HASH[mode] in caught.value.message
    assert whole_files(cache) == []
    assert parts(cache) == []


@pytest.mark.parametrize("mode", ["range_odd:shifted", "changing:lying"])
def test_a_lying_range_is_caught_by_the_hash(server: Server, cache: Path, mode: str) -> None:
    expected = HASH
    if mode == "changing:lying":
        expected = hashlib.sha256(random_bytes(len(CONTENT), seed=99)).hexdigest()
    path = fetch(server.url(mode), cache, sha256=expected)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == expected


@pytest.mark.parametrize("kind", ["etag", "weak", "fresh"])
def test_content_that_changes_between_is_taken_from_zero(
    server: Server, cache: Path, kind: str
) -> None:
    path = fetch(server.url(f"changing:{kind}"), cache)
    assert path.read_bytes() == random_bytes(len(CONTENT), seed=99)


def test_size_is_enforced(server: Server, cache: Path) -> None:
    with pytest.raises(SourceError, match="it has 1048576 bytes, but 5 were expected"):
        fetch(server.url(), cache, size=5)
    with pytest.raises(SourceError, match="larger than 5 bytes"):
        fetch(server.url("chunked"), cache, size=5)
    assert server.sent < 3 * len(CONTENT)
    with pytest.raises(SourceError, match="lost after 1048576 of 1048577"):
        fetch(server.url("chunked"), cache, size=len(CONTENT) + 1)
    assert fetch(server.url("no_length"), cache, size=len(CONTENT)).read_bytes() == CONTENT


def test_an_endless_body_ends(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_MAX_DOWNLOAD", "3000000")
    with pytest.raises(SourceError, match="larger than 3000000 bytes"):
        fetch(server.url("endless"), cache)
    assert parts(cache) == []
    monkeypatch.setenv("CUDASWITCH_MAX_DOWNLOAD", "1000")
    with pytest.raises(SourceError, match="over the limit of 1000"):
        fetch(server.url(), cache)


def test_all_of_it_has_a_limit_of_time(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download has a limit of time, however well it goes on; what has arrived is kept."""
    monkeypatch.setenv("CUDASWITCH_MAX_TIME", "0.3")
    with pytest.raises(SourceError, match=r"it took longer than 0\.3 s") as caught:
        fetch(server.url("slow:300000"), cache)
    assert "resumes the download" in (caught.value.hint or "")
    monkeypatch.setenv("CUDASWITCH_MAX_TIME", "60")
    assert fetch(server.url(), cache, sha256=HASH).read_bytes() == CONTENT
    monkeypatch.setenv("CUDASWITCH_MAX_TIME", "0")
    with pytest.raises(SourceError, match="it took longer than 0 s"):
        fetch(server.url("cut:always"), cache)


def test_a_chunk_costs_no_thread(cache: Path) -> None:
    """Chunks start no threads of their own: Python numbers its threads, and few are new."""
    with Server(CONTENT * 8) as server:
        before = _next_thread()
        assert fetch(server.url("chunked"), cache).stat().st_size == 8 * len(CONTENT)
        assert _next_thread() - before < 10


def test_no_process_is_left_behind(server: Server, cache: Path) -> None:
    """No process stays: the lock that tqdm makes by itself would start one on Python 3.14."""
    script = (
        "import multiprocessing, os, sys; from pathlib import Path\n"
        "from cudaswitch.download.fetching import fetch\n"
        "multiprocessing.set_start_method('spawn')\n"
        "fetch(sys.argv[1], Path(sys.argv[2])); os._exit(0)  # as the command ends\n"
    )
    argv = [sys.executable, "-c", script, server.url(), str(cache)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def _next_thread() -> int:
    return int(threading.Thread().name.rpartition("-")[2])


def test_a_labelled_tgz_is_taken_as_sent(server: Server, cache: Path) -> None:
    assert fetch(server.url("gz:label", "cudnn.tgz"), cache).read_bytes() == CONTENT


def test_retry_after_is_capped() -> None:
    assert TransientError("x", after=86400).delay(1) == 60
    assert TransientError("x", after=-5).delay(1) == 0
    delays = {TransientError("x").delay(3) for _ in range(20)}
    assert all(0.4 <= delay <= 0.8 for delay in delays)
    assert len(delays) > 1
    assert TransientError("x").delay(50) <= 30


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), ("", None), ("soon", None), ("9" * 5000, 999999999), ("-3", None), ("²", None),
     ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", None), ("\x00", None),
     ("Fri, 06 Nov 2026 08:49:47 GMT", 10), ("Fri, 06 Nov 2026 10:49:27 +0200", -10)],
)  # fmt: skip
def test_retry_after(text: str, seconds: float | None) -> None:
    now = datetime(2026, 11, 6, 8, 49, 37, tzinfo=timezone.utc)
    assert _retry_after(text, now) == seconds


def test_retries_are_bounded(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_RETRIES", "2")
    with pytest.raises(SourceError):
        fetch(server.url("status:503"), cache)
    assert len(server.asked) == 3


def test_a_client_error_is_not_tried_again(server: Server, cache: Path) -> None:
    with pytest.raises(SourceError):
        fetch(server.url("status:404"), cache)
    assert len(server.asked) == 1


def test_settings_that_are_no_numbers(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("soon", "-1", "nan", "inf"):
        monkeypatch.setenv("CUDASWITCH_TIMEOUT", text)
        with pytest.raises(RequestError, match="CUDASWITCH_TIMEOUT"):
            fetch(server.url(), cache)


def test_quiet_unless_a_terminal(
    server: Server, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fetch(server.url(), cache)
    assert capfd.readouterr() == ("", "")
    fetch(server.url(name="named.bin"), cache, show=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "named.bin" in err
    assert "/1.00MiB [" in err
    assert "iB/s]" in err
    # The bar starts no monitor thread: tqdm would warn where none can be started.
    assert not [thread for thread in threading.enumerate() if "TMonitor" in repr(thread)]
