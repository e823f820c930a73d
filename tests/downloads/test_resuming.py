"""What was cut, killed or stopped goes on where it was, and is the right file in the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checks import succeeded
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import SourceError
from downloads.served import CONTENT, HASH, leave_part, parts, whole_files
from homes import Home
from http_server import Server


def test_resume_transfers_only_the_rest(server: Server, cache: Path) -> None:
    leave_part(cache, server.url("cut"))
    before = server.sent
    assert fetch(server.url("cut"), cache).read_bytes() == CONTENT
    assert server.sent - before == len(CONTENT) // 2
    assert server.asked[-1].headers["Range"] == "bytes=524288-"
    assert "If-Range" in server.asked[-1].headers


@pytest.mark.parametrize("sha256", [None, HASH])
def test_a_part_without_validator_is_resumed_only_under_a_hash(
    server: Server, cache: Path, sha256: str | None
) -> None:
    leave_part(cache, server.url("untagged"), sha256)
    fetch(server.url("untagged"), cache, sha256=sha256)
    assert server.asked[-1].headers.get("Range") == ("bytes=524288-" if sha256 else None)


def test_a_part_that_was_tampered_with_is_taken_from_zero(server: Server, cache: Path) -> None:
    leave_part(cache, server.url("cut"), HASH)
    [part] = parts(cache)
    part.write_bytes(bytes(part.stat().st_size))
    assert fetch(server.url("cut"), cache, sha256=HASH).read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_taken_from_zero(server: Server, cache: Path) -> None:
    leave_part(cache, server.url("cut"))
    [part] = parts(cache)
    part.write_bytes(bytes(2 * len(CONTENT)))
    assert fetch(server.url("cut"), cache).read_bytes() == CONTENT


def test_an_answer_of_another_size_costs_nothing_that_has_arrived(
    server: Server, cache: Path
) -> None:
    """A proxy's page in place of a file of known size is refused, and the part stays."""
    url = server.url("cut:page")
    leave_part(cache, url)
    with pytest.raises(SourceError, match=f"77 bytes, but {len(CONTENT)} were expected"):
        fetch(url, cache, sha256=HASH, size=len(CONTENT))
    [part] = parts(cache)
    assert part.read_bytes() == CONTENT[: len(CONTENT) // 2]


@pytest.mark.parametrize("sha256", [None, HASH])
def test_a_page_in_place_of_the_file_costs_nothing_that_has_arrived(
    server: Server, cache: Path, sha256: str | None
) -> None:
    """Such as a login page, where nothing tells the file's size beforehand."""
    url = server.url("cut:page")
    leave_part(cache, url, sha256)
    with pytest.raises(SourceError, match="sent a web page"):
        fetch(url, cache, sha256=sha256)
    [part] = parts(cache)
    assert part.read_bytes() == CONTENT[: len(CONTENT) // 2]


def test_a_broken_note_is_taken_from_zero(server: Server, cache: Path) -> None:
    leave_part(cache, server.url("cut"))
    [note] = cache.glob("urls/*.part.json")
    note.write_text('{"url": 5')
    assert fetch(server.url("cut"), cache).read_bytes() == CONTENT
    assert "Range" not in server.asked[-1].headers


CHILD = """
import sys
from pathlib import Path
from cudaswitch.download.fetching import fetch
print(fetch(sys.argv[1], Path(sys.argv[2])))
"""


def start_child(url: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, url, str(cache)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def until_half(child: subprocess.Popen[str], cache: Path) -> None:
    """Wait until a half that the server has sent is in the part: soon, not when the server ends."""
    deadline = time.monotonic() + 40
    while [part.stat().st_size for part in parts(cache)] != [len(CONTENT) // 2]:
        assert child.poll() is None
        assert time.monotonic() < deadline, "what has arrived is not in the part"
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle_and_resumed(server: Server, cache: Path, how: int) -> None:
    url = server.url("held:2615000")  # the last piece of the half is a small one
    child = start_child(url, cache)
    until_half(child, cache)
    child.send_signal(how)
    child.communicate()
    assert whole_files(cache) == []
    assert [part.stat().st_size for part in parts(cache)] == [len(CONTENT) // 2]
    server.go.set()
    before = server.sent
    child = start_child(url, cache)
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert Path(out.strip()).read_bytes() == CONTENT
    assert server.sent - before == len(CONTENT) // 2


def test_a_long_wait_is_told(server: Server, cache: Path) -> None:
    url = server.url("then_ok:429,60")
    with start_child(url, cache) as child:
        assert child.stderr is not None
        line = child.stderr.readline()
        child.kill()
    said = f"`{url}`: the server answered 429 Too Many Requests; trying again in 60 s"
    assert line == f"cudaswitch: {said}\n"


def test_two_processes_download_once(server: Server, cache: Path) -> None:
    children = [start_child(server.url("slow:2000000"), cache) for _ in range(3)]
    outs = {child.communicate()[0].strip() for child in children}
    assert outs == {str(cache / HASH)}
    assert (cache / HASH).read_bytes() == CONTENT
    assert server.sent <= 1.02 * len(CONTENT)


def test_a_stopped_process_does_not_stop_another(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start_child(server.url("held"), cache)
    until_half(child, cache)
    child.send_signal(signal.SIGSTOP)
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "1")  # for which another process is waited for, too
    try:
        assert fetch(server.url("held"), cache).read_bytes() == CONTENT
    finally:
        server.go.set()
        child.send_signal(signal.SIGCONT)
    assert child.communicate()[0].strip() == str(cache / HASH)
    assert (cache / HASH).read_bytes() == CONTENT
    assert parts(cache) == []


def test_gc_takes_a_part_with_what_belongs_to_it(home: Home, server: Server) -> None:
    cache = Path(home.env["XDG_CACHE_HOME"]) / "cudaswitch"
    leave_part(cache, server.url("cut"))
    [part] = parts(cache)
    beside = [part.with_name(part.name + end) for end in (".json", ".ranges")]
    beside[1].write_text("0 524288\n")
    assert beside[0].is_file()
    found = [home.run("gc", *options) for options in (["--dry-run"], [])]
    for done in found:
        assert [line.split()[-1] for line in succeeded(done)] == [str(part)]
        assert "skipped" not in done.stderr
    assert not any(path.exists() for path in (part, *beside))
