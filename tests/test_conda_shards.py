"""Channels with sharded indexes, written by a real indexer: what is fetched, and what is not."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from rattler.index import index_fs

import builders
from cudaswitch.errors import SourceError
from cudaswitch.sources import shards
from cudaswitch.sources.conda import Channels
from cudaswitch.sources.repodata import read_channel
from cudaswitch.versions import parse_request
from folder_server import FolderServer
from zstd_library import zstd

INDEX = f"/channel/linux-64/{shards.INDEX}"
WHOLE = ("/channel/linux-64/repodata.json.zst", "/channel/linux-64/repodata.json")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("channels")
    packages = [builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder)]
    packages.append(builders.cudatoolkit_10_1(folder, form="conda"))
    packages.append(
        builders.conda_package(folder, "numpy", "1.19.2", "py38_0", "linux-64", {"a": b"b"})
    )
    builders.local_channel(folder / "tree/channel", packages)
    asyncio.run(index_fs(folder / "tree/channel", write_zst=True, write_shards=True, force=True))
    return folder / "tree"


@pytest.fixture
def server(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderServer]:
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
    with FolderServer(tree) as running:
        yield running


def read(server: FolderServer, *, offline: bool = False) -> dict[str, dict[str, Any]]:
    return read_channel(f"{server.url}/channel/linux-64", offline=offline)


def whole(server: FolderServer) -> list[int]:
    return [status for path in WHOLE for status in server.statuses(path)]


def index_of(server: FolderServer) -> dict[str, Any]:
    content = zstd.decompress((server.root / INDEX.lstrip("/")).read_bytes())
    found: dict[str, Any] = msgpack.unpackb(content)
    return found


def pack(content: Any) -> bytes:
    packed: bytes = zstd.compress(msgpack.packb(content))
    return packed


def test_shards_say_what_the_whole_index_says(server: FolderServer) -> None:
    found = read(server)
    assert not whole(server)
    names = index_of(server)["shards"]
    asked = {Path(path).name for path, _ in server.asked if path != INDEX}
    assert asked == {f"{names[name].hex()}.msgpack.zst" for name in ("cudatoolkit", "cudnn")}
    del server.asked[:]
    server.instead[INDEX] = b"damaged"
    assert found == read(server)
    assert whole(server) == [200]
    assert {file.partition("-")[0] for file in found} == {"cudatoolkit", "cudnn"}


def test_they_are_asked_for_once(server: FolderServer) -> None:
    first = read(server)
    del server.asked[:]
    assert read(server) == first
    assert server.asked == [(INDEX, 304)]
    del server.asked[:]
    assert read(server, offline=True) == first
    assert server.asked == []


def test_a_toolkit_comes_by_them(server: FolderServer, tmp_path: Path) -> None:
    delivery = Channels((f"{server.url}/channel",)).obtain(
        parse_request("10.1"),
        platform="linux-64",
        components="build",
        workdir=tmp_path,
        offline=False,
    )
    names = [artifact.path.name for artifact in delivery.artifacts]
    assert names == ["cudatoolkit-10.1.243-h6bb024c_0.conda"]
    assert not whole(server)


def test_a_folder_of_shards(server: FolderServer, tree: Path) -> None:
    local = read_channel((tree / "channel/linux-64").as_uri(), offline=False)
    assert local == read(server)


@pytest.mark.parametrize("base", ["elsewhere", "./elsewhere/", "{url}/channel/linux-64/elsewhere"])
def test_shards_may_lie_elsewhere(server: FolderServer, base: str) -> None:
    index = index_of(server)
    index["info"]["shards_base_url"] = base.format(url=server.url)
    server.instead[INDEX] = pack(index)
    shard = next(server.root.rglob(f"{index['shards']['cudnn'].hex()}.msgpack.zst"))
    moved = {
        f"/channel/linux-64/elsewhere/{digest.hex()}.msgpack.zst": digest
        for digest in index["shards"].values()
    }
    for path, digest in moved.items():
        server.instead[path] = (shard.parent / f"{digest.hex()}.msgpack.zst").read_bytes()
    assert read(server)
    assert not whole(server)


def _record(**changes: Any) -> dict[str, Any]:
    stated = {"name": "cudnn", "version": "9.9.9", "build": "0", "depends": []}
    return stated | changes


HOSTILE: dict[str, Any] = {
    "no map": [],
    "a map elsewhere": {"packages": []},
    "no record": {"packages": {"cudnn-9.9.9-0.conda": 7}},
    "no JSON": {"packages": {"cudnn-9.9.9-0.conda": _record(x=msgpack.Timestamp(1))}},
    "keys of bytes": {"packages": {"cudnn-9.9.9-0.conda": _record(x={b"a": 1})}},
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_shards_that_cannot_be_used(server: FolderServer, content: Any) -> None:
    """Where a shard cannot be used, the whole index is read."""
    right = read(server)
    index, packed = index_of(server), pack(content)
    digest = hashlib.sha256(packed).digest()
    index["shards"]["cudnn"] = digest
    place = index["info"]["shards_base_url"]
    folder = f"/channel/linux-64/{place}".replace("/./", "/").rstrip("/")
    server.instead |= {INDEX: pack(index), f"{folder}/{digest.hex()}.msgpack.zst": packed}
    assert read(server) == right
    assert whole(server) == [200]
    assert server.statuses(f"{folder}/{digest.hex()}.msgpack.zst") == [200]


@pytest.mark.parametrize(
    "index",
    [
        b"\x28\xb5\x2f\xfd", pack(7), pack({}), pack({"shards": 1}),
        pack({"info": 1, "shards": {}}), pack({"info": {}, "shards": {"cudnn": b"short"}}),
        pack({"info": {}, "shards": {"cudnn": "0" * 32}}),
        pack({"info": {"shards_base_url": "ftp://127.0.0.1/"}, "shards": {"cudnn": b"0" * 32}}),
        pack({"info": {"shards_base_url": "file:///"}, "shards": {"cudnn": b"0" * 32}}),
        pack({"info": {}, "shards": {"cudnn": b"0" * 32}}),
        zstd.compress(b"\x91" * 100_000), zstd.compress(b"\xdd\xff\xff\xff\xff"),
        zstd.compress(b"\x81\x80\xc0"),
    ],
    ids=range(13),
)  # fmt: skip
def test_an_index_of_shards_that_cannot_be_used(server: FolderServer, index: bytes) -> None:
    server.instead[INDEX] = index
    assert set(read(server)) == {
        "cudatoolkit-10.1.243-h6bb024c_0.conda",
        "cudatoolkit-10.1.243-h6bb024c_0.tar.bz2",
        "cudnn-7.6.5-cuda10.1_0.tar.bz2",
    }
    assert whole(server) == [200]


@pytest.mark.parametrize(("name", "value"), [("LIMIT", 100), ("PLAIN_LIMIT", 100), ("VALUES", 2)])
def test_limits(
    server: FolderServer, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setattr(shards, name, value)
    assert read(server)
    assert whole(server) == [200]


def test_a_server_names_no_files_of_this_machine(server: FolderServer, tree: Path) -> None:
    index = index_of(server)
    folder = next(tree.rglob(f"{index['shards']['cudnn'].hex()}.msgpack.zst")).parent
    index["info"]["shards_base_url"] = folder.as_uri()
    server.instead[INDEX] = pack(index)
    assert read(server)
    assert whole(server) == [200]


def test_a_shard_speaks_of_its_own_package(server: FolderServer) -> None:
    other = {"cudatoolkit-99.0-0.conda": {"name": "cudatoolkit", "version": "99.0", "build": "0"}}
    packed = pack({"packages.conda": other})
    index, digest = index_of(server), hashlib.sha256(packed).digest()
    index["shards"] = {"cudnn": digest}
    index["info"]["shards_base_url"] = ""
    server.instead |= {
        INDEX: pack(index),
        f"/channel/linux-64/{digest.hex()}.msgpack.zst": packed,
    }
    assert read(server) == {}
    assert not whole(server)


def test_a_server_that_answers_what_it_has_not_with_a_page(server: FolderServer) -> None:
    """An index of shards that is answered with a page, such as a sign-in, counts as missing."""
    server.instead[INDEX] = b"<!doctype html><title>Sign in</title>"
    assert read(server)
    assert whole(server) == [200]


def test_a_server_that_does_not_answer_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            while True:
                try:
                    talk, _ = listening.accept()
                except OSError:
                    return
                with talk:
                    asked.append(talk.recv(1000).split()[1].decode())

        threading.Thread(target=hang_up, daemon=True).start()
        folder = f"http://127.0.0.1:{listening.getsockname()[1]}/channel/linux-64"
        with pytest.raises(SourceError):
            read_channel(folder, offline=False)
    assert asked == [INDEX]
