"""Several files at once: the first failure ends them all, and what has arrived is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeVar

from cudaswitch import settings
from cudaswitch.download.access import ANYBODY, GRACE, Access
from cudaswitch.download.fetching import fetch

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class WantedFile:
    """A file as an index describes it: sha256 in hex, size in bytes. Both are enforced.

    `size` is None if the index states none.
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

    def one(each: WantedFile, stop: Event) -> Path:
        return fetch(
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

    return at_once(one, wanted, settings.value("jobs"))


def at_once(
    work: Callable[[_Asked, Event], _Answer], todo: Sequence[_Asked], most: int
) -> list[_Answer]:
    """Return what `work` returns for each item, in their order; `most` run at a time.

    The first failure is raised, and ends them all, by setting the event that each was given.
    """
    waiting: SimpleQueue[tuple[int, _Asked]] = SimpleQueue()
    done: SimpleQueue[tuple[int, _Answer] | Exception] = SimpleQueue()
    stop = Event()
    for numbered in enumerate(todo):
        waiting.put(numbered)

    def run() -> None:
        while not stop.is_set():
            try:
                number, each = waiting.get_nowait()
                done.put((number, work(each, stop)))
            except Empty:
                return
            except Exception as error:  # raised in the caller's thread
                done.put(error)

    # Daemons: neither an interrupt nor a failure waits for a server that has stopped talking.
    threads = [Thread(target=run, daemon=True) for _ in range(min(most, len(todo)))]
    for thread in threads:
        thread.start()
    answers: dict[int, _Answer] = {}
    try:
        for _ in todo:
            number, answer = _unless_failed(done.get())
            answers[number] = answer
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join(GRACE)
        raise
    return [answers[number] for number in range(len(todo))]


def _unless_failed(got: tuple[int, _Answer] | Exception) -> tuple[int, _Answer]:
    if isinstance(got, Exception):
        raise got
    return got
