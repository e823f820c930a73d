"""Load each library of a toolkit in a process of its own, and judge the result."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cudaswitch.check import bounded, child
from cudaswitch.check.calls import CALLS, DRIVERS, NO_DRIVER, OPTIONAL, Call, stem
from cudaswitch.check.inventory import Inventory, Library
from cudaswitch.check.results import Result, Status
from cudaswitch.errors import printable
from cudaswitch.versions import Version

_SECONDS = 120.0
"""For one library; one of a gigabyte may come over a network."""
_AT_ONCE = 8
_ALONE = ("-I", "-S", "-X", "utf8")
"""No more than Python itself, and paths as they are on disk in every locale."""
_ABSENT = re.compile(r"(\S+\.so[^\s:]*): cannot open shared object file")


def prove(inventory: Inventory, environment: Mapping[str, str], folder: Path) -> Iterator[Result]:
    """Prove the libraries, several at once; the results come sorted by name.

    `environment` is what `use` gives; `folder` is where the processes run.
    """
    names = inventory.names()
    searched = environment.get("LD_LIBRARY_PATH", "").split(":")

    def one(library: Library) -> Result:
        if library.fault:
            return _result(library, "failed", library.fault)
        call = CALLS.get(stem(library.path.name))
        asked = {
            "load": _asked_for(library, searched),
            "file": str(library.path),
            "names": names,
            "call": [call.kind, call.function] if call else None,
            "hash": _is_hashed(library),
        }
        command = [sys.executable, *_ALONE, child.__file__, json.dumps(asked)]
        done = bounded.run(command, environment, folder, _SECONDS)
        if done.code != 0:
            return _result(library, "failed", f"loading it {done.ended or done.trouble}")
        if not done.out:
            return _result(library, "failed", "loading it ends the process")
        return _judged(library, call, json.loads(done.out))

    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
        try:
            yield from pool.map(one, list(inventory.libraries()))
        except BaseException:
            # Interrupts do not reach the children, and the threads wait for them.
            bounded.end_all()
            raise


def _asked_for(library: Library, searched: list[str]) -> str:
    """Return the name, as programs ask, if the loader finds this file first; else the path."""
    for folder in searched:
        at = Path(folder, library.name)
        if folder and os.path.exists(at):
            return library.name if at.samefile(library.path) else str(library.path)
    return str(library.path)


def _is_hashed(library: Library) -> bool:
    entry = library.shipped
    # The path of the toolkit was written into conda's files that have a placeholder.
    return entry is not None and bool(entry.sha256) and entry.placeholder is None


def _judged(library: Library, call: Call | None, answer: dict[str, Any]) -> Result:
    version = answer.get("version") or None
    answered = call if "status" in answer else None
    fault = _fault(library, answered, answer)
    if fault:
        return _result(library, "failed", fault, version)
    if "error" in answer:
        return _unloaded(library, answer["error"])
    if answered and (answered.function, answer["status"]) == NO_DRIVER:
        detail = "it reports its version only where there is a driver"
        return _result(library, "needs-gpu", detail)
    if answered or _is_hashed(library):
        return _result(library, "passed", version or _unversioned(library, answered), version)
    return _result(library, "not-asked", "it loads; it has no call for its version")


def _fault(library: Library, call: Call | None, answer: dict[str, Any]) -> str | None:
    """Return the most telling fault in what was found out; None if there is none."""
    faults = [_wrong(library, answer.get("version"))]
    package, shipped = library.package, library.shipped
    if package and shipped and _is_hashed(library) and answer["sha256"] != shipped.sha256:
        faults.append(f"its content differs from that of {package.name} {package.version}")
    if "loaded" in answer:
        faults.append(f"`{answer['loaded']}` is loaded instead of it")
    if answer.get("strangers"):
        faults.append(f"it loads `{answer['strangers'][0]}`, which is not part of the toolkit")
    if call and answer["status"] and (call.function, answer["status"]) != NO_DRIVER:
        faults.append(f"{call.function} returns error {answer['status']}")
    return next(filter(None, faults), None)


def _wrong(library: Library, version: str | None) -> str | None:
    """Compare the version that a library reports with the expected one, as far as both go."""
    if not version or library.version is None:
        return None
    said, expected = Version(version).parts, library.version.parts
    both = min(len(said), len(expected))
    if said[:both] == expected[:both]:
        return None
    return f"it reports {version}; {library.source} says {library.version}"


def _unversioned(library: Library, call: Call | None) -> str:
    if call:
        return "it fits the libraries beside it"
    return f"of {library.package.version}" if library.package else "it loads"


def _unloaded(library: Library, error: str) -> Result:
    absent = _ABSENT.search(error)
    name = absent[1] if absent else ""
    if DRIVERS.fullmatch(name):
        return _result(library, "needs-gpu", f"it needs the driver's {name}")
    if name in OPTIONAL:
        detail = f"for {OPTIONAL[name]}; no {name} on this machine"
        return _result(library, "skipped", detail)
    detail = error.removeprefix(f"{library.path}: ")
    return _result(library, "failed", printable(detail))


def _result(library: Library, status: Status, detail: str, version: str | None = None) -> Result:
    return Result(
        library.name,
        "library",
        status,
        detail,
        str(library.path),
        version,
        str(library.version) if library.version else None,
    )
