"""Certificates are always checked, against those whom the user trusts, and https stays https."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from authority import Authority
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import SourceError
from downloads.conftest import CERTIFICATES
from downloads.served import CONTENT
from homes import Home
from http_server import Server

pytestmark = pytest.mark.usefixtures("once")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Path:
    return authority.issue("IP:127.0.0.1")


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    with Server(CONTENT, certificate) as running:
        yield running


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.file))


BAD: dict[str, tuple[Callable[[Authority, Path], Path], str, str]] = {
    "of an unknown authority": (
        lambda _, folder: Authority(folder / "theirs", "theirs").issue("IP:127.0.0.1"),
        "unable to get local issuer certificate",
        "REQUESTS_CA_BUNDLE",
    ),
    "of an authority that only calls itself so": (
        lambda _, folder: Authority(folder / "theirs").issue("IP:127.0.0.1"),
        "",
        "",
    ),
    "for another address": (
        lambda ours, _: ours.issue("IP:127.0.0.2"),
        "IP address mismatch",
        "for another host",
    ),
    "expired": (
        lambda ours, _: ours.issue("IP:127.0.0.1", ("20200101", "20200102")),
        "certificate has expired",
        "this machine's clock",
    ),
    "of tomorrow": (
        lambda ours, _: ours.issue("IP:127.0.0.1", ("20480101", "20490101")),
        "certificate is not yet valid",
        "this machine's clock",
    ),
}


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_certificate_is_refused(authority: Authority, tmp_path: Path, kind: str) -> None:
    """A bad certificate is refused at once: nothing is asked of the server, nor tried again."""
    make, says, hint = BAD[kind]
    with Server(CONTENT, make(authority, tmp_path)) as server:
        with pytest.raises(SourceError) as caught:
            fetch(server.url(), tmp_path / "cache")
        assert server.asked == []
    assert says in caught.value.message
    assert hint in (caught.value.hint or "")
    assert "\n" not in caught.value.message


@pytest.mark.usefixtures("trusted")
def test_another_name_of_the_same_server(secure: Server, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="Hostname mismatch") as caught:
        fetch(secure.url().replace("127.0.0.1", "localhost"), tmp_path)
    assert "for another host" in (caught.value.hint or "")
    assert secure.asked == []


@pytest.mark.parametrize("variable", CERTIFICATES)
def test_the_users_own_authority_is_honoured(
    authority: Authority,
    secure: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, str(authority.file))
    assert fetch(secure.url(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("variable", CERTIFICATES)
def test_an_authority_that_is_not_there(
    secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A file of authorities that is not there is an error, and no reason to trust others."""
    monkeypatch.setenv(variable, "/nowhere.pem")
    with pytest.raises(SourceError, match=r"/nowhere\.pem"):
        fetch(secure.url(), tmp_path)
    assert secure.asked == []


@pytest.mark.usefixtures("trusted")
def test_https_never_leads_on_to_http(secure: Server, tmp_path: Path) -> None:
    with Server(CONTENT) as plain:
        secure.elsewhere = plain.url()
        with pytest.raises(SourceError, match="which is not https"):
            fetch(secure.url("away"), tmp_path)
        assert plain.asked == []
        plain.elsewhere = secure.url()
        assert fetch(plain.url("away"), tmp_path).read_bytes() == CONTENT


@pytest.mark.usefixtures("trusted")
def test_another_port_or_scheme_is_another_place_for_credentials(
    secure: Server, tmp_path: Path
) -> None:
    with Server(CONTENT) as plain:
        plain.elsewhere = secure.url()
        fetch(plain.url("away", credentials="me:CSWSECRET"), tmp_path)
        assert "Authorization" in plain.asked[0].headers
        assert "Authorization" not in secure.asked[0].headers


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("mode", ["trickle:status", "trickle:head", "trickle:chunk", "stall"])
def test_a_trickle_under_tls_ends(
    secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "0.4")
    with pytest.raises(SourceError, match=r"no answer for 0\.4 s"):
        fetch(secure.url(mode), tmp_path)


@pytest.mark.usefixtures("trusted")
def test_chunks_under_tls_arrive(secure: Server, tmp_path: Path) -> None:
    assert fetch(secure.url("chunked"), tmp_path).read_bytes() == CONTENT


_PIP = {"PIP_RETRIES": "0", "PIP_CERT": None, "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}


def test_the_command_says_it_in_one_line(home: Home, secure: Server) -> None:
    """A bad certificate takes one line by each way to a server: a URL, an index, a channel, pip."""
    bare: dict[str, str | None] = dict.fromkeys(CERTIFICATES)
    address = secure.url("ok", "x").removesuffix("/ok/x")
    for words, variables in (
        (["install", f"{address}/ok/cudnn.conda"], {}),
        (["install", "12.6", "--from", "nvidia", "--mirror", f"{address}/ok"], {}),
        (["install", "12.6", "--from", "conda", "--channel", f"{address}/ok"], {}),
        (["install", "13.0", "--from", "pypi"], {"PIP_INDEX_URL": f"{address}/ok"}),
    ):
        done = home.run(*words, **(bare | _PIP | variables), CUDASWITCH_RETRIES="0")
        assert done.returncode != 0
        assert "certificate" in done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) <= 2, done.stderr
        assert done.stdout == ""
    assert secure.asked == []
