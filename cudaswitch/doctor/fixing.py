"""What `--fix` does by itself: shown first, done on consent, and each can be undone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cudaswitch import shells, startup
from cudaswitch.doctor.model import Aside, Install, LinesOut, Repin, Safe, WrapKernel
from cudaswitch.environments import environment_at, pin_of
from cudaswitch.errors import StoreError, hint_for
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import program
from cudaswitch.pins import pin_environment


class Step(NamedTuple):
    """One thing to do: what to show first, and the function that does it and reports in words."""

    shown: list[str]
    do: Callable[[], str]


def steps(safe: Safe) -> Step:
    """Work out what a safe fix does.

    Both this and doing it raise StoreError for a file that may not be edited.
    """
    with _one_refusal():
        step = _step(safe)

    def do() -> str:
        with _one_refusal():
            return step.do()

    return Step(step.shown, do)


@contextmanager
def _one_refusal() -> Iterator[None]:
    """Make an OSError the failure of this fix alone: others are still to be done."""
    try:
        yield
    except OSError as error:
        where = f" (`{error.filename}`)" if error.filename else ""
        raise StoreError(
            f"cannot fix it: {error.strerror}{where}",
            hint_for(error, "check who can write there"),
        ) from None


def _step(safe: Safe) -> Step:
    if isinstance(safe, LinesOut):
        return _edit(Path(safe.file), lambda text: _without_lines(text, safe))
    if isinstance(safe, WrapKernel):
        return _edit(Path(safe.file), lambda text: _wrapped(text, safe))
    if isinstance(safe, Aside):
        file = Path(safe.file)
        shown = [f"move {file} to {_backup(file)}"]
        return Step(shown, lambda: f"moved to {file.rename(_backup(file))}")
    if isinstance(safe, Repin):
        return Step([f"rewrite the hooks of {safe.prefix}"], lambda: _repin(safe))
    return _install(safe)


def _edit(path: Path, change: Callable[[bytes], bytes]) -> Step:
    edit = startup.editing(path, change)

    def do() -> str:
        backup = _backup(edit.target)
        shutil.copy2(edit.target, backup)
        startup.apply(edit)
        return f"changed `{path}`, and kept the old one as `{backup}`"

    return Step(edit.shown(), do)


def _backup(path: Path) -> Path:
    """Name a copy beside a file that overwrites no other."""
    numbers = ("", *range(2, 1000))
    names = (path.with_name(f"{path.name}.bak{number}") for number in numbers)
    free = next((name for name in names if not os.path.lexists(name)), None)
    if free is None:
        raise StoreError(f"`{path}` already has a thousand backups", "remove them")
    return free


def _without_lines(text: bytes, safe: LinesOut) -> bytes:
    lines: list[bytes | None] = [*text.split(b"\n")]
    for number, (was, then) in safe.lines.items():
        if lines[number - 1 : number] != [was.encode()]:
            raise StoreError(f"`{safe.file}` was changed in the meantime", "run the command again")
        lines[number - 1] = None if then is None else then.encode()
    return b"\n".join(line for line in lines if line is not None)


def _wrapped(text: bytes, safe: WrapKernel) -> bytes:
    """Start a kernel through `exec`, which reads its environment's pin each time."""
    try:
        spec: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise StoreError(f"`{safe.file}` is not valid JSON", "register the kernel again") from None
    spec["argv"] = [program(), "exec", "--", *spec["argv"]]
    return (json.dumps(spec, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def _repin(safe: Repin) -> str:
    environment = environment_at(Path(safe.prefix))
    pin_environment(environment, pin_of(environment))
    return f"rewrote the hooks of `{safe.prefix}`: activate it again"


def _install(safe: Install) -> Step:
    row = shells.shell_named(safe.shell)
    edit = startup.installing(row, os.environ)

    def do() -> str:
        ready = startup.install(row, edit)
        return f"`{edit.path}` loads `{ready}` in every new {row.name}"

    return Step(edit.shown() or [f"rewrite the file that {edit.path} loads"], do)
