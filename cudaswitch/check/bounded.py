"""Child processes with a time limit, after which the child's whole process group is ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cudaswitch.errors import printable, without_escapes

_NOT_STARTED = 127
"""What shells return for a command that does not exist."""
_PAUSE = 1.0
"""Seconds to wait for an ended child's output: a process that left its group may hold the pipe."""

_NAMES = {int(number): number.name for number in signal.Signals}
"""Signal number → name; real-time signals have none."""


class Done(NamedTuple):
    """How a child ended. `code` is negative for a signal, None if the time was up."""

    code: int | None
    out: str
    err: str
    seconds: float

    @property
    def ended(self) -> str | None:
        """Say how the child was ended; None if it ended by itself."""
        if self.code is None:
            return f"gave no answer in {self.seconds:.0f} s"
        if self.code < 0:
            return f"crashed ({_NAMES.get(-self.code, f'signal {-self.code}')})"
        return None

    @property
    def trouble(self) -> str:
        """Say why the child failed: how it was ended, else the most telling line of its output."""
        lines = [line.strip() for line in f"{self.out}\n{self.err}".splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
        said = printable((telling or lines[-1:] or ["it printed nothing"])[0])
        return self.ended or said


_running: set[subprocess.Popen[bytes]] = set()
"""The children of all threads."""


def end_all() -> None:
    """End the children of all threads."""
    for child in list(_running):
        _end(child)


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, seconds: float
) -> Done:
    """Run a command in `folder` for at most `seconds`, after which its process group is ended.

    A process that began a session of its own goes on, and is not waited for. A command that cannot
    be started counts as failed, as in a shell, and `err` says why.
    """
    try:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Done(_NOT_STARTED, "", f"cannot run `{command[0]}`: {error.strerror}", seconds)
    code: int | None = None
    _running.add(child)
    with child:
        try:
            out, err = child.communicate(timeout=seconds)
            code = child.returncode
        except subprocess.TimeoutExpired:
            _end(child)
            out, err = _said(child)
        except BaseException:
            _end(child)
            raise
        finally:
            _running.discard(child)
    return Done(code, _plain(out), _plain(err), seconds)


def _plain(said: bytes) -> str:
    """Return what was printed without the colours that FORCE_COLOR and the like bring."""
    return without_escapes(said.decode("utf-8", "replace"))


def _said(ended: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        return ended.communicate(timeout=_PAUSE)
    except subprocess.TimeoutExpired as late:
        return late.output or b"", late.stderr or b""


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        child.kill()
