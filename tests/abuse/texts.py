"""Files that a project, a mirror, another user or the users themselves may leave around."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from abuse.arena import Arena, Make

TRAP = "$(touch canary-ran)`touch canary-ran`"

Write = Callable[[Arena], object]


def here(content: bytes | str | Callable[[Arena], bytes | str]) -> Make:
    """Run a command below a `.cuda-version` with that content."""

    def make(arena: Arena) -> list[str]:
        text = content(arena) if callable(content) else content
        arena.write(text, ".cuda-version")
        return ["exec", "--", "true"]

    return make


def placed(put: Write, *arguments: str) -> Make:
    """Put something in its place and run a command, in which `WORK` is the arena's folder."""

    def make(arena: Arena) -> list[str]:
        put(arena)
        return [each.replace("WORK", str(arena.work)) for each in arguments]

    return make


def sparse(arena: Arena, name: str) -> None:
    arena.write(b"10.1\n", name)
    os.truncate(arena.work / name, 1 << 30)


def special(arena: Arena, name: str, kind: str) -> None:
    """Make something that is not a regular file."""
    path = arena.work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(kind)


VERSION_FILES: dict[str, tuple[str, Make]] = {
    "a path": ("is not a CUDA version", here("../../../etc\n")),
    "an absolute path": ("is not a CUDA version", here(lambda arena: f"{arena.canary}\n")),
    "a command": ("cannot read", here(f"{TRAP}\n")),
    "a command behind a key": ("cannot read", here(f"cuda {TRAP}\n")),
    "a command line": ("cannot read", here("10.1; touch canary-ran\n")),
    "a variable": ("is not a CUDA version", here("$HOME\n")),
    "an option": ("is not a CUDA version", here("--help\n")),
    "two requests": ("a second `cuda` line", here("10.1\n12.4\n")),
    "a key twice": ("a second `cudnn` line", here("cuda 10.1\ncudnn 7\ncudnn 8\n")),
    "an unknown key": (
        "cannot read `env LD_PRELOAD",
        here("cuda 10.1\nenv LD_PRELOAD=/tmp/x.so\n"),
    ),
    "a key that others know": ("unknown key `nccl`", here("cuda=12.4.1\nnccl = 2.21\n")),
    "keys in capitals": ("unknown key `CUDA`", here("CUDA=12.4\nCUDNN=9.1\n")),
    "a key without a value": ("`cuda` has no value", here("cuda=\n")),
    "another without one": ("`cudnn` has no value at", here("10.1\ncudnn =  # soon\n")),
    "a path behind cudnn": ("is not a cuDNN version", here("cuda 10.1\ncudnn ../../x\n")),
    "a mode that is none": ("is not a library mode", here("cuda 10.1\nlibraries ../..\n")),
    "GPUs that are none": ("names no GPUs", here("cuda 10.1\ngpus $(id)\n")),
    "a GPU twice": ("names GPU 0 twice", here("cuda 10.1\ngpus 0,0\n")),
    "nothing": ("does not request a CUDA version", here("")),
    "only a comment": ("does not request a CUDA version", here("# 10.1\n")),
    "binary": ("cannot read", here(bytes(range(256)))),
    "NUL": ("is not a CUDA version", here("10.1\0\n")),
    "not UTF-8": ("cannot read", here(b"\xff\xfe1\x000\x00")),
    "UTF-16": ("cannot read", here("10.1".encode("utf-16"))),
    "digits of another script": ("cannot read", here("\u0661\u0660.\u0661\n")),
    "a name from right to left": ("cannot read", here("10.1\u202e\n")),
    "escapes": ("is not a CUDA version", here("10.1\x1b[2J\n")),
    "a version of four thousand digits": ("is not a CUDA version", here("1" * 4000)),
    "a range of four thousand digits": ("is not a CUDA version", here(">=" + "1" * 4000)),
    "a range of a thousand parts": ("is not a CUDA version", here(",".join([">=11"] * 800))),
    "too long by one": ("is longer than 4096 bytes", here("#" * 4097)),
    "a gigabyte": (
        "is longer than 4096 bytes",
        placed(lambda arena: sparse(arena, ".cuda-version"), "exec", "--", "true"),
    ),
    "an alias that nobody has": ("no alias `work`", here("work\n")),
    "the canary by a link": (
        "is a link to some other kind of file",
        placed(lambda a: special(a, ".cuda-version", str(a.canary)), "exec", "--", "true"),
    ),
}
"""Case → words of the refusal, and what is refused."""

NO_FILES = ("fifo", "loop", "folder", "/dev/zero", "/nowhere")
"""What a `.cuda-version` can be that is not a file: it is then ignored."""


def lock(text: str | bytes | Callable[[Arena], str]) -> Make:
    def make(arena: Arena) -> list[str]:
        content = text(arena) if callable(text) else text
        return ["sync", "--lock", arena.write(content, "cuda.lock")]

    return make


SHA = "0" * 64
GOOD_LOCK = f"""version = 1

[[toolkit]]
cuda = "10.1"
platform = "linux-64"

[[toolkit.package]]
name = "cudatoolkit"
version = "10.1.243"
build = "h_0"
source = "conda"
url = "https://127.0.0.1:1/x/cudatoolkit-10.1.243-h_0.conda"
sha256 = "{SHA}"
size = 12
"""


def locked(old: str, new: str) -> Make:
    assert old in GOOD_LOCK
    return lock(GOOD_LOCK.replace(old, new, 1))


URL = "https://127.0.0.1:1/x/cudatoolkit-10.1.243-h_0.conda"
LOCKS: dict[str, tuple[str, Make]] = {
    "a lock of the future": ("has format", locked("version = 1", "version = 99")),
    "a lock of a file of this machine": (
        "the sha256 of",
        lock(lambda arena: GOOD_LOCK.replace(URL, arena.canary.as_uri()).replace("size = 12", "")),
    ),
    "a lock of a fifo": (
        "not a regular file",
        placed(
            lambda arena: (
                special(arena, "x.conda", "fifo"),
                lock(GOOD_LOCK.replace(URL, (arena.work / "x.conda").as_uri()))(arena),
            ),
            "sync",
            "--lock",
            "WORK/cuda.lock",
        ),
    ),
    "a lock with a command for a name": ("no valid `name`", locked('"cudatoolkit"', f'"{TRAP}"')),
    "a lock with a path for a version": ("no valid `version`", locked('"10.1.243"', '"../x"')),
    "a lock with an escape in its URL": ("no valid `url`", locked("/x/", "/\\u001b[2J/")),
    "a lock with another platform": ("no valid `platform`", locked('"linux-64"', '"../etc"')),
    "a lock with half a hash": ("no valid `sha256`", locked(SHA, SHA[:32])),
    "a lock with a size of many digits": ("is not valid TOML", locked("12\n", "9" * 5000 + "\n")),
    "a lock of depth": ("is not valid TOML", lock("version = 1\nx = " + "[" * 100_000)),
    "a lock of dotted depth": (
        "a line that cudaswitch did not write",
        lock("version = 1\n" + "a." * 100_000 + "a = 1\n"),
    ),
    "a lock of a megabyte of tables": ("is larger than", lock("[[toolkit]]\n" * 200_000)),
    "a lock of many keys": (
        "does not state the version",
        lock("".join(f"k{n}=1\n" for n in range(30_000))),
    ),
    "a lock of NUL": ("is not valid TOML", lock(bytes(10_000))),
    "a lock that is a folder": (
        "Is a directory",
        placed(
            lambda arena: special(arena, "cuda.lock", "folder"), "sync", "--lock", "WORK/cuda.lock"
        ),
    ),
    "a lock that is a fifo": (
        "it is not a regular file",
        placed(
            lambda arena: special(arena, "cuda.lock", "fifo"), "sync", "--lock", "WORK/cuda.lock"
        ),
    ),
}


def repodata(content: bytes | dict[str, Any], name: str = "repodata.json") -> Make:
    """Install from a channel on this machine that has that index."""

    def put(arena: Arena) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        arena.write(data, f"channel/linux-64/{name}")

    return placed(put, "install", "10.2", "--from", "conda", "--channel", "file://WORK/channel")


RECORD = {
    "name": "cudatoolkit",
    "version": "10.2.89",
    "build": "h_0",
    "build_number": 0,
    "depends": [],
    "sha256": SHA,
    "size": 12,
    "subdir": "linux-64",
}


def one(file: str = "cudatoolkit-10.2.89-h_0.conda", **changes: Any) -> Make:
    return repodata({"packages.conda": {file: RECORD | changes}})


INDEXES: dict[str, tuple[str, Make]] = {
    "repodata, no JSON": ("it is not a channel index", repodata(b"{")),
    "repodata, depth": ("it is not a channel index", repodata(b'{"packages": ' + b"[" * 1_000_000)),
    "repodata, millions of lists": (
        "it is not a channel index",
        repodata(b'{"a": [' + b"[]," * 6_000_000),
    ),
    "repodata, one key without end": (
        "it is not a channel index",
        repodata(b'{"' + b"a" * (6 << 20)),
    ),
    "repodata, a number without end": (
        "it is not a channel index",
        repodata(b'{"a": ' + b"9" * (5 << 20)),
    ),
    "repodata, records without number": (
        "has too many records",
        repodata(
            b'{"packages": {'
            + b",".join(b'"cudatoolkit-10.2.%d-h.conda": {}' % n for n in range(60_000))
            + b"}}"
        ),
    ),
    "repodata, zstd cut": (
        "it is not a channel index",
        repodata(b"\x28\xb5\x2f\xfd", "repodata.json.zst"),
    ),
    "repodata, a hash that is a path": ("does not state the sha256", one(sha256="../../canary")),
    "repodata, a file that is a path": ("no CUDA 10.2", one("../../cudatoolkit-10.2.89-h_0.conda")),
    "repodata, a build that is a path": (
        "no CUDA 10.2",
        one("cudatoolkit-10.2.89-../h.conda", build="../h"),
    ),
    "repodata, another version in it": ("no CUDA 10.2", one(version="99.9")),
    "repodata, dependencies that are a text": ("no CUDA 10.2", one(depends="x" * 1000)),
    "repodata, a package that is not there": ("no file", one()),
}


def redist(changes: dict[str, Any] | bytes) -> Make:
    """Install from a mirror of NVIDIA's index, in which the entries of components are changed."""

    def put(arena: Arena) -> None:
        entry: dict[str, Any] = {"relative_path": "a/b.tar.xz", "sha256": SHA, "size": "12"}
        data = changes
        if isinstance(changes, dict):
            component = {"name": "x", "version": "12.4.131", "linux-x86_64": entry | changes}
            data = json.dumps({"cuda_nvcc": component, "cuda_cudart": component}).encode()
        assert isinstance(data, bytes)
        arena.write(data, "mirror/cuda/redist/redistrib_12.4.1.json")

    return placed(put, "install", "12.4.1", "--from", "nvidia", "--mirror", "file://WORK/mirror")


INDEXES |= {
    "redist, no JSON": ("it is not an index", redist(b"[")),
    "redist, depth": ("it is not an index", redist(b"[" * 200_000)),
    "redist, millions of lists": ("over the limit", redist(b"[" + b"[]," * 3_000_000 + b"[]]")),
    "redist, as many lists as it may have": ("it is not an index", redist(b"[" + b"[]," * 600_000)),
    "redist, nothing of a toolkit": ("has no build for", redist(b"{}")),
    "redist, a path up": ("no path inside", redist({"relative_path": "../../canary"})),
    "redist, an absolute path": ("no path inside", redist({"relative_path": "/etc/passwd"})),
    "redist, a URL": ("no path inside", redist({"relative_path": "http://127.0.0.1:1/x"})),
    "redist, no hash": ("no sha256", redist({"sha256": None})),
    "redist, a size of many digits": ("no size", redist({"size": "9" * 100})),
    "redist, a file that is not there": ("no file", redist({})),
}


def condarc(text: str | bytes) -> Make:
    def put(arena: Arena) -> None:
        arena.write(text, "condarc.yml")

    return placed(put, "CONDARC=WORK/condarc.yml", "install", "10.2", "--from", "conda")


LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
SETTINGS: dict[str, tuple[str, Make]] = {
    "condarc, no YAML": ("is not valid YAML", condarc("[")),
    "condarc, a Python object": (
        "is not valid YAML",
        condarc("channels: !!python/object/apply:os.system ['touch x']\n"),
    ),
    "condarc, a billion laughs": ("is not valid YAML", condarc(LAUGHS)),
    "condarc, itself in itself": ("is not valid YAML", condarc("a: &a [*a]\n")),
    "condarc, depth": ("is not valid YAML", condarc("[" * 5000)),
    "condarc, long": ("larger than", condarc("channels: [" + "a, " * 500_000 + "]\n")),
    "condarc, binary": ("is not valid YAML", condarc(bytes(range(256)))),
    "condarc, a list": ("has no conda settings", condarc("- a\n")),
    "condarc, a channel that is a path": ("is not a channel", condarc("channels: ['a/../b']\n")),
    "condarc, a channel of another scheme": (
        "is not a channel",
        condarc("channels: ['ftp://h/x']\n"),
    ),
    "config, no TOML": (
        "is not valid TOML",
        placed(lambda a: a.write("[", "c.toml"), "CUDASWITCH_CONFIG=WORK/c.toml", "list"),
    ),
    "config, an unknown name": (
        "is not a setting",
        placed(lambda a: a.write("hooks = 'x'", "c.toml"), "CUDASWITCH_CONFIG=WORK/c.toml", "list"),
    ),
    "config, a number for a folder": (
        "must be a list of folders",
        placed(lambda a: a.write("stores = 3", "c.toml"), "CUDASWITCH_CONFIG=WORK/c.toml", "list"),
    ),
    "config, depth": (
        "is not valid TOML",
        placed(
            lambda a: a.write("a = " + "[" * 50_000, "c.toml"),
            "CUDASWITCH_CONFIG=WORK/c.toml",
            "list",
        ),
    ),
    "config, a device": (
        "not a regular file",
        placed(lambda a: 0, "CUDASWITCH_CONFIG=/dev/zero", "list"),
    ),
    "config, a gigabyte": (
        "larger than",
        placed(lambda a: sparse(a, "c.toml"), "CUDASWITCH_CONFIG=WORK/c.toml", "list"),
    ),
    "config, a fifo": (
        "not a regular file",
        placed(lambda a: special(a, "c.toml", "fifo"), "CUDASWITCH_CONFIG=WORK/c.toml", "list"),
    ),
    "a URL with a name that drives a terminal": (
        "cannot download",
        placed(lambda a: 0, "install", "http://127.0.0.1:1/a%1b[2J.conda"),
    ),
    "a file with a name that drives a terminal": (
        "is not a kind of archive",
        placed(lambda a: a.write(b"x", "a\x1b[2J\n.conda"), "install", "WORK/a\x1b[2J\n.conda"),
    ),
    "a channel with a password in it": (
        "http://127.0.0.1:1/c/linux-64",
        placed(
            lambda a: 0,
            "install",
            "10.2",
            "--from",
            "conda",
            "--channel",
            "http://u:CANARY@127.0.0.1:1/c",
        ),
    ),
}


def store(name: str, content: bytes | str | Callable[[Arena], object]) -> Make:
    """List a store that has one file with that content."""

    def put(arena: Arena) -> None:
        if callable(content):
            (arena.work / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
            content(arena)
        else:
            arena.write(content, f"lab/{name}")

    return placed(put, "CUDASWITCH_HOME=WORK/lab", "list")


KIT = "toolkits/11.0.1/cudaswitch.json"
STORES: dict[str, tuple[str, Make]] = {
    "a record of nothing": ("is damaged", store(KIT, "")),
    "a record that is a list": ("is damaged", store(KIT, "[]")),
    "a record of depth": ("is damaged", store(KIT, "[" * 100_000)),
    "a record of a path": (
        "is damaged",
        store(KIT, json.dumps({"name": "../../canary", "version": "../..", "path": "/"})),
    ),
    "a record that is a fifo": (
        "cannot read",
        store(KIT, lambda a: special(a, f"lab/{KIT}", "fifo")),
    ),
    "a record of a gigabyte": ("cannot read", store(KIT, lambda a: sparse(a, f"lab/{KIT}"))),
    "a record that is a device": (
        "cannot read",
        store(KIT, lambda a: special(a, f"lab/{KIT}", "/dev/zero")),
    ),
    "a record that is a folder": (
        "cannot read",
        store(KIT, lambda a: special(a, f"lab/{KIT}", "folder")),
    ),
}

PASTED = {
    "lines without number": "\n" * (1 << 20),
    "lines of one letter": "x\n" * (1 << 19),
    "one long line": "libcudart.so" * 80_000,
    "what patterns go back and forth in": ("CUDA version " + "1." * 400 + "\n") * 1000,
    "blanks": (" " * 1999 + "\n") * 500,
    "colons": (":" * 1999 + "\n") * 500,
    "names that drive a terminal": "libcudart.so.\x1b[2J11.0: cannot open shared object file\n",
    "commands": f"{TRAP}: libcudart.so.10.1: cannot open shared object file: No such file\n",
}
"""Error messages for `doctor`, each to be read to its end in bounded time."""


def toolkit(name: str, put: Callable[[Arena, str], object]) -> Make:
    """Adopt a toolkit in which one file is odd."""

    def make(arena: Arena) -> list[str]:
        arena.write(b"x", "kit/lib64/libcudart.so")
        put(arena, f"kit/{name}")
        return ["adopt", str(arena.work / "kit")]

    return make


TOOLKITS: dict[str, tuple[str, Make]] = {
    f"{name}, {why}": ("cannot tell the version", toolkit(name, put))
    for name in ("version.json", "version.txt", "include/cuda.h")
    for why, put in {
        "a fifo": lambda a, at: special(a, at, "fifo"),
        "a loop": lambda a, at: special(a, at, "loop"),
        "a device": lambda a, at: special(a, at, "/dev/zero"),
        "a gigabyte": sparse,
        "depth": lambda a, at: a.write("[" * 100_000, at),
        "digits": lambda a, at: a.write(
            '{"cuda": {"version": "'
            + "9" * 5000
            + '"}} CUDA Version '
            + "9" * 5000
            + "\n#define CUDA_VERSION "
            + "9" * 5000,
            at,
        ),
    }.items()
}

REFUSED = VERSION_FILES | LOCKS | INDEXES | SETTINGS | TOOLKITS
