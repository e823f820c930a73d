"""Environments whose files lie: each is read to its end, runs nothing, and gets an answer."""

from __future__ import annotations

import json
import os
from pathlib import Path

from abuse.arena import Arena, Make
from abuse.texts import TRAP
from made_environments import SITE


def environment(**files: bytes | str) -> Make:
    """Resolve an environment with these files; `__` is `/` in names, `SITE` its site-packages."""

    def make(arena: Arena) -> list[str]:
        arena.write("home = /usr/bin\n", "env/pyvenv.cfg")
        (arena.work / "env" / SITE).mkdir(parents=True)
        for name, content in files.items():
            arena.write(content, f"env/{name.replace('__', '/').replace('SITE', SITE)}")
        return _resolve(arena)

    return make


def _resolve(arena: Arena) -> list[str]:
    return ["resolve", "-p", str(arena.work / "env"), "--driver", "610.43.02"]


def torch(version: bytes | str) -> Make:
    return environment(
        **{
            "SITE__torch-2.4.0.dist-info__METADATA": "Name: torch\nVersion: 2.4.0\n",
            "SITE__torch__version.py": version,
        }
    )


def odd(path: str, kind: str) -> Make:
    """Let one file of an environment with torch be a fifo, a loop, a device, a link, too large."""

    def make(arena: Arena) -> list[str]:
        torch("__version__ = '2.4.0'\ncuda = '12.4'\n")(arena)
        file = arena.work / "env" / path.replace("SITE", SITE)
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            file.rename(arena.work / "aside")
        file.unlink(missing_ok=True)
        _odd(file, kind, arena)
        return _resolve(arena)

    return make


def _odd(file: Path, kind: str, arena: Arena) -> None:
    if kind == "a fifo":
        os.mkfifo(file)
    elif kind == "a gigabyte":
        file.write_bytes(b"#")
        os.truncate(file, 1 << 30)
    elif kind == "binary":
        file.write_bytes(bytes(range(256)) * 64)
    else:
        target = {"a loop": file.name, "a device": "/dev/zero", "out": str(arena.canary)}[kind]
        file.symlink_to(target)


def records(content: bytes | str, name: str = "cudatoolkit-10.1.243-h_0.json") -> Make:
    def make(arena: Arena) -> list[str]:
        arena.write("", "env/conda-meta/history")
        arena.write(content, f"env/conda-meta/{name}")
        return _resolve(arena)

    return make


def many(arena: Arena) -> list[str]:
    for number in range(3000):
        arena.write("{}", f"env/conda-meta/cudatoolkit-10.1.{number}-h_0.json")
    return _resolve(arena)


def cycle(arena: Arena) -> list[str]:
    """Folders that lead back to themselves, and a base that is the environment itself."""
    env = arena.work / "env"
    arena.write(
        f"home = {env}/bin\ninclude-system-site-packages = true\nversion = 3.8\n", "env/pyvenv.cfg"
    )
    (env / "lib").mkdir()
    (env / "lib/python3.8").symlink_to(".")
    (env / "lib/site-packages").symlink_to("..")
    return _resolve(arena)


_CODE = f"import os\nos.system('{TRAP}')\n__import__('pathlib').Path('canary-ran').touch()\n"

ENVIRONMENTS: dict[str, Make] = {
    "version.py that runs": torch(f"{_CODE}__version__ = '2.4.0'\ncuda = '12.4'\n"),
    "version.py of brackets": torch("cuda = " + "[" * 100_000),
    "version.py of many lists": torch("cuda = [" + "[]," * 80_000 + "]"),
    "version.py of minuses": torch("cuda = " + "-" * 100_000 + "1"),
    "version.py of attributes": torch("cuda = a" + ".a" * 50_000),
    "version.py of digits": torch("cuda = " + "9" * 100_000),
    "version.py of a product": torch("cuda = '9' * 10 ** 10"),
    "version.py of dots": torch("cuda = '" + "1." * 50_000 + "'"),
    "version.py of escapes": torch("cuda = '\\x1b[2J12.4'\n__version__ = '\\u202e2.4'"),
    "version.py of surrogates": torch("cuda = '\\udcff'\n"),
    "version.py of binary": torch(bytes(range(256))),
    "version.py in UTF-16": torch("cuda = '12.4'".encode("utf-16")),
    "version.py that is no string": torch("cuda = {1: [2]}\n__version__ = b'x'"),
    "METADATA of nothing": environment(**{"SITE__torch-2.4.0.dist-info__METADATA": ""}),
    "METADATA of one line": environment(
        **{"SITE__torch-2.4.0.dist-info__METADATA": "Requires-Dist: " + "a" * (3 << 20)}
    ),
    "METADATA of many lines": environment(
        **{"SITE__torch-2.4.0.dist-info__METADATA": "Requires-Dist: nvidia-x (==1)\n" * 100_000}
    ),
    "a version that is a path": environment(
        **{"SITE__torch-..-..-canary.dist-info__METADATA": "Name: torch\nVersion: ../../canary\n"}
    ),
    "a name that drives a terminal": environment(
        **{"SITE__torch-2\x1b[2J.dist-info__METADATA": "Name: torch\n"}
    ),
    "build_info.py that runs": environment(
        **{
            "SITE__tensorflow-2.4.0.dist-info__METADATA": "Name: tensorflow\nVersion: 2.4.0\n",
            "SITE__tensorflow__python__platform__build_info.py": _CODE,
        }
    ),
    "a .pth file and a sitecustomize": environment(
        **{"SITE__x.pth": f"import os; {_CODE}", "SITE__sitecustomize.py": _CODE}
    ),
    "a record of brackets": records("[" * 100_000),
    "a record of many lists": records('{"depends": [' + "[]," * 300_000 + "[]]}"),
    "a record of digits": records('{"depends": ' + "9" * 100_000 + "}"),
    "a record in which nothing is as it should be": records(json.dumps({"depends": {"x": [1]}})),
    "a record with a name of digits": records("{}", "cudatoolkit-" + "9" * 180 + "-h_0.json"),
    "three thousand records of one package": many,
    "folders in a circle": cycle,
} | {
    f"{path.rpartition('/')[2]}, {kind}": odd(path, kind)
    for path in (
        "SITE/torch/version.py",
        "SITE/torch-2.4.0.dist-info/METADATA",
        "pyvenv.cfg",
    )
    for kind in ("a fifo", "a loop", "a device", "a gigabyte", "binary", "out")
    # Unless pyvenv.cfg is a file, there is no environment.
    if path != "pyvenv.cfg" or kind in ("a gigabyte", "binary", "out")
}
