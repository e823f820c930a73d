"""Runs of `cudaswitch` in forked processes, with a fault at a chosen call."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from tools import console_script

Act = Literal["run", "count", "kill", "fail", "lie", "halve", "fill"]
_ACTS: dict[Act, int] = {
    "run": 0,
    "count": 1,
    "kill": 2,
    "fail": 3,
    "lie": 4,
    "halve": 5,
    "fill": 6,
}
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Ran:
    """How a run ended; `calls` are those that the fault was for, or all that were counted."""

    code: int
    out: str
    err: str
    calls: list[str]
    seconds: float

    @property
    def shown(self) -> str:
        return f"exit {self.code} after {self.calls[:1]}\n{self.out}\n{self.err}"


class Forking:
    """The process that forks. A context manager; any number of runners can connect to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._connections: list[socket.socket] = []
        folder.mkdir(exist_ok=True)
        library = folder / "injected.so"
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", "-o", library, _HERE / "injected.c", "-ldl"],
            check=True,
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.forking", "socket"],
            stdout=subprocess.PIPE, text=True, cwd=folder,
            env=os.environ | {
                "LD_PRELOAD": str(library),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(_HERE.parent),
            },
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def __enter__(self) -> Forking:
        return self

    def connect(self) -> socket.socket:
        # The path of a socket must be short.
        connection = socket.socket(socket.AF_UNIX)
        folder = os.open(self.folder, os.O_PATH)
        connection.connect(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
        self._connections.append(connection)
        return connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for connection in self._connections:
            connection.shutdown(socket.SHUT_RDWR)
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class Runner:
    """One run after another. `root` is the folder whose changes count."""

    def __init__(self, forking: Forking, root: Path) -> None:
        self.root = root
        self.folder = Path(tempfile.mkdtemp(dir=forking.folder))
        self._lines = forking.connect().makefile("rw", encoding="utf-8")

    def run(
        self,
        *arguments: str | Path,
        env: dict[str, str],
        cwd: Path,
        act: Act = "run",
        at: int = 0,
        errno: int = 0,
        kill_after: float | None = None,
    ) -> Ran:
        """Run one command; with `kill_after`, kill it after so many seconds."""
        out, err, log = (self.folder / name for name in ("out", "err", "log"))
        asked = {
            "argv": [str(console_script()), *map(str, arguments)],
            "env": env,
            "cwd": str(cwd),
            "root": str(self.root),
            "act": _ACTS[act],
            "at": at,
            "errno": errno,
            "kill_after": kill_after,
            "files": [os.devnull, str(out), str(err)],
            "log": str(log),
        }
        print(json.dumps(asked), file=self._lines, flush=True)
        reply = json.loads(self._lines.readline())
        ran = Ran(
            reply["code"],
            out.read_text(encoding="utf-8", errors="replace"),
            err.read_text(encoding="utf-8", errors="replace"),
            log.read_text(encoding="utf-8", errors="replace").splitlines(),
            reply["seconds"],
        )
        assert not reply["hung"], f"it hangs: {arguments}\n{ran.shown}"
        return ran
