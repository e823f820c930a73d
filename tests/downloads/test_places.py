"""Where a download may come from, by which ways, and that no secret is sent along."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudaswitch.download.fetching import fetch
from cudaswitch.download.urls import file_name, redact
from cudaswitch.errors import CudaswitchError, RequestError, SourceError
from downloads.served import CONTENT, HASH, leave_part, whole_files
from http_server import Server


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
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "0.4")
    with pytest.raises(SourceError, match=r"no answer for 0\.4 s"):
        fetch("http://example.invalid/trickle:head/x", cache)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("http_proxy", "socks5://127.0.0.1:1080", "`http_proxy` is a SOCKS proxy"),
        ("http_proxy", "http://proxy:port", "`http_proxy` is not a valid proxy"),
        ("HTTP_PROXY", "http://[::1", "`HTTP_PROXY` is not a valid proxy"),
        ("all_proxy", "%%%", "`all_proxy` is not a valid proxy"),
        ("http_proxy", "http://u:CSWSECRET@127.0.0.1:1", "the proxy in `http_proxy`: Connection"),
    ],
)
def test_a_proxy_that_cannot_be_asked_is_named_by_its_variable(
    server: Server, cache: Path, once: None, monkeypatch: pytest.MonkeyPatch,
    name: str, value: str, says: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(name, value)
    with pytest.raises(SourceError) as caught:
        fetch("http://example.invalid/ok/x", cache)
    assert f"cannot download `http://example.invalid/ok/x`: {says}" in str(caught.value)
    assert "CSWSECRET" not in f"{caught.value} {caught.value.hint}"
    # Where the URL itself is to blame, the proxy is not named.
    server.elsewhere = "http://*.invalid/x"
    monkeypatch.setenv(name, server.url("ok"))
    with pytest.raises(SourceError, match="it is not a valid URL"):
        fetch(server.url("away"), cache)


def test_no_secret_on_disk_or_in_messages(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = server.url("ok", credentials="user:CSWSECRET") + "?token=CSWSECRET&x=CSWSECRET"
    leave_part(cache, server.url("cut", "t/CSWSECRET/a", credentials="user:CSWSECRET"))
    fetch(secret, cache)
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "0.4")
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
        ("file:///home/me/t/data/x", "file:///home/me/t/data/x"),
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
    ("url", "says"),
    [
        *((url, "only http, https and file") for url in ("ftp://h/x", "h/x", "javascript:x", "")),
        *(
            (url, "it does not name a valid host")
            for url in ("http://", "http://[::1", "HTTPS:///x")
        ),
        *(
            ("http://h:99999/", "it does not name a valid host"),
            ("http://h/\udce9", "it is not a URL"),
        ),
    ],
)
def test_other_urls_are_refused(cache: Path, url: str, says: str) -> None:
    with pytest.raises(SourceError, match=says):
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
    with pytest.raises(SourceError, match="on this machine"):
        fetch("file://host/x", cache)
