"""A server, a cache, and nothing of the machine's own network settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from downloads.served import CONTENT
from http_server import Server

CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


@pytest.fixture
def content() -> bytes:
    """What the server has; tests may have it serve something else."""
    return CONTENT


@pytest.fixture
def server(content: bytes) -> Iterator[Server]:
    with Server(content) as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, no `.netrc`, no private authority; a try that fails is repeated once.

    A server of the tests that is not meant to be slow has a long time, on a busy machine.
    """
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "60")
    monkeypatch.setenv("CUDASWITCH_RETRIES", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (*CERTIFICATES, "http_proxy", "https_proxy", "all_proxy", "NETRC"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def once(plain: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A try that fails is not repeated."""
    monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
