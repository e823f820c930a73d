"""Pins: written for environments, directories and the user, and kept up to date."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from cudaswitch import automatic
from cudaswitch.activation import Want
from cudaswitch.decision import VERSION_FILE, Decision, answer
from cudaswitch.durable import write_all, write_atomically
from cudaswitch.environments import Environment, environment_at, read_request
from cudaswitch.errors import CudaswitchError, StoreError
from cudaswitch.holders import records
from cudaswitch.hooks import left_behind, pin_text, remove_pin, write_pin
from cudaswitch.paths import home
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request


def pin_environment(environment: Environment, request: Request) -> Decision:
    """Pin an environment to a request."""
    seen = time.time_ns()
    decision = answer(request, environment)
    with _registered(environment.pin_file, decision.want.home):
        write_pin(environment, request, decision.want, seen)
    return decision


def pin_file(path: Path, request: Request) -> Toolkit | None:
    """Pin a directory (its `.cuda-version`) or the user to a request."""
    kit = None if request.text == "auto" else answer(request).toolkit
    try:
        with _registered(path, None):
            write_atomically(path, pin_text(request))
    except OSError as error:
        raise StoreError(
            f"cannot write `{path}`: {error.strerror}", "pin a directory that you may write"
        ) from None
    return kit


def wanted_by(environment: Environment) -> Want | None:
    """Return what an environment asks for, now that its packages have changed.

    An environment that is pinned to `auto` gets its hooks written anew; where that cannot be
    its hooks stay as they are, and are not looked at again before the next change.
    """
    if not environment.pin_file.exists():
        found = automatic.recall(environment)
        if found.refusal:
            raise found.refusal
        return Want(found.path) if found.path else None
    request = read_request(environment.pin_file)
    try:
        return pin_environment(environment, request).want
    except CudaswitchError:
        with contextlib.suppress(OSError):
            os.utime(environment.want_file)
        raise


def unpin_environment(environment: Environment) -> bool:
    """Take an environment's pin away; False when it had none.

    Where hooks stay for shells that are in it now, so does the record: `gc` finds them by it,
    and sees by its time since when nobody new comes to need them.
    """
    removed = remove_pin(environment)
    if left_behind(environment):
        _register(environment.pin_file, None)
    else:
        _record_of(environment.pin_file).unlink(missing_ok=True)
    return removed


def unpin_file(path: Path) -> bool:
    """Take a directory's or the user's pin away; False when there was none."""
    _record_of(path).unlink(missing_ok=True)
    if not path.is_file():
        return False
    path.unlink()
    return True


def directory_pin(folder: Path) -> Path:
    """Return the version file of a directory tree."""
    return folder / VERSION_FILE


def refresh() -> None:
    """Bring hooks and kept answers up to date after a change of what is installed.

    A pin is a request: `10.1` means the newest 10.1 installed, with the newest cuDNN. A
    hook that cannot be rewritten, or has no answer any more, stays as it is.
    """
    automatic.forget()
    for record in records():
        if record.hooked is None:
            continue
        with contextlib.suppress(CudaswitchError):
            environment = environment_at(record.path.parent.parent.parent)
            request = read_request(record.path)
            seen = time.time_ns()
            want = answer(request, environment).want
            if record.hooked != want.home:
                with _registered(record.path, want.home):
                    write_pin(environment, request, want, seen)


def _record_of(path: Path) -> Path:
    return home().pins / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _register(path: Path, hooked: str | None) -> None:
    home().require_writable()
    text = json.dumps({"path": str(path), "hooked": hooked})
    try:
        write_atomically(_record_of(path), text + "\n")
    except OSError as error:
        raise StoreError(
            f"cannot write `{error.filename}`: {error.strerror}",
            "make room there, or set CUDASWITCH_HOME to a folder that you may write",
        ) from None


@contextlib.contextmanager
def _registered(path: Path, hooked: str | None) -> Iterator[None]:
    """Note a pin before it is written: a pin that nobody knows of would hold no toolkit."""
    record = _record_of(path)
    before = record.read_bytes() if record.exists() else None
    _register(path, hooked)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            write_all({record: before})
        raise
