"""One operation, tried with one fault after another: what must hold after each."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cudaswitch.paths import FINGERPRINT
from faults.changing_commands import Operation, World
from faults.runner import Act, Ran

_TEMPORARY = re.compile(r"\..+\.([0-9a-f]{8}|lock)\.tmp")
_DATE = re.compile(rb'"(?:date|left)": "[^"]*"')
_TOKEN = re.compile(r"/set-aside/[^/]+")
_FOLDERS = re.compile(r"store/(packages|toolkits)/[^/]+")
"""Folders that appear and disappear as a whole."""
_PLACE = re.compile(r"`[^`]+`")

State = Mapping[str, str]


def state_of(root: Path) -> tuple[dict[str, str], list[str]]:
    """Describe a world, and list what a killed run has left in it.

    Locks, downloads and dates are not part of it.
    """
    found: dict[str, str] = {}
    left: list[str] = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith(("store/locks", "home/xdg-cache")):
            if path.name.startswith("work-"):
                left.append(name)
        elif name.startswith("store/.staging/"):
            left += [name] if name.count("/") == 2 else []  # store, .staging, it
        elif _TEMPORARY.fullmatch(path.name):
            left.append(name)
        elif path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            content = _DATE.sub(b"", path.read_bytes())
            mode = f"{path.stat().st_mode:o}"
            found[_TOKEN.sub("/set-aside", name)] = f"{mode} {hashlib.sha256(content).hexdigest()}"
    return found, left


def units(state: State) -> dict[str, dict[str, str]]:
    """Group a state by what appears and disappears as a whole: folders of the store, and files."""
    found: dict[str, dict[str, str]] = {}
    for name, text in state.items():
        match = _FOLDERS.match(name)
        found.setdefault(match[0] if match else name, {})[name] = text
    return found


@dataclass
class Trial:
    """An operation in its world, which is restored before each run."""

    operation: Operation
    world: World
    before: dict[str, str] = field(init=False)
    after: dict[str, str] = field(init=False)
    calls: list[str] = field(init=False)
    seconds: float = field(init=False)
    _usable: set[object] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.operation.before(self.world)
        self._kept = self.world.root.with_name("kept")
        shutil.rmtree(self._kept, ignore_errors=True)
        subprocess.run(["cp", "-a", self.world.root, self._kept], check=True)
        self.before, self._left = state_of(self.world.root)
        done = self.run()
        assert done.code == 0, done.shown
        self.seconds = done.seconds
        self.restore()
        done = self.run(act="count")
        assert done.code == 0, done.shown
        self.seconds = min(self.seconds, done.seconds)
        self.calls = done.calls
        self.after, left = state_of(self.world.root)
        assert not left, f"a run without a fault leaves {left}"

    def restore(self) -> None:
        shutil.rmtree(self.world.root)
        subprocess.run(["cp", "-a", self._kept, self.world.root], check=True)

    def run(
        self, act: Act = "run", at: int = 0, errno: int = 0, kill_after: float | None = None
    ) -> Ran:
        command = self.operation.command(self.world)
        return self.world.run(*command, act=act, at=at, errno=errno, kill_after=kill_after)

    def killed(self, at: int = 0, kill_after: float | None = None) -> bool:
        """Kill a run at one call, or after some seconds, and check all that must hold.

        Returns False if it ended before that, and is faster than was known.
        """
        self.restore()
        done = self.run("kill" if at else "run", at, kill_after=kill_after)
        if done.code != -9:
            assert done.code == 0, done.shown
            self.seconds = min(self.seconds, done.seconds)
            return False
        state, left = state_of(self.world.root)
        self._is_made_of_wholes(state, done)
        self._can_be_used(state, left, done)
        self._ends_right(done)
        return True

    def failed(self, act: Act, at: int, errno: int = 0) -> Ran:
        """Let one call fail, or all from it on, and check all that must hold."""
        self.restore()
        done = self.run(act, at, errno)
        state, left = state_of(self.world.root)
        if done.code == 0:
            self._is_one_of_both(state, done, self.after)
        else:
            self._is_refused_clearly(done)
            self._is_one_of_both(state, done, *([self.before] if self.operation.undone else []))
        removing = done.calls and done.calls[0].split()[1] in ("unlink", "rmdir")
        left = [name for name in left if name not in self._left]
        assert not left or removing or act == "fill", f"{left} are left\n{done.shown}"
        self._can_be_used(state, left, done)
        self._ends_right(done)
        return done

    def _is_refused_clearly(self, done: Ran) -> None:
        lines = done.err.splitlines()
        said = [line for line in lines if line.startswith("cudaswitch: ")]
        assert said, done.shown
        assert done.code == 1, done.shown
        assert any(map(_PLACE.search, said)), f"it names no path\n{done.shown}"
        assert "Traceback" not in done.err, done.shown
        assert "internal error" not in done.err, done.shown

    def _is_one_of_both(self, state: State, done: Ran, *wanted: State) -> None:
        """Check that all is as before or after (or as in `wanted`), and so is each step by itself.

        A store is made as the first step, and may be empty. An answer may be missing: one that
        cannot be restored is removed.
        """
        steps = ("store/layout", "store/requests/", *self.operation.steps)
        mine, *theirs = (
            {name: text for name, text in one.items() if not name.startswith(steps)}
            for one in (state, *(wanted or (self.before, self.after)))
        )
        assert mine in theirs, self._told(done, mine, *theirs)
        for name in state.keys() | self.before.keys() | self.after.keys():
            allowed = {self.before.get(name), self.after.get(name)}
            if name.startswith("store/requests/"):
                allowed.add(None)
            assert state.get(name) in allowed, f"{name}\n{done.shown}"
        answers = {
            name: (self.world.root / name).read_text().strip().partition(":")[0]
            for name in state
            if name.startswith("store/requests/") and not name.endswith(FINGERPRINT)
        }
        wrong = {name: text for name, text in answers.items() if not Path(text).is_dir()}
        assert not wrong, f"{wrong}\n{done.shown}"

    def _is_made_of_wholes(self, state: State, done: Ran) -> None:
        group = units if "repair" not in self.operation.name else dict
        now, before, after = group(state), group(self.before), group(self.after)
        for name in now.keys() | before.keys() | after.keys():
            assert now.get(name) in (before.get(name), after.get(name)), f"{name}\n{done.shown}"

    def _can_be_used(self, state: State, left: Sequence[str], done: Ran) -> None:
        """Check that commands that read work, toolkits are whole, and shells start and activate.

        A state that has been checked is not checked again.
        """
        known = frozenset(state.items()), len(left)
        if known in self._usable:
            return
        self._usable.add(known)
        if (self.world.home.store / "layout").exists():
            listed = self.world.run("list")
            assert listed.code == 0, f"{done.shown}\n{listed.shown}"
            if "repair" not in self.operation.name:
                verified = self.world.run("verify")
                assert verified.code == 0, f"{done.shown}\n{verified.shown}"
        script = "set -e\n"
        if (self.world.home.path / ".bashrc").exists():
            script += '. "$HOME/.bashrc"\n'
        if self.world.env.exists():
            script += (
                f'. "{self.world.env}/bin/activate"\n'
                'test -z "${CUDA_HOME:-}" || test -d "$CUDA_HOME/lib64"\ndeactivate\n'
                'test -z "${CUDA_HOME:-}"\n'
            )
        shell = subprocess.run(
            ["bash", "--norc", "-c", script], env=self.world.home.env, cwd=self.world.project,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        # A hook whose toolkit is gone says so; a shell whose program works says nothing.
        said = [line for line in shell.stderr.splitlines() if "is gone" not in line]
        assert (shell.returncode, said) == (0, []), f"{done.shown}\n{shell.stderr}"

    def _ends_right(self, done: Ran) -> None:
        """Check that the same command, run again, does its work and clears away what was left."""
        again = self.run()
        settled = self.operation.settled
        if settled is not None and settled in again.err:
            # The first run had done it all; the next command that writes clears away the rest.
            self.world.ran("install", self.world.pair[0])
        else:
            assert again.code == 0, f"{done.shown}\nagain: {again.shown}"
        state, left = state_of(self.world.root)
        assert state == self.after, self._told(done, state, self.after)
        assert not left, f"{left} are left\n{done.shown}\nagain: {again.shown}"

    @staticmethod
    def _told(done: Ran, state: State, *wanted: State) -> str:
        told = [done.shown]
        for one in wanted:
            names = sorted(
                name for name in state.keys() | one.keys() if state.get(name) != one.get(name)
            )
            told.append(f"differs in {len(names)}: {names[:8]}")
        return "\n".join(told)
