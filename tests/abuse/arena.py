"""Where hostile inputs are let loose: an account with a store, and canaries all around it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fork_server import fork_server
from homes import Home

CPU_SECONDS = 2.0
MEMORY_BYTES = 200_000_000
_MAPPED = 2 << 30
"""Bytes that a run can map, far above what is allowed: the machine must survive a failure."""
_PATIENCE = 120
"""Seconds after which a run counts as hanging: no measure of speed, as a machine may be busy."""

Make = Callable[["Arena"], list[str]]
"""Writes an input below `Arena.work`, and returns the words for `Arena.run` that read it."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `cpu` in seconds, `memory` in bytes."""

    code: int
    out: str
    err: str
    cpu: float
    memory: int

    def __str__(self) -> str:
        return f"exit {self.code}, {self.cpu:.2f} s, {self.memory >> 20} MiB\n{self.out}{self.err}"


_QUICK = {"CUDASWITCH_TIMEOUT": "60", "CUDASWITCH_RETRIES": "0"}


@dataclass(frozen=True)
class Arena:
    """`base` holds home, store and the folder `work` for inputs; canaries are in all of them."""

    base: Path
    home: Home

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def canary(self) -> Path:
        """The file that escaping paths aim at: from the store, from `work`, or absolute."""
        return self.base / "canary"

    def write(self, data: bytes | str, name: str = "package") -> str:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def run(self, *words: str, stdin: Path | None = None) -> Outcome:
        """Run the command; words before it such as `NAME=value` set variables, as in a shell."""
        count = next(n for n, word in enumerate(words) if "=" not in word)
        variables = dict(word.split("=", 1) for word in words[:count])
        with open(stdin or os.devnull, "rb") as given:
            ended = fork_server().run(
                ["cudaswitch", *words[count:]],
                env=self.home.env | _QUICK | variables,
                cwd=self.work,
                stdin=given,
                timeout=_PATIENCE,
                limit=_MAPPED,
            )
        texts = [text.decode(errors="replace") for text in (ended.out, ended.err)]
        return Outcome(ended.code, *texts, ended.cpu, ended.memory)

    def plant(self) -> None:
        """Put canaries where escaping paths would lead."""
        store = self.home.store
        places = [self.base, self.home.path, self.work, *(at for at in (store,) if at.is_dir())]
        for place in places:
            place.mkdir(exist_ok=True)
            (place / "canary").write_text("alive")

    def state(self) -> dict[str, str]:
        """Describe everything, except what commands may leave behind: locks, the cache."""
        return described(self.base, ("store/locks", "home/xdg-cache", "store/.staging"))


def described(root: Path, but: tuple[str, ...] = ()) -> Mapping[str, str] | dict[str, str]:
    """Map each path below `root` to its kind, mode, and content; links are not followed."""
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        inside = here.relative_to(root).as_posix()
        if inside.startswith(but):
            folders.clear()
            # An empty staging folder is not a trace.
            found |= {f"{inside}/{name}": "left" for name in files if inside.endswith("staging")}
            continue
        for name in (*folders, *files):
            path = here / name
            status = path.lstat()
            content = ""
            if path.is_symlink():
                content = os.fsencode(path.readlink()).hex()
            elif path.is_file() and status.st_size < 1 << 22:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path.is_file():
                content = str(status.st_mtime_ns)
            found[os.fsencode(path.relative_to(root)).hex()] = f"{status.st_mode:o} {content}"
    return found


def check_bounds(outcome: Outcome) -> None:
    """Check what holds for every input: bounds, no traceback, nothing that controls a terminal."""
    assert outcome.code >= 0, f"killed by signal {-outcome.code}: it hung or crashed\n{outcome}"
    assert "Traceback" not in outcome.err, outcome
    assert "internal error" not in outcome.err, outcome
    shown = (outcome.out + outcome.err).replace("\n", "").replace("\t", "")
    assert shown.isprintable(), ascii(shown)
    assert outcome.cpu < CPU_SECONDS, outcome
    assert outcome.memory < MEMORY_BYTES, outcome


def check_refused(outcome: Outcome, words: str) -> None:
    """Check for one clear line, with the next step after it, and nothing on stdout."""
    check_bounds(outcome)
    assert outcome.code == 1, outcome
    assert outcome.out == "", outcome
    lines = [line for line in outcome.err.splitlines() if not line.startswith("licence: ")]
    message, *hints = lines
    assert message.startswith("cudaswitch: "), outcome
    assert words in message, outcome
    assert not message.endswith("."), outcome
    assert len(message) < 1000, outcome
    assert all(line.startswith("hint: ") for line in hints), outcome
    assert len(hints) <= 1, outcome
