"""Servers that lie: how they misbehave for each kind of index, and what their indexes say."""

from __future__ import annotations

import json
from typing import Any

from http_server import Server

SHA256 = "0" * 64
WAYS: dict[str, tuple[str, ...]] = {
    "url": ("install", "{at}/cudatoolkit-10.1.243-0.conda"),
    "nvidia": ("CUDASWITCH_NVIDIA_URL={at}", "install", "12.4", "--from", "nvidia"),
    "conda": ("install", "10.2", "--from", "conda", "--channel", "{at}"),
}
"""The words that make the command ask a server; `{at}` is its address with the mode."""

_UNSOUND = "the answer is not valid HTTP"
MODES = {
    "status:401": "the server answered 401",
    "status:500": "the server answered 500",
    "html": "",  # refused as a page, or as an index that is not one
    "empty": "the file is empty",
    "cut:always": "the connection was lost",
    "chunked:cut": "the connection was lost",
    "chunked:bad": "the connection was lost",
    "silent": "no answer for 0.2 s",
    "trickle:head": "no answer for 0.2 s",
    "trickle:chunk": "no answer for 0.2 s",
    "slow:200": "slower than 1024 bytes per second",
    "endless": "it is larger than",
    "loop": "more than 10 redirects",
    "gz": "sent it compressed (gzip)",
    "gz:bomb": "",  # too large, or compressed
    "odd_head:endless": _UNSOUND,
    "odd_head:garbage": _UNSOUND,
    "bare": _UNSOUND,
}
"""Modes of http_server.py, and what is reported for each, whatever was asked for."""
_PATIENCE = {"silent": 0.2, "trickle:head": 0.2, "trickle:chunk": 0.2, "slow:200": 1}
"""Seconds that a slow server is given. Others need little, but on a busy machine more than that."""

_RECORD: dict[str, Any] = {
    "name": "cudatoolkit",
    "version": "10.2.89",
    "build": "hfd86e86_1",
    "build_number": 1,
    "depends": [],
    "sha256": SHA256,
    "size": 1000,
}
_FILE = "cudatoolkit-10.2.89-hfd86e86_1.conda"


def _channel(changes: dict[str, Any], file: str = _FILE) -> str:
    record = {key: value for key, value in (_RECORD | changes).items() if value is not None}
    return json.dumps({"packages": {}, "packages.conda": {file: record}})


CHANNELS: dict[str, tuple[str, str]] = {
    "half": ("it is not a channel index", _channel({})[:150]),
    "bytes": ("it is not a channel index", '{"packages": \x00'),
    "deep": ("it is not a channel index", '{"packages": ' + "[" * 100_000),
    "a list": ("it is not a channel index", "[]"),
    "no sha256": ("does not state the sha256", _channel({"sha256": None})),
    "a sha256 that is a path": (
        "does not state the sha256",
        _channel({"sha256": "../" * 21 + "x"}),
    ),
    "a size below zero": ("does not state the size", _channel({"size": -1})),
    "a size that is true": ("does not state the size", _channel({"size": True})),
    "another size": ("but 1000 were expected", _channel({})),
    "another sha256": ("its sha256 is", _channel({}).ljust(1000)),
    "a file above": ("", _channel({}, f"../../../canary/{_FILE}")),
    "a file elsewhere": ("", _channel({}, f"http://127.0.0.1:1/{_FILE}")),
    "a file of the machine": ("", _channel({}, f"/etc/{_FILE}")),
    "escapes": ("", _channel({"version": "10.2\x1b[2J"})),
}
"""Case → what is reported, and the `repodata.json` that it is about."""


def _redist(**changes: Any) -> str:
    entry = {"relative_path": "cuda_nvcc/x.tar.xz", "sha256": SHA256, "size": "1000"} | changes
    entry = {key: value for key, value in entry.items() if value is not None}
    both = {"linux-x86_64": entry, "linux-sbsa": entry}
    row = {"name": "x", "license": "x\x1b[2J", "version": "12.4.131", **both}
    return json.dumps(dict.fromkeys(("cuda_nvcc", "cuda_cudart", "cuda_cccl"), row))


_NO_PATH = "it names no path inside of its folder"
REDIST: dict[str, tuple[str, str]] = {
    "half": ("it is not an index", _redist()[:100]),
    "bytes": ("it is not an index", "\x00\x01"),
    "deep": ("it is not an index", "[" * 100_000),
    "a list": ("it is not an index", "[]"),
    "huge": ("over the limit", " " * (3 << 20)),
    "a path above": (_NO_PATH, _redist(relative_path="../../canary")),
    "a path of the machine": (_NO_PATH, _redist(relative_path="/etc/passwd")),
    "a URL": (_NO_PATH, _redist(relative_path="http://127.0.0.1:1/x")),
    "a file URL": (_NO_PATH, _redist(relative_path="file:///etc/passwd")),
    "an option": (_NO_PATH, _redist(relative_path="-x")),
    "escapes": (_NO_PATH, _redist(relative_path="x\x1b[2J")),
    "no sha256": ("it names no sha256", _redist(sha256=None)),
    "only md5": ("it names no sha256", _redist(sha256=None, md5="0" * 32)),
    "a short sha256": ("it names no sha256", _redist(sha256="0" * 40)),
    "no size": ("it names no size", _redist(size=None)),
    "a size below zero": ("it names no size", _redist(size="-1")),
    "a huge size": ("but 999999999999999 were expected", _redist(size="9" * 15)),
    "another size": ("but 1000 were expected", _redist()),
}
"""Case → what is reported, and the `redistrib_12.4.1.json` that it is about."""

_PIP = ("PIP_CONFIG_FILE=/dev/null", "PIP_FIND_LINKS=", "PIP_RETRIES=0", "PIP_DEFAULT_TIMEOUT=1")
_PIP += ("RUSTUP_HOME=/dev/null",)  # pip asks rustc for its version, which makes folders
PIP = ("html", "silent", "gz:twice")
"""Modes for pip, which reports itself what is wrong."""


def asking(server: Server, way: str, mode: str) -> list[str]:
    """Return the words for `Arena.run` that ask the server in one of WAYS."""
    at = f"{server.scheme}://{server.host}/{mode}"
    limits = (f"CUDASWITCH_TIMEOUT={_PATIENCE.get(mode, 60)}", "CUDASWITCH_MAX_DOWNLOAD=3000000")
    return [*limits, *(word.replace("{at}", at) for word in WAYS[way])]


def asking_pip(server: Server, mode: str) -> list[str]:
    index = f"PIP_INDEX_URL={server.scheme}://{server.host}/{mode}/simple"
    return [*_PIP, index, "install", "13.0", "--from", "pypi"]
