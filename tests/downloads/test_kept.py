"""The cache: what is kept, found again and healed, and what a disk refuses."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from checks import succeeded
from cudaswitch import settings
from cudaswitch.download.cache import url_key
from cudaswitch.download.fetching import fetch
from cudaswitch.download.parts import Record, read_record, write_record
from cudaswitch.errors import SourceError, StoreError
from cudaswitch.locks import Lock
from cudaswitch.shells.spelling import setting_here
from downloads.served import CONTENT, HASH, whole_files
from homes import Home
from http_modes import random_bytes
from http_server import Server
from mounts import in_own_mounts
from tools import console_script


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


def test_what_is_closed_to_us_is_fetched_anew(home: Home, pair: list[Path]) -> None:
    """In a cache that several share, a umask may leave a file that only one of them can read."""
    with Server(pair[1].read_bytes()) as server:
        url = server.url("ok", pair[1].name)
        succeeded(home.run("install", url))
        [file] = Path(home.env["XDG_CACHE_HOME"], "cudaswitch").glob("?" * 64)
        file.chmod(0)
        shutil.rmtree(home.store)
        done = home.run_plainly("install", url)
        assert succeeded(done) == []
        assert file.read_bytes() == server.content
        assert file.stat().st_mode & 0o400


def test_what_a_kill_leaves_of_a_process_that_works_alone_goes(home: Home) -> None:
    """Killed before the first byte, it leaves only the lock of the part that it has for itself."""
    urls = Path(home.env["XDG_CACHE_HOME"], "cudaswitch", "urls")
    urls.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a.conda"
        shared = urls / f"{url_key(url)}.lock"
        with Lock(shared) as held:
            assert held.take()
            env = home.env | {"CUDASWITCH_TIMEOUT": "0.5"}
            with subprocess.Popen([console_script(), "install", url], env=env) as child:
                while not (own := list(urls.glob("?" * 64 + "-????????.lock"))):
                    assert child.poll() is None
                    time.sleep(0.02)
                child.kill()
    assert sorted(urls.iterdir()) == sorted([*own, shared])
    for options in (["--dry-run"], []):
        assert str(own[0]) in home.run("gc", *options).stdout
    assert list(urls.iterdir()) == [shared]


def test_offline(server: Server, cache: Path) -> None:
    with pytest.raises(SourceError, match="not in the cache, and nothing"):
        fetch(server.url(), cache, offline=True)
    assert not cache.exists()
    fetch(server.url(credentials="me:CSWSECRET"), cache)
    asked = len(server.asked)
    assert fetch(server.url(), cache, offline=True).read_bytes() == CONTENT
    assert fetch(server.url(), cache, sha256=HASH, offline=True).read_bytes() == CONTENT
    with pytest.raises(SourceError, match="not in the cache"):
        fetch(server.url(), cache, sha256="0" * 64, offline=True)
    assert len(server.asked) == asked


def test_the_way_online_is_where_offline_was_said(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDASWITCH_CONFIG", str(tmp_path / "config.toml"))

    def hint() -> str | None:
        settings.forget()
        with pytest.raises(SourceError, match="not in the cache") as caught:
            fetch(server.url(), cache, offline=True)
        return caught.value.hint

    assert hint() == "run the command without --offline"
    (tmp_path / "config.toml").write_text("offline = true\n")
    assert hint() == "cudaswitch config unset offline"
    monkeypatch.setenv("CUDASWITCH_OFFLINE", "1")
    assert hint() == setting_here("CUDASWITCH_OFFLINE", "")
    settings.forget()


def test_without_network_the_cached_copy_is_named(cache: Path) -> None:
    with Server(CONTENT) as server:
        fetch(server.url(), cache)
        url = server.url()
    with pytest.raises(SourceError, match="Connection refused") as caught:
        fetch(url, cache)
    assert "--offline" in (caught.value.hint or "")


LIMITED = """
import resource, sys
from pathlib import Path
from cudaswitch.download.cache import url_key
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import StoreError
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
try:
    fetch(sys.argv[1], Path(sys.argv[2]))
except StoreError as error:
    print(error.message, error.hint)
"""


def test_a_limit_on_the_size_of_files_is_one_clear_line(server: Server, cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, server.url(), str(cache)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "File too large check `ulimit -f`" in done.stdout
    assert whole_files(cache) == []
    assert fetch(server.url(), cache).read_bytes() == CONTENT


FULL_DISK = """
mkdir -p "$1" && mount -t tmpfs -o size=$4 none "$1" && exec "$2" -c '
import sys
from pathlib import Path
from cudaswitch.download.cache import url_key
from cudaswitch.download.fetching import fetch
from cudaswitch.errors import StoreError
try:
    print(fetch(sys.argv[1], Path(sys.argv[2])).name)
except StoreError as error:
    print(error.message)
' "$3" "$1"
"""


@pytest.mark.parametrize("mode", ["ok", "chunked"])
def test_a_real_full_disk(server: Server, tmp_path: Path, mode: str) -> None:
    arguments = (tmp_path / "disk", sys.executable, server.url(mode), "600k")
    done = in_own_mounts(FULL_DISK, *arguments, cwd=tmp_path)
    assert done.stderr == ""
    expected = {"ok": "the download needs 1048576 bytes, but", "chunked": "no space left in"}
    assert expected[mode] in done.stdout


def test_what_is_there_of_an_older_file_makes_room(server: Server, tmp_path: Path) -> None:
    """Where the disk has room for the file alone, half of the one before it is in nobody's way."""
    arguments = (tmp_path / "disk", sys.executable, server.url("changing:etag"), "1300k")
    done = in_own_mounts(FULL_DISK, *arguments, cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == (hashlib.sha256(server.content).hexdigest(), "")


def test_a_cache_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StoreError, match="cannot write the download cache"):
        fetch(server.url(), tmp_path / "cache")


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


@pytest.mark.parametrize("sha256", [5, None, "/etc/hostname", "../x", "é" * 64])
def test_a_record_that_names_no_hash_is_none(cache: Path, sha256: object) -> None:
    record = Record("https://h/x", "x", sha256="0" * 64)
    path = cache / "record.json"
    write_record(path, record)
    assert read_record(path) == record
    path.write_text(json.dumps(record._asdict() | {"sha256": sha256}))
    assert read_record(path) is None
