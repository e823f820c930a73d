"""Several files at once: the first failure ends them all, and what has arrived is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread

from cudaswitch import settings
from cudaswitch.download.access import ANYBODY, Access
from cudaswitch.download.fetching import fetch

_GRACE = 1.0


@dataclass(frozen=True)
class WantedFile:
    """A file as an index describes it: sha256 in hex, size in bytes. Both are enforced.

    `size` is None where the index states none.
    """

    url: str
    sha256: str
    size: int | None
    access: Access = ANYBODY


def fetch_all(
    wanted: Sequence[WantedFile],
    cache: Path,
    *,
    offline: bool = False,
    limit: int | None = None,
    show: bool | None = None,
) -> list[Path]:
    """Return the files in their order, downloaded as `fetch` does, some at a time.

    Raises what `fetch` raises, for the file that failed first.
    """
    from cudaswitch.download.failures import StoppedError  # noqa: PLC0415  # HTTP is slow to load

    todo: SimpleQueue[WantedFile] = SimpleQueue()
    found: dict[WantedFile, Path] = {}
    failed: list[Exception] = []
    stop = Event()
    for each in wanted:
        todo.put(each)

    def work() -> None:
        while not stop.is_set():
            try:
                each = todo.get_nowait()
                found[each] = fetch(
                    each.url,
                    cache,
                    sha256=each.sha256,
                    size=each.size,
                    limit=limit,
                    offline=offline,
                    show=show,
                    stop=stop,
                    access=each.access,
                )
            except (Empty, StoppedError):
                return
            except Exception as error:  # raised in the caller's thread
                failed.append(error)
                stop.set()

    # Daemons: an interrupt must not wait for a server that has stopped talking.
    count = min(settings.value("jobs"), len(wanted))
    threads = [Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join(_GRACE)
        raise
    if failed:
        raise failed[0]
    return [found[each] for each in wanted]
