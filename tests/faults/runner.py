"""Runs of `cudaswitch` in processes that are forked, with a fault at the call wanted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


class Runner:
    """The process that forks. `root` is the folder whose changes count."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.root = root
        folder.mkdir(exist_ok=True)
        library = folder / "injected.so"
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", "-o", library, _HERE / "injected.c", "-ldl"],
            check=True,
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.forking"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_HERE.parent,
            env=os.environ | {"LD_PRELOAD": str(library), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

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
        assert self._process.stdin and self._process.stdout
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        reply = json.loads(self._process.stdout.readline())
        ran = Ran(
            reply["code"],
            out.read_text(encoding="utf-8", errors="replace"),
            err.read_text(encoding="utf-8", errors="replace"),
            log.read_text(encoding="utf-8", errors="replace").splitlines(),
            reply["seconds"],
        )
        assert not reply["hung"], f"it hangs: {arguments}\n{ran.shown}"
        return ran
