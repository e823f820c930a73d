"""Who pins what: the pins that were written and are still there."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cudaswitch.decision import answer, toolkit_at
from cudaswitch.environments import environment_at, known_environments, read_request
from cudaswitch.errors import CudaswitchError
from cudaswitch.paths import home


class Record(NamedTuple):
    """A pin that was written: its file, and for hooks the toolkit's path baked into them."""

    path: Path
    hooked: str | None

    @property
    def shown(self) -> str:
        if self.hooked is not None:
            return str(self.path.parent.parent.parent)
        return "you (--global)" if self.path == home().global_pin else str(self.path)


def holders() -> dict[str, list[str]]:
    """Map the paths of toolkits to those who pin them: environments, directories, the user."""
    found: dict[str, list[str]] = {}
    for record in records():
        with contextlib.suppress(CudaswitchError):
            path = record.hooked or answer(read_request(record.path)).want.home
            found.setdefault(path, []).append(record.shown)
    return found


def records() -> list[Record]:
    """List the pins that are still there; an environment that was removed pins nothing.

    A copy of an environment (`conda create --clone`, `conda rename`) has the pin and the hooks of
    the original, and no note of ours: those that conda knows are found by that.
    """
    records = []
    for file in sorted(home().pins.glob("[!.]*")):
        # A damaged note is as good as none: what counts is the pin itself, where it is.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            row = json.loads(file.read_text(encoding="utf-8"))
            records.append(Record(Path(row["path"]), row["hooked"]))
    there = [record for record in records if may_pin(record.path)]
    return [*there, *_copied([record.path for record in there])]


def may_pin(path: Path) -> bool:
    """Tell whether a pin is there, or in a folder that is closed to us now."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        return isinstance(error, PermissionError)


def _copied(noted: Iterable[Path]) -> Iterator[Record]:
    seen = {os.path.realpath(path) for path in noted}
    for prefix in known_environments(os.environ):
        with contextlib.suppress(CudaswitchError, OSError):
            environment = environment_at(prefix)
            file = environment.pin_file
            real = os.path.realpath(file)
            if real in seen:
                continue
            seen.add(real)
            read_request(file)  # that of somebody else is none of ours
            want = environment.want_kept()
            if want and toolkit_at(want.home):
                yield Record(file, want.home)
