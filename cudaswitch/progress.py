"""A bar on a terminal for what takes long."""

from __future__ import annotations

from threading import RLock
from typing import NoReturn

from tqdm import tqdm

_SHAPE = "{l_bar}{bar}| {n_fmt}/{total_fmt}{unit} [{elapsed}<{remaining}, {rate_fmt}]"
"""tqdm's usual one, and the unit of the sizes. Where no total is known, its usual one has that."""

# tqdm's own lock is for several processes, and Python 3.14 starts one for it.
tqdm.set_lock(RLock())
# tqdm's thread redraws bars that are drawn too seldom, which those with `miniters=1` never are. If
# no thread can be started, tqdm would warn.
tqdm.monitor_interval = 0


def bar(what: str, total: int | None, *, done: int = 0, show: bool = True) -> tqdm[NoReturn]:
    """Return a bar on stderr over `total` bytes, if that is known, of which `done` are done.

    It is a context manager, and gone from the terminal after it. Without `show`, it shows nothing.
    """
    return tqdm(
        desc=what, total=total, initial=done, disable=not show,
        unit="iB", unit_scale=True, unit_divisor=1024, leave=False, miniters=1,
        bar_format=_SHAPE if total else None,
    )  # fmt: skip
