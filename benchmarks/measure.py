"""Measuring what a shell does: loops minus an empty loop, processor and wall time, system calls.

A loop is a script for a shell that is started anew, so the kernel's own account of the process
and of all its children is exact to the microsecond, in every shell alike. What the same script
takes with another body in the loop, usually `:`, is subtracted; and of each, what it takes with
few rounds, so that neither the start of the shell nor what only a first round does counts.
"""

from __future__ import annotations

import os
import pty
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_POSIX = "i=0; while [ $i -lt {rounds} ]; do i=$((i+1))\n{body}\ndone\n"
_FISH = "for i in (seq {rounds})\n{body}\nend\n"
# zsh has its line editor only in an interactive shell.
_ZLE = "zle-line-init() {{\n" + _POSIX + "exit\n}}\nzle -N zle-line-init\n"

SHELLS: dict[str, tuple[tuple[str, ...], str]] = {
    "bash": (("bash", "--noprofile", "--norc"), _POSIX),
    "zsh": (("zsh", "-f"), _POSIX),
    "dash": (("dash",), _POSIX),
    "fish": (("fish", "--no-config"), _FISH),
    "zle": (("zsh", "-i"), _ZLE),
}
"""How each shell is started, and how it spells a loop; `zle` is zsh at a terminal."""

_FORKS = ("fork", "vfork", "clone", "clone3")
_EXECS = ("execve", "execveat")
_FEW = 2
_BUDGET = 0.25
_MOST_ROUNDS = 20_000


@dataclass(frozen=True)
class Loop:
    """A body that is run over and over in a shell, and the `empty` body that is subtracted.

    `per` is the number of operations in one round of the body, `proof` a test that holds after it.
    """

    shell: str
    body: str
    setup: str = ""
    empty: str = ":"
    proof: str = ":"
    per: int = 1
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What one operation costs; times in microseconds, instructions in thousands.

    Counts are None without their tool.
    """

    cpu: float
    wall: float
    forks: float | None = None
    execs: float | None = None
    calls: float | None = None
    instructions: float | None = None


class Bench:
    """Runs loops in the environment `variables`, from the folder `cwd`.

    `valgrind` counts instructions, which takes fifty times as long.
    """

    def __init__(self, variables: Mapping[str, str], cwd: Path, valgrind: str = "") -> None:
        self._valgrind = valgrind
        self._variables = variables
        self._cwd = cwd
        self._strace = shutil.which("strace")
        shells = dict.fromkeys(start[0] for start, _ in SHELLS.values())
        self.missing = [name for name in shells if not shutil.which(name, path=variables["PATH"])]

    def measure(self, loops: Mapping[str, Loop], times: int) -> dict[str, list[Cost]]:
        """Run all loops in turn, `times` times over; the first cost of each has the counts."""
        sizes = {name: self._size(loop) for name, loop in loops.items()}
        found: dict[str, list[Cost]] = {name: [] for name in loops}
        for _ in range(times):
            for name, loop in loops.items():
                counts = () if found[name] else (*self._counts(loop), self._instructions(loop))
                cpu, wall = self._difference(loop, sizes[name])
                found[name].append(Cost(cpu, wall, *counts))
        return found

    def can_run(self, loop: Loop) -> bool:
        """Tell whether the loop's shell is on this machine."""
        return SHELLS[loop.shell][0][0] not in self.missing

    def check(self, loop: Loop) -> str:
        """Run the body once; if it failed, or its proof does, return what it said in one line."""
        body = f"{loop.body} || exit 99" if "\n" not in loop.body else loop.body
        body += f"\n{loop.proof} || exit 98"
        with tempfile.TemporaryDirectory() as folder:
            argv, env = self._script(loop, body, 1, Path(folder))
            if loop.shell == "zle":
                return ""
            done = subprocess.run(
                argv, env=env, cwd=self._cwd, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, errors="replace", check=False,
            )  # fmt: skip
        if not done.returncode:
            return ""
        said = done.stderr.strip().partition("\n")[0] or "it did not do what it was to do"
        return f"exit status {done.returncode}: {said}"

    def _size(self, loop: Loop) -> int:
        rounds = 1
        while True:
            took = self._difference(loop, rounds)[0] * rounds * loop.per / 1e6
            if took > _BUDGET / 5 or rounds >= _MOST_ROUNDS:
                return max(2, min(_MOST_ROUNDS, int(_BUDGET * rounds / max(took, 1e-6))))
            rounds *= 10

    def _difference(self, loop: Loop, rounds: int) -> tuple[float, float]:
        full, empty = (self._further(loop, body, rounds) for body in (loop.body, loop.empty))
        scale = 1e6 / (rounds * loop.per)
        return (full[0] - empty[0]) * scale, (full[1] - empty[1]) * scale

    def _further(self, loop: Loop, body: str, rounds: int) -> tuple[float, float]:
        """Return the seconds of `rounds` after the first few."""
        all_of_them, few = (self._run(loop, body, n) for n in (_FEW + rounds, _FEW))
        return all_of_them[0] - few[0], all_of_them[1] - few[1]

    def _script(
        self, loop: Loop, body: str, rounds: int, folder: Path
    ) -> tuple[list[str], dict[str, str]]:
        start, template = SHELLS[loop.shell]
        text = f"{loop.setup}\n{template.format(rounds=rounds, body=body)}"
        env = {**self._variables, **loop.variables}
        if loop.shell == "zle":
            (folder / ".zshrc").write_text(text)
            return list(start), env | {"ZDOTDIR": str(folder)}
        (folder / "script").write_text(text)
        return [*start, str(folder / "script")], env

    def _run(
        self, loop: Loop, body: str, rounds: int, before: Sequence[str] = ()
    ) -> tuple[float, float]:
        """Return processor and wall seconds of the whole script and of all its children."""
        with tempfile.TemporaryDirectory() as folder:
            argv, env = self._script(loop, body, rounds, Path(folder))
            argv = [*before, *argv]
            started = time.perf_counter()
            pid = self._at_terminal(argv, env) if loop.shell == "zle" else self._spawn(argv, env)
            _, _, used = os.wait4(pid, 0)
            wall = time.perf_counter() - started
        return used.ru_utime + used.ru_stime, wall

    def _spawn(self, argv: list[str], env: dict[str, str]) -> int:
        process = subprocess.Popen(
            argv, env=env, cwd=self._cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        # `_run` waits for the process itself, to learn what it used.
        process.returncode = 0
        return process.pid

    def _at_terminal(self, argv: list[str], env: dict[str, str]) -> int:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self._cwd)
            os.execvpe(argv[0], argv, env)  # noqa: S606  # the measured process must become it
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:
            pass  # this is how Linux says that the other end has closed
        os.close(terminal)
        return pid

    def _counts(self, loop: Loop) -> tuple[float | None, float | None, float | None]:
        # A line editor whose terminal another process holds waits for ever.
        if not self._strace or loop.shell == "zle":
            return None, None, None
        few, many = (self._calls(loop, loop.body, rounds) for rounds in (_FEW, _FEW + 10))
        few_empty, many_empty = (
            self._calls(loop, loop.empty, rounds) for rounds in (_FEW, _FEW + 10)
        )
        names = {*few, *many, *few_empty, *many_empty}
        extra = {
            name: many.get(name, 0) - few.get(name, 0)
            - many_empty.get(name, 0) + few_empty.get(name, 0)
            for name in names
        }  # fmt: skip
        scale = 10 * loop.per
        return (
            sum(extra.get(name, 0) for name in _FORKS) / scale,
            sum(extra.get(name, 0) for name in _EXECS) / scale,
            sum(extra.values()) / scale,
        )

    def _instructions(self, loop: Loop) -> float | None:
        if not self._valgrind or loop.shell == "zle":
            return None
        full, empty = (
            self._collected(loop, body, _FEW + 10) - self._collected(loop, body, _FEW)
            for body in (loop.body, loop.empty)
        )
        return (full - empty) / (10 * loop.per * 1000)

    def _collected(self, loop: Loop, body: str, rounds: int) -> int:
        with tempfile.TemporaryDirectory() as folder:
            words = [self._valgrind, "--tool=callgrind", "--trace-children=yes"]
            words += [f"--callgrind-out-file={folder}/%p.out", f"--log-file={folder}/%p.log"]
            self._run(loop, body, rounds, words)
            logs = [path.read_text() for path in Path(folder).glob("*.log")]
        return sum(int(log.rpartition("Collected :")[2].split()[0]) for log in logs)

    def _calls(self, loop: Loop, body: str, rounds: int) -> dict[str, int]:
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "calls"
            before = [str(self._strace), "-f", "-c", "-o", str(table)]
            self._run(loop, body, rounds, before)
            rows = [line.split() for line in table.read_text().splitlines()]
        # % time, seconds, usecs/call, calls, errors where there were any, name
        return {
            row[-1]: int(row[3])
            for row in rows
            if len(row) in (5, 6) and row[3].isdigit() and row[-1] != "total"
        }


def median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each time, and the counts."""
    first = costs[0]
    return Cost(
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.wall for cost in costs),
        first.forks,
        first.execs,
        first.calls,
        first.instructions,
    )
