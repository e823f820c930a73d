"""Load one library and ask it its version: a program of its own, so that a crash names it.

Reads a JSON object from its only argument: `load` is what a program would ask for, `file` the
file that should be loaded, `names` the toolkit's libraries by name, `call` the kind and the
function (or null), `hash` whether to hash the file. Writes one to stdout: `sha256`, `error` (of
the loader), `loaded` (the file that was loaded, if it is another), `strangers` (libraries loaded
from elsewhere though the toolkit has them), `status` and `version`.

Run with `-I -S` and without importing cudaswitch, whose imports could load libraries too.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

_PARTS = 3


def _property(function: Any) -> tuple[int, list[int]]:
    found = []
    for part in range(_PARTS):
        value = ctypes.c_int()
        status = function(part, ctypes.byref(value))
        if status:
            return status, []
        found.append(value.value)
    return 0, found


def _number(function: Any) -> tuple[int, list[int]]:
    value = ctypes.c_int()
    status = function(ctypes.byref(value))
    return status, [value.value // 1000, value.value % 1000 // 10]


def _pair(function: Any) -> tuple[int, list[int]]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    status = function(ctypes.byref(major), ctypes.byref(minor))
    return status, [major.value, minor.value]


def _struct(function: Any) -> tuple[int, list[int]]:
    function.restype = ctypes.POINTER(ctypes.c_int * _PARTS)
    return 0, list(function().contents)


def _status(function: Any) -> tuple[int, list[int]]:
    return function(), []


READERS = {
    "property": _property,
    "number": _number,
    "pair": _pair,
    "struct": _struct,
    "status": _status,
}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Do what the module's docstring says."""
    found: dict[str, Any] = {}
    if asked["hash"]:
        with Path(asked["file"]).open("rb") as file:
            found["sha256"] = _sha256(file)
    try:
        library = ctypes.CDLL(asked["load"])
    except OSError as error:
        return found | {"error": str(error)}
    if asked["call"]:
        kind, name = asked["call"]
        # Some older libraries do not have the function.
        if hasattr(library, name):
            status, parts = READERS[kind](getattr(library, name))
            text = "" if status else ".".join(map(str, parts))
            found |= {"status": status, "version": text}
    return found | _mapped(asked["file"], asked["names"])


def _sha256(file: Any) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _mapped(wanted: str, names: dict[str, str]) -> dict[str, Any]:
    """Compare the files that are loaded in this process with those that should be."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return {}  # a container may have no /proc, but everything else works there
    lines = [line.split(maxsplit=5) for line in maps.splitlines()]
    mapped = {Path(line[5]) for line in lines if len(line) == 6 and line[5].startswith("/")}
    here = sorted(at for at in mapped if os.path.exists(at))
    found: dict[str, Any] = {}
    if not any(at.samefile(wanted) for at in here):
        same = [str(at) for at in here if at.name == Path(wanted).name]
        found["loaded"] = (same or ["another file"])[0]
    theirs = {at: Path(names[at.name]) for at in here if at.name in names}
    found["strangers"] = [
        str(at) for at, ours in theirs.items() if os.path.exists(ours) and not at.samefile(ours)
    ]
    return found


if __name__ == "__main__":
    # Libraries may print, as cuDNN does its log: that must not get into the answer.
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        out.write(json.dumps(answer(json.loads(sys.argv[1]))))
