"""Downloads against a real server that misbehaves: the right bytes or one clear error."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from cudaswitch.download.failures import TransientError, _retry_after
from cudaswitch.download.fetching import fetch
from cudaswitch.download.urls import file_name, redact
from cudaswitch.errors import CudaswitchError, RequestError, SourceError, StoreError
from http_server import Server, random_bytes

CONTENT = random_bytes(1 << 20)
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(CONTENT) as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "0.4")
    monkeypatch.setenv("CUDASWITCH_RETRIES", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "all_proxy", "NETRC"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


def whole_files(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("*") if path.is_file())


def parts(cache: Path) -> list[Path]:
    return list(cache.glob("urls/*.part"))


def leave_part(cache: Path, url: str, sha256: str | None = None) -> None:
    """Let one try end in the middle, as a broken line would."""
    os.environ["CUDASWITCH_RETRIES"] = "0"
    with pytest.raises(SourceError):
        fetch(url, cache, sha256=sha256)
    os.environ["CUDASWITCH_RETRIES"] = "1"


RIGHT = [
    "ok", "cut", "reset", "chunked", "then_ok:500", "then_ok:503", "then_ok:429", "redirect:10",
    "range_ignored", "range_odd:wrong", "range_odd:416", "range_odd:multi", "range_odd:none",
    "range_odd:short", "range_odd:total", "range_odd:star", "range_odd:huge",
    "range_odd:long",
    "range_odd:chunked", "range_odd:tag",
    "dated:3600", "dated:0", "untagged", "redirect_long",
]  # fmt: skip
WRONG = {
    "cut:always": "the connection was cut",
    "no_length": "does not say how long",
    "no_length:cut": "does not say how long",
    "odd_head:negative": "does not say how long",
    "chunked:cut": "the connection was cut",
    "chunked:bad": "the connection was cut",
    "lie:9": "the connection was cut",
    "stall": "no answer for 0.4 s",
    "silent": "no answer for 0.4 s",
    "slow:200": "less than 1024 bytes a second came",
    "empty": "an empty file came",
    "html": "a web page came instead of the file",
    "status:404": "the server answered 404 Not Found",
    "status:403": "the server answered 403 Forbidden",
    "status:500": "the server answered 500 Internal Server Error",
    "redirect:11": "more than 10 redirects",
    "loop": "more than 10 redirects",
    "gz": "sent it compressed (gzip)",
    "odd_head:two": "the answer is no sound HTTP",
    "odd_head:big": "the answer is no sound HTTP",
    "odd_head:many": "the answer is no sound HTTP",
    "odd_head:garbage": "the answer is no sound HTTP",
    "odd_head:unasked": "the server answered 206",
    "odd_head:endless": "the answer is no sound HTTP",
    "gz:label": "sent it compressed (gzip)",
    "gz:twice": "sent it compressed (gzip)",
    "gz:bomb": "sent it compressed (gzip)",
    "bare": "the answer is no sound HTTP",
    "trickle:status": "no answer for 0.4 s",
    "trickle:head": "no answer for 0.4 s",
    "trickle:chunk": "no answer for 0.4 s",
}
WITH_HASH = {
    "lie:-9": "its sha256 is",
    "flip": "its sha256 is",
    "no_length:cut": "its sha256 is",
    "html": "a web page came",
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
def test_wrong_bytes_are_one_clear_error(server: Server, cache: Path, mode: str) -> None:
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
    with pytest.raises(SourceError, match="it has 1048576 bytes where 5 were expected"):
        fetch(server.url(), cache, size=5)
    with pytest.raises(SourceError, match="more than 5 bytes came"):
        fetch(server.url("chunked"), cache, size=5)
    assert server.sent < 3 * len(CONTENT)
    with pytest.raises(SourceError, match="cut after 1048576 of 1048577"):
        fetch(server.url("chunked"), cache, size=len(CONTENT) + 1)
    assert fetch(server.url("no_length"), cache, size=len(CONTENT)).read_bytes() == CONTENT


def test_an_endless_body_ends(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_MAX_DOWNLOAD", "3000000")
    with pytest.raises(SourceError, match="more than 3000000 bytes came"):
        fetch(server.url("endless"), cache)
    assert parts(cache) == []
    monkeypatch.setenv("CUDASWITCH_MAX_DOWNLOAD", "1000")
    with pytest.raises(SourceError, match="over the limit of 1000"):
        fetch(server.url(), cache)


def test_all_of_it_has_a_limit_of_time(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However well it goes on; what has arrived is kept."""
    monkeypatch.setenv("CUDASWITCH_MAX_TIME", "0.3")
    with pytest.raises(SourceError, match=r"it took longer than 0\.3 s") as caught:
        fetch(server.url("slow:300000"), cache)
    assert "goes on where this one stopped" in (caught.value.hint or "")
    monkeypatch.setenv("CUDASWITCH_MAX_TIME", "60")
    assert fetch(server.url(), cache, sha256=HASH).read_bytes() == CONTENT
    monkeypatch.setenv("CUDASWITCH_MAX_TIME", "0")
    with pytest.raises(SourceError, match="it took longer than 0 s"):
        fetch(server.url("cut:always"), cache)


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
     ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", None), ("\x00", None)],
)  # fmt: skip
def test_retry_after(text: str, seconds: float | None) -> None:
    assert _retry_after(text) == seconds


def test_retry_after_as_a_date() -> None:
    assert 8 < (_retry_after(formatdate(time.time() + 10, usegmt=True)) or 0) < 11


def test_retries_are_bounded(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_RETRIES", "2")
    with pytest.raises(SourceError):
        fetch(server.url("status:503"), cache)
    assert len(server.asked) == 3


def test_a_client_error_is_not_tried_again(server: Server, cache: Path) -> None:
    with pytest.raises(SourceError):
        fetch(server.url("status:404"), cache)
    assert len(server.asked) == 1


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
        stderr=subprocess.PIPE, text=True, env={**os.environ, "CUDASWITCH_TIMEOUT": "5"},
    )  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle_and_resumed(server: Server, cache: Path, how: int) -> None:
    url = server.url("slow:2000000")
    child = start_child(url, cache)
    deadline = time.monotonic() + 10
    while not (parts(cache) and parts(cache)[0].stat().st_size > len(CONTENT) // 3):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(how)
    child.communicate()
    time.sleep(0.1)  # the server sees the broken line
    assert whole_files(cache) == []
    missing = len(CONTENT) - parts(cache)[0].stat().st_size
    assert 0 < missing < len(CONTENT)
    before = server.sent
    child = start_child(url, cache)
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert Path(out.strip()).read_bytes() == CONTENT
    assert server.sent - before <= 1.02 * missing


def test_two_processes_download_once(server: Server, cache: Path) -> None:
    children = [start_child(server.url("slow:2000000"), cache) for _ in range(3)]
    outs = {child.communicate()[0].strip() for child in children}
    assert outs == {str(cache / HASH)}
    assert (cache / HASH).read_bytes() == CONTENT
    assert server.sent <= 1.02 * len(CONTENT)


def test_a_stopped_process_does_not_stop_another(server: Server, cache: Path) -> None:
    child = start_child(server.url("slow:2000000"), cache)
    while not (parts(cache) and parts(cache)[0].stat().st_size > 1000):
        time.sleep(0.01)
    child.send_signal(signal.SIGSTOP)
    try:
        server.hits.clear()
        assert fetch(server.url("slow:2000000"), cache).read_bytes() == CONTENT
    finally:
        child.send_signal(signal.SIGCONT)
    assert child.communicate()[0].strip() == str(cache / HASH)
    assert (cache / HASH).read_bytes() == CONTENT
    assert parts(cache) == []


def test_the_cache_is_used(server: Server, cache: Path) -> None:
    fetch(server.url(), cache, sha256=HASH)
    fetch(server.url(), cache, sha256=HASH)
    fetch(server.url("status:404"), cache, sha256=HASH.upper())
    assert len(server.asked) == 1


def test_an_unchanged_url_is_not_downloaded_again(server: Server, cache: Path) -> None:
    fetch(server.url(), cache)
    sent = server.sent
    assert fetch(server.url(), cache).read_bytes() == CONTENT
    assert server.sent == sent
    server.content = random_bytes(5000, seed=7)
    assert fetch(server.url(), cache).read_bytes() == server.content
    assert (cache / HASH).read_bytes() == CONTENT


def test_a_rotten_cache_is_healed(server: Server, cache: Path) -> None:
    fetch(server.url(), cache)
    (cache / HASH).write_bytes(CONTENT[:-1] + b"x")
    assert fetch(server.url(), cache, sha256=HASH).read_bytes() == CONTENT
    (cache / HASH).write_bytes(CONTENT[:-1] + b"x")
    assert fetch(server.url(), cache).read_bytes() == CONTENT
    (cache / HASH).write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(SourceError, match="not in the cache"):
        fetch(server.url(), cache, offline=True)


def test_offline(server: Server, cache: Path) -> None:
    with pytest.raises(SourceError, match="not in the cache, and --offline forbids"):
        fetch(server.url(), cache, offline=True)
    assert not cache.exists()
    fetch(server.url(credentials="me:CSWSECRET"), cache)
    asked = len(server.asked)
    assert fetch(server.url(), cache, offline=True).read_bytes() == CONTENT
    assert fetch(server.url(), cache, sha256=HASH, offline=True).read_bytes() == CONTENT
    with pytest.raises(SourceError, match="not in the cache"):
        fetch(server.url(), cache, sha256="0" * 64, offline=True)
    assert len(server.asked) == asked


def test_without_network_the_cached_copy_is_named(cache: Path) -> None:
    with Server(CONTENT) as server:
        fetch(server.url(), cache)
        url = server.url()
    with pytest.raises(SourceError, match="Connection refused") as caught:
        fetch(url, cache)
    assert "--offline" in (caught.value.hint or "")


def test_redirects_never_take_credentials_along(
    server: Server, cache: Path, tmp_path: Path
) -> None:
    with Server(CONTENT) as other:
        server.elsewhere = other.url("ok")
        assert fetch(server.url("away", credentials="me:CSWSECRET"), cache).read_bytes() == CONTENT
        assert "Authorization" in server.asked[0].headers
        assert "Authorization" not in other.asked[0].headers
        (tmp_path / ".netrc").write_text("machine localhost login me password CSWSECRET\n")
        url = server.url("away", "two").replace("127.0.0.1", "localhost")
        fetch(url, cache)
        assert "Authorization" in server.asked[-1].headers
        assert "Authorization" not in other.asked[-1].headers


def test_a_redirect_at_home_keeps_credentials(server: Server, cache: Path) -> None:
    server.elsewhere = server.url("ok")
    fetch(server.url("away", credentials="me:p%40ss"), cache)
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Basic bWU6cEBzcw=="] * 2


@pytest.mark.parametrize(
    "target",
    ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x", "http://[::1", "gopher:x",
     "http://127.0.0.1:99999/x", "http://", "//"],
)  # fmt: skip
def test_redirects_to_other_kinds_of_places_are_refused(
    server: Server, cache: Path, target: str
) -> None:
    server.elsewhere = target
    with pytest.raises(SourceError):
        fetch(server.url("away"), cache)
    assert whole_files(cache) == []


def test_a_proxy_is_used(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://u:CSWSECRET@{server.host}")
    with pytest.raises(SourceError, match="answered 404") as caught:
        fetch("http://example.invalid/status:404/x", cache)
    assert server.asked[0].path == "http://example.invalid/status:404/x"
    assert "CSWSECRET" not in str(caught.value)
    assert fetch("http://example.invalid/ok/x", cache).read_bytes() == CONTENT
    with pytest.raises(SourceError, match=r"no answer for 0\.4 s"):
        fetch("http://example.invalid/trickle:head/x", cache)


def test_no_secret_on_disk_or_in_messages(server: Server, cache: Path) -> None:
    secret = server.url("ok", credentials="user:CSWSECRET") + "?token=CSWSECRET&x=CSWSECRET"
    leave_part(cache, server.url("cut", "t/CSWSECRET/a", credentials="user:CSWSECRET"))
    fetch(secret, cache)
    for mode in ("status:404", "html", "loop", "flip", "stall"):
        url = server.url(mode, "t/CSWSECRET/file", credentials="user:CSWSECRET")
        with pytest.raises(CudaswitchError) as caught:
            fetch(url + "?sig=CSWSECRET", cache, sha256=HASH[::-1])
        assert "CSWSECRET" not in f"{caught.value} {caught.value.hint}"
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    for path in cache.rglob("*"):
        assert "CSWSECRET" not in path.name
        assert path.is_dir() or b"CSWSECRET" not in path.read_bytes()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://h/a/b.bz2", "https://h/a/b.bz2"),
        ("https://u:p@h:8443/a", "https://h:8443/a"),
        ("https://u:p@ss@h/a", "https://h/a"),
        ("https://u:p'a`s\"s@h/a", "https://h/a"),
        ("https://u:pa/ss@h/a", "https://***"),
        ("https://h/t/tk-1/chan/x", "https://h/t/***/chan/x"),
        ("https://h/a?x=1&token=2#frag", "https://h/a?***"),
        ("https://h?token=2", "https://h?***"),
        ("https://h/a#sha", "https://h/a"),
        ("HTTPS://u:p@h/", "HTTPS://h/"),
        ("https://u:p@[::1]:80/a", "https://[::1]:80/a"),
        ("see 'https://u:p@h/a' and `http://x:y@z`.", "see 'https://h/a' and `http://z`."),
        ("no url: a@b", "no url: a@b"),
    ],
)
def test_redact(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://h/a/b.bz2?x#y", "b.bz2"),
        ("https://h/a%2F..%2Fb", "b"),
        ("https://h/..%5C..%5Cb", "b"),
        ("https://h/%2e%2e", "download"),
        ("https://h", "download"),
        ("https://h/a%1bb", "a\\x1bb"),
    ],
)
def test_file_name(url: str, name: str) -> None:
    assert file_name(url) == name


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://h/x", "h/x", "http://", "http://[::1", "http://h:99999/", "javascript:x", ""),
        *("https:///x", "http://h/\udce9"),
    ],
)
def test_other_urls_are_refused(cache: Path, url: str) -> None:
    with pytest.raises(SourceError):
        fetch(url, cache)


def test_a_sha256_must_be_one(server: Server, cache: Path) -> None:
    with pytest.raises(RequestError):
        fetch(server.url(), cache, sha256="../../etc/passwd")
    with pytest.raises(RequestError):
        fetch(server.url(), cache, sha256="")


def test_file_urls(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "a b.bin"
    file.write_bytes(CONTENT)
    assert fetch(file.as_uri(), cache, sha256=HASH, offline=True) == file
    with pytest.raises(SourceError, match="the sha256 of"):
        fetch(file.as_uri(), cache, sha256="0" * 64)
    with pytest.raises(SourceError, match="has 1048576 bytes"):
        fetch(file.as_uri(), cache, size=3)
    with pytest.raises(SourceError, match="no file"):
        fetch((tmp_path / "none").as_uri(), cache)
    with pytest.raises(SourceError, match="is a folder"):
        fetch(tmp_path.as_uri(), cache)
    with pytest.raises(SourceError, match="not a regular file"):
        fetch("file:///dev/null", cache)
    with pytest.raises(SourceError, match="of this machine"):
        fetch("file://host/x", cache)


LIMITED = """
import resource, sys
from pathlib import Path
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import StoreError
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
try:
    fetch(sys.argv[1], Path(sys.argv[2]))
except StoreError as error:
    print(error.message)
"""


def test_disk_full_is_one_clear_line(server: Server, cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, server.url(), str(cache)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "no space left in" in done.stdout
    assert whole_files(cache) == []
    assert fetch(server.url(), cache).read_bytes() == CONTENT


FULL_DISK = """
mkdir -p "$1" && mount -t tmpfs -o size=600k none "$1" && exec "$2" -c '
import sys
from pathlib import Path
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import StoreError
try:
    fetch(sys.argv[1], Path(sys.argv[2]))
except StoreError as error:
    print(error.message)
' "$3" "$1"
"""


@pytest.mark.parametrize("mode", ["ok", "chunked"])
def test_a_real_full_disk(server: Server, tmp_path: Path, mode: str) -> None:
    command = ["unshare", "-rm", "sh", "-c", FULL_DISK, "sh", str(tmp_path / "disk"),
               sys.executable, server.url(mode)]  # fmt: skip
    if subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("needs a user namespace")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    expected = {"ok": "the download needs 1048576 bytes and", "chunked": "no space left in"}
    assert expected[mode] in done.stdout


def test_a_cache_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StoreError, match="cannot write the download cache"):
        fetch(server.url(), tmp_path / "cache")


def test_quiet_unless_a_terminal(
    server: Server, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fetch(server.url(), cache)
    assert capfd.readouterr() == ("", "")
    fetch(server.url(name="named.bin"), cache, show=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "named.bin" in err
    assert "B/s" in err


def test_settings_that_are_no_numbers(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("soon", "-1", "nan", "inf"):
        monkeypatch.setenv("CUDASWITCH_TIMEOUT", text)
        with pytest.raises(RequestError, match="CUDASWITCH_TIMEOUT"):
            fetch(server.url(), cache)


def test_threads_of_one_process_share_a_cache(server: Server, cache: Path) -> None:
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(fetch(server.url(), cache))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(paths) == {cache / HASH}
    assert json.loads(next(cache.glob("urls/*.json")).read_text())["sha256"] == HASH
