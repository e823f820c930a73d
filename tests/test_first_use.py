"""A URL that a user names must go on delivering the file that it delivered first."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import builders
from checks import PYTHON, refused, succeeded
from cudaswitch.errors import CudaswitchError, SourceError, StoreError
from cudaswitch.sources import files
from homes import Home
from http_modes import random_bytes
from http_server import Server

FIRST, SECOND = random_bytes(10_000), random_bytes(10_000, seed=1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
    monkeypatch.setenv("HOME", str(tmp_path))


def obtain(tmp_path: Path, url: str, **options: object) -> bytes:
    work = Path(tmp_path, f"work{len(list(tmp_path.iterdir()))}")
    work.mkdir()
    delivery = files.obtain(url, cache=tmp_path / "cache", workdir=work, **options)  # type: ignore[arg-type]  # as given
    [artifact] = delivery.artifacts
    files.remember(url, delivery, tmp_path / "cache")
    return artifact.path.read_bytes()


def records(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache" / "seen").iterdir())


def test_the_same_file_is_welcome_again(tmp_path: Path) -> None:
    with Server(FIRST) as server:
        url = server.url("ok", "t/CSWSECRET/a.conda", credentials="me:CSWSECRET")
        assert obtain(tmp_path, url) == FIRST
        assert obtain(tmp_path, url) == FIRST
    assert obtain(tmp_path, url, offline=True) == FIRST
    [record] = records(tmp_path)
    known = json.loads(record.read_bytes())
    assert known["sha256"] == hashlib.sha256(FIRST).hexdigest()
    assert "CSWSECRET" not in record.name + record.read_text()


def test_what_was_damaged_on_its_way_is_fetched_again(home: Home, tmp_path: Path) -> None:
    """An archive that a proxy changed has the right ETag, which must not count then."""
    archive = builders.cudatoolkit_10_1(tmp_path)
    with Server(archive.read_bytes()) as server:
        url = server.url("flip:once", archive.name)
        refused(home.run("install", url), "is damaged", hint="download it again")
        succeeded(home.run("install", url))
    damaged = shutil.copy(archive, tmp_path / "mine.tar.bz2")
    os.truncate(damaged, 1000)
    refused(home.run("install", damaged), "is damaged")
    assert damaged.is_file()


@pytest.mark.parametrize("scheme", ["file", "FILE"])
def test_a_file_of_this_machine_may_change(tmp_path: Path, scheme: str) -> None:
    """A file of this machine is taken from its place by its URL, and may change."""
    file, work = tmp_path / "a.conda", tmp_path / "work"
    work.mkdir()
    url = file.as_uri().replace("file", scheme, 1)
    for content in (FIRST, SECOND):
        file.write_bytes(content)
        delivery = files.obtain(url, cache=tmp_path / "cache", workdir=work)
        assert [artifact.path for artifact in delivery.artifacts] == [file]
        files.remember(url, delivery, tmp_path / "cache")
    assert list(work.iterdir()) == []
    assert not (tmp_path / "cache/seen").exists()


def test_another_file_is_refused_until_somebody_says_that_it_is_right(tmp_path: Path) -> None:
    with Server(FIRST) as server:
        url = server.url()
        obtain(tmp_path, url)
        server.content = SECOND
        for _ in range(2):
            with pytest.raises(SourceError, match="delivers a different file than on 20") as caught:
                obtain(tmp_path, url)
            assert "\n" not in caught.value.message
        new = hashlib.sha256(SECOND).hexdigest()
        assert f"--sha256 {new}" in (caught.value.hint or "")
        # A wrong hash does not help either, nor does it change the record.
        with pytest.raises(SourceError):
            obtain(tmp_path, url, sha256="0" * 64)
        with pytest.raises(SourceError, match="delivers a different"):
            obtain(tmp_path, url)
        assert obtain(tmp_path, url, sha256=new) == SECOND
        assert obtain(tmp_path, url) == SECOND
        server.content = FIRST
        with pytest.raises(SourceError, match="delivers a different"):
            obtain(tmp_path, url)


def test_other_urls_and_credentials_are_told_apart(tmp_path: Path) -> None:
    """A URL with another password is the same place; one with another path is not."""
    with Server(FIRST) as server:
        obtain(tmp_path, server.url("ok", "a", credentials="me:one"))
        server.content = SECOND
        assert obtain(tmp_path, server.url("ok", "b")) == SECOND
        with pytest.raises(SourceError, match="delivers a different"):
            obtain(tmp_path, server.url("ok", "a", credentials="me:two"))


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"sha256": 1, "day": "2026-01-01"}', "[" * 200_000,
     '{"sha256": "../x", "day": "2026-01-01"}', "x" * 70_000],
)  # fmt: skip
def test_a_damaged_record_is_named(tmp_path: Path, content: str) -> None:
    with Server(FIRST) as server:
        obtain(tmp_path, server.url())
        [record] = records(tmp_path)
        record.write_text(content)
        with pytest.raises(StoreError, match=r"is damaged|larger than 64 KiB") as caught:
            obtain(tmp_path, server.url())
        assert str(record) in caught.value.message
        assert obtain(tmp_path, server.url(), sha256=hashlib.sha256(FIRST).hexdigest()) == FIRST
        assert obtain(tmp_path, server.url()) == FIRST


def test_a_record_is_never_waited_for(tmp_path: Path) -> None:
    with Server(FIRST) as server:
        obtain(tmp_path, server.url())
        [record] = records(tmp_path)
        record.unlink()
        os.mkfifo(record)
        with pytest.raises(CudaswitchError):
            obtain(tmp_path, server.url())


@pytest.mark.parametrize("folder", ["seen", "licences"])
def test_what_a_kill_left_beside_the_records_goes(home: Home, folder: str) -> None:
    note = Path(home.env["XDG_CACHE_HOME"], "cudaswitch", folder, f"{'a' * 64}.json")
    code = (
        "import os, sys; from pathlib import Path; from cudaswitch import durable\n"
        "with durable._temporary(Path(sys.argv[1]), 'text', 0o644):\n"
        "    os.kill(os.getpid(), 9)"
    )
    note.parent.mkdir(parents=True)
    note.write_text("{}")
    subprocess.run([PYTHON, "-c", code, note], check=False)
    [left] = set(note.parent.iterdir()) - {note}
    assert str(left) in home.run("gc", "--dry-run").stdout
    assert str(left) in home.run("gc").stdout
    assert list(note.parent.iterdir()) == [note]


def test_what_was_refused_is_not_held_for_right(home: Home, pair: list[Path]) -> None:
    """A page in place of a file, as from a portal or a server under repair, is not remembered."""
    with Server(b"<html>please sign in</html>") as server:
        url = server.url("ok", pair[1].name)
        assert home.run("install", url).returncode == 1
        server.content = pair[1].read_bytes()
        done = home.run("install", url)
        assert done.returncode == 0, done.stderr
        server.content = random_bytes(10_000)
        assert "delivers a different file" in home.run("install", "--force", url).stderr


def test_a_changed_file_is_not_installed(home: Home, pair: list[Path]) -> None:
    """`install` refuses a file that has changed, even after `gc --downloads`."""
    with Server(pair[1].read_bytes()) as server:
        url = server.url("ok", pair[1].name)
        assert home.run("install", url).returncode == 0
        server.content = random_bytes(10_000)
        assert home.run("gc", "--downloads").returncode == 0
        done = home.run("install", "--force", url)
        assert done.returncode != 0
        assert "delivers a different file" in done.stderr
        assert len(done.stderr.splitlines()) == 2
    assert home.run("verify").returncode == 0
