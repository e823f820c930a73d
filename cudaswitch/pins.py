"""Pins and who holds them: written for environments, directories and the user."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.decision import VERSION_FILE, answer, toolkit_at
from cudaswitch.environments import (
    Environment,
    environment_at,
    pin_text,
    read_request,
    remove_pin,
    write_pin,
)
from cudaswitch.errors import CudaswitchError, StoreError
from cudaswitch.paths import home, write_atomically
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request


@dataclass(frozen=True)
class _Record:
    """A pin that was written: its file, and for hooks the toolkit's path baked into them."""

    path: Path
    hooked: str | None

    @property
    def shown(self) -> str:
        if self.hooked is not None:
            return str(self.path.parent.parent.parent)
        return "you (--global)" if self.path == home().global_pin else str(self.path)


def pin_environment(environment: Environment, request: Request) -> Toolkit | None:
    """Pin an environment to a request; returns the toolkit, None for `system`."""
    decision = answer(request, environment)
    write_pin(environment, request, decision.want)
    _register(environment.pin_file, decision.want.home)
    return decision.toolkit


def pin_file(path: Path, request: Request) -> Toolkit | None:
    """Pin a directory (its `.cuda-version`) or the user to a request."""
    kit = None if request.text == "auto" else answer(request).toolkit
    home().require_writable()
    try:
        write_atomically(path, pin_text(request))
    except OSError as error:
        raise StoreError(
            f"cannot write `{path}`: {error.strerror}", "pin a directory that you may write"
        ) from None
    _register(path, None)
    return kit


def unpin_environment(environment: Environment) -> bool:
    """Take an environment's pin away; False when it had none."""
    _record_of(environment.pin_file).unlink(missing_ok=True)
    return remove_pin(environment)


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


def holders() -> dict[str, list[str]]:
    """Map toolkit names to those who pin them: environments, directories, the user."""
    found: dict[str, list[str]] = {}
    for record in _records():
        with contextlib.suppress(CudaswitchError):
            kit = (
                toolkit_at(record.hooked)
                if record.hooked
                else answer(read_request(record.path)).toolkit
            )
            if kit:
                found.setdefault(kit.name, []).append(record.shown)
    return found


def refresh() -> None:
    """Bring hooks up to date after a change of what is installed.

    A pin is a request: `10.1` means the newest 10.1 installed, with the newest cuDNN. A
    hook that cannot be rewritten, or has no answer any more, stays as it is.
    """
    for record in _records():
        if record.hooked is None:
            continue
        with contextlib.suppress(CudaswitchError):
            environment = environment_at(record.path.parent.parent.parent)
            request = read_request(record.path)
            want = answer(request, environment).want
            if record.hooked != want.home:
                write_pin(environment, request, want)
                _register(record.path, want.home)


def _record_of(path: Path) -> Path:
    return home().pins / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _register(path: Path, hooked: str | None) -> None:
    home().require_writable()
    home().pins.mkdir(exist_ok=True)
    text = json.dumps({"path": str(path), "hooked": hooked})
    write_atomically(_record_of(path), text + "\n")


def _records() -> list[_Record]:
    """List the pins that are still there; an environment that was removed pins nothing."""
    records = []
    for file in sorted(home().pins.glob("[!.]*")):
        # A damaged note is as good as none: what counts is the pin itself, where it is.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            row = json.loads(file.read_text(encoding="utf-8"))
            records.append(_Record(Path(row["path"]), row["hooked"]))
    return [record for record in records if record.path.is_file()]
