"""Which running processes use a toolkit's files, or may be in an environment."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from cudaswitch.shells import ROWS, SAME

_SHELLS = frozenset((*ROWS, *SAME)) - {"cmd"}
_TICKS = os.sysconf("SC_CLK_TCK")


def users_of(folders: Iterable[Path]) -> list[str]:
    """List the processes that run, or have mapped, a file below one of the folders.

    Other users' processes cannot be looked into and are not listed.
    """
    # The kernel reports real paths.
    places = [f"{os.path.realpath(folder)}{os.sep}" for folder in folders]
    users = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mapped = (process / "maps").read_text(encoding="utf-8", errors="replace")
            name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if any(place in mapped for place in places):
            users.append(f"{name} (process {process.name})")
    return sorted(users)


def may_be_in(prefix: Path, since: float) -> list[str]:
    """List the processes that may have been in an environment since before `since`.

    `since` is in seconds since this machine was started. Listed are processes started in the
    environment and, if older than `since`, shells and processes with a terminal: what a shell
    exports after its start, nobody else can see. Of other users, only older shells at a terminal
    are listed: login processes and services are always older.
    """
    entered = {f"{name}={prefix}".encode() for name in ("CONDA_PREFIX", "VIRTUAL_ENV")}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_own = process.stat().st_uid == os.geteuid()
            if process.name == str(os.getpid()):
                continue
            variables = (process / "environ").read_bytes().split(b"\0") if is_own else []
            head, _, tail = (process / "stat").read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        name, fields = head.partition("(")[2], tail.split()
        signs = [fields[4] != "0", name in _SHELLS]
        started = int(fields[19]) / _TICKS
        is_old = (any(signs) if is_own else all(signs)) and started < since
        if is_old or not entered.isdisjoint(variables):
            found.append(f"{name} (process {process.name})")
    return sorted(found)


def moment() -> str:
    """Spell this moment, by the time that the machine has counted since it was started.

    Nobody sets that count, as they set clocks.
    """
    return f"{_boot()} {time.clock_gettime(time.CLOCK_BOOTTIME)}"


def since(noted: object, written: float) -> float:
    """Return the seconds from the start of this machine to a moment `noted` by `moment`.

    If that was before the start, or on another machine, only clocks can tell: `written` is in
    seconds since the epoch.
    """
    boot, _, seconds = str(noted).partition(" ")
    if boot and boot == _boot():
        return float(seconds)
    return written - time.time() + time.clock_gettime(time.CLOCK_BOOTTIME)


def _boot() -> str:
    """Return the kernel's name for the time since this machine's start, "" if it has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
