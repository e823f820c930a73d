"""A channel's index in shards: a list of its packages, and a file for each of them.

The whole index of a large channel has a hundred megabytes; the few needed shards have a
thousandth of that. Format: CEP 16, "Sharded repodata".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgpack  # type: ignore[import-untyped]  # it has no types

from cudaswitch.archives.components import is_cuda
from cudaswitch.archives.streams import Source, decoded
from cudaswitch.download.access import Access
from cudaswitch.download.several import WantedFile, fetch_all
from cudaswitch.paths import cache

INDEX = "repodata_shards.msgpack.zst"
LIMIT = 64 << 20
"""Bytes of one file as it is sent."""
PLAIN_LIMIT = 32 << 20
"""Bytes of one file, decoded; the largest of conda-forge have a few MiB."""
VALUES = 1_000_000
"""Maps and lists in one file; each may be a single byte, but takes many times that in memory."""


def read_shards(
    index: Source, *, url: str, offline: bool, access: Access
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of CUDA by the file names of their packages; `index` is from `url`.

    Raises ValueError or FaultError if something is malformed, and what `fetch_all` raises.
    """
    told = _content(index)
    shards = _map(told.get("shards"))
    names = [name for name in shards if isinstance(name, str) and is_cuda(name)]
    place = _place(url, _map(told.get("info")).get("shards_base_url", ""))
    needed = [_shard(place, shards[name], access) for name in names]
    files = fetch_all(needed, cache(), offline=offline, limit=LIMIT, show=False)
    for name, path in zip(names, files, strict=True):
        with Source(path) as source:
            shard = _content(source)
        for section in ("packages", "packages.conda"):
            for file, record in _map(shard.get(section, {})).items():
                if isinstance(file, str) and file.rsplit("-", 2)[0] == name:
                    yield file, _as_json(_map(record))


def _content(source: Source) -> dict[Any, Any]:
    data = bytearray()
    for piece in decoded(source.pieces(), "zstd"):
        data += piece
        if len(data) > PLAIN_LIMIT:
            raise ValueError("it is too large")
    left = iter(range(VALUES))

    def counted(value: Any) -> Any:
        if next(left, None) is None:
            raise ValueError("it has too many values")
        return value

    try:
        hooks = {"object_hook": counted, "list_hook": counted}
        return _map(msgpack.unpackb(data, strict_map_key=False, **hooks))
    except TypeError:
        raise ValueError("a map is the key of a map") from None


def _map(value: object) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError("something else is where a map should be")


def _place(url: str, base: object) -> str:
    place = urljoin(url, f"{base}".rstrip("/") + "/" if base else "")
    if urlsplit(place).scheme not in (urlsplit(url).scheme, "https"):
        raise ValueError("its shards are on a less secure scheme than the channel")
    return place


def _shard(place: str, digest: object, access: Access) -> WantedFile:
    if not isinstance(digest, bytes) or len(digest) != 32:
        raise ValueError("it states no sha256 of a shard")
    return WantedFile(
        f"{urljoin(place, '.')}{digest.hex()}.msgpack.zst", digest.hex(), None, access
    )


def _as_json(record: dict[Any, Any]) -> dict[str, Any]:
    """Return a record as the whole index has it: hashes are bytes in shards, hex digits there."""

    def digits(value: object) -> str:
        if isinstance(value, bytes):
            return value.hex()
        raise ValueError("it has a value that JSON does not have")

    try:
        plain: dict[str, Any] = json.loads(json.dumps(record, default=digits))
    except TypeError as error:
        raise ValueError(str(error)) from None
    return plain
