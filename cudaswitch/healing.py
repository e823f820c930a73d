"""What killed runs left in a store: found by the locks that they do not hold any more.

Neither age nor process numbers decide, so neither a wrong clock nor another machine on the same
file system can make the work of a running process look abandoned.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from cudaswitch.durable import abandoned
from cudaswitch.locks import Lock
from cudaswitch.paths import Home
from cudaswitch.regular import names_of
from cudaswitch.sweeping import DOOMED, sweep
from cudaswitch.talk import counted, say


def leftovers(
    home: Home, locked: Collection[str] = (), staging: Collection[Path] = (), *, make: bool = True
) -> Iterator[Path]:
    """Yield abandoned paths of a store, each under its lock. The caller holds the store.

    Only the holder of the store composes toolkits and discards folders; only the holder of a
    package's lock unpacks it. `locked` and `staging` are the locks and staged folders of the
    caller. Without `make`, the caller only looks, and no lock file is created.
    """
    for stage in (home.staging / name for name in names_of(home.staging)):
        kind, _, name = stage.name.partition("-")
        name = name.rpartition("-")[0]
        if stage in staging:
            continue
        if kind != "package" or name in locked:
            yield stage
            continue
        with contextlib.suppress(OSError), Lock(home.locks / f"{name}.lock") as lock:
            if lock.take(make=make) and lock.works:
                yield stage
    owners = [
        folder / name for folder in (home.packages, home.toolkits) for name in names_of(folder)
    ]
    yield from filter(is_doomed, owners)
    ours = (home.requests, home.automatic, home.lent, home.pins, home.aliases, home.init)
    for folder in (home.root, *ours, home.shims, *owners):
        yield from abandoned(folder)


def is_doomed(folder: Path) -> bool:
    """Tell whether a folder was being deleted in place, and some of it is left."""
    return os.path.lexists(folder / DOOMED)


def heal(found: Iterable[Path]) -> None:
    """Remove leftovers, and say so in one line."""
    count = 0
    for path in found:
        # What cannot be removed now may be next time.
        with contextlib.suppress(OSError):
            # A process that has created its file, but not locked it yet, creates another one.
            is_told = path.lstat().st_size > 0
            sweep(path)
            count += is_told
    if count:
        say(f"removed {counted(count, 'leftover')} of killed runs")
