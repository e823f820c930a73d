"""The download cache: files named by their sha256, an index by URL, and parts to resume.

    <sha256>                 a whole file
    urls/<key>.json          what a URL delivered last: its sha256, size, name and validators
    urls/<key>.part          what has arrived of a URL so far, and next to it as .part.json
                             the size and validators under which the server sent it
    urls/<key>.part.ranges   which bytes of the part are there, where it has holes
    urls/<key>.lock          held by the process that writes the part
    urls/<key>-<random>.*    the same for a process that did not get the part, and works alone
    channels/<sha256>-N.json what was read from a channel's index of that hash (sources.repodata)
    seen/, licences/         what `gc` leaves: see `first_use` and sources.licences
    work-*                   a process's working folder, as long as it runs
    in-use                   locked, shared, by each of these processes

`key` is the sha256 of the URL without user and password. Nothing in here holds credentials.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from cudaswitch import settings
from cudaswitch.download.parts import Part, Record, read_record, write_record
from cudaswitch.durable import make_link, write_atomically
from cudaswitch.errors import StoreError, hint_for
from cudaswitch.healing import heal
from cudaswitch.locks import Lock, held
from cudaswitch.ownership import refuse_sudo
from cudaswitch.paths import listed
from cudaswitch.toolkit import is_sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    import hashlib

PIECE = 1 << 20
"""Bytes read and written at once (measured: 1.7 x as fast as 8 KiB)."""

FOLDERS = ("urls", "channels", "seen", "licences")
"""The folders in which a killed run may leave a file that it was writing."""
IN_USE = "in-use"
WORK = "work-"
"""What the names of processes' working folders begin with."""
_POLL = 0.2


def url_key(url: str) -> str:
    """Name a URL in the cache, the same for every user and password."""
    parts = urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")
    from hashlib import sha256  # noqa: PLC0415  # slow to load

    return sha256(bare.geturl().encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Hash a file's content."""
    from hashlib import sha256  # noqa: PLC0415  # the same

    digest = sha256()
    feed(digest, path)
    return digest.hexdigest()


def feed(digest: hashlib._Hash, path: Path) -> None:
    """Hash a file's content into `digest`."""
    with path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE):
            digest.update(piece)


def write_note(path: Path, text: str, *, lasting: bool = True) -> None:
    """Write a small file into the cache, whole or not at all. Raises StoreError."""
    try:
        write_atomically(path, text, lasting=lasting)
    except OSError as error:
        raise StoreError(f"cannot write `{path}`: {error.strerror}") from None


def discard(path: Path, root: Path) -> None:
    """Delete a file of the cache at `root` that proved to be damaged; a file elsewhere stays.

    If its URL is known, the server would only be asked whether that has changed.
    """
    file = path.resolve()
    if file.parent == root.resolve() and is_sha256(file.name):
        with contextlib.suppress(OSError):
            file.unlink()


class Cache:
    """The folder described above. Files of other processes may come and go at any time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.urls = root / "urls"

    def find(self, sha256: str) -> Path | None:
        """Return the whole file with that sha256, hashed again: a cache may rot.

        What cannot be read counts as absent: it is fetched anew, and replaced.
        """
        path = self.root / sha256
        if not os.path.isfile(path):
            return None
        try:
            if file_sha256(path) == sha256:
                return path
        except OSError:
            return None
        path.unlink(missing_ok=True)
        return None

    def known(self, url: str) -> Record | None:
        """Return what `url` delivered last, if its file is still there and sound."""
        record = read_record(self.urls / f"{url_key(url)}.json")
        return record if record is not None and self.find(record.sha256) else None

    def publish(self, part: Part, url: str, record: Record) -> Path:
        """Give a verified part its final name and remember the URL."""
        path = self.root / record.sha256
        part.path.replace(path)
        part.finish()
        write_record(self.urls / f"{url_key(url)}.json", record)
        return path

    def keep(self, path: Path, url: str) -> str:
        """Take in a file that another program has downloaded; return its sha256.

        It is then known by `url`. A link stays in its place. Raises OSError.
        """
        make(self.root)
        self.urls.mkdir(exist_ok=True)
        sha256 = file_sha256(path)
        record = Record(url, path.name, path.stat().st_size, sha256)
        path.replace(self.root / sha256)
        make_link(path, (self.root / sha256).absolute())
        write_record(self.urls / f"{url_key(url)}.json", record)
        return sha256

    def names(self, beginning: str) -> dict[str, str]:
        """Map the names of files that are known by URLs with that beginning to their sha256."""
        files = [self.urls / name for name in listed(self.urls) if name.endswith(".json")]
        known = filter(None, map(read_record, files))
        return {record.name: record.sha256 for record in known if record.url.startswith(beginning)}

    @contextlib.contextmanager
    def claim(self, url: str, patience: float, waiting: Callable[[], None]) -> Iterator[Part]:
        """Give the part of `url` to this process alone.

        A second process waits as long as the first makes progress (`waiting` is called once).
        If there is none for `patience` seconds, or locks do not work, the second process uses
        a part of its own: the lock saves work, correctness never depends on it.
        """
        make(self.root)
        self.urls.mkdir(exist_ok=True)
        shared = Part(self.urls / f"{url_key(url)}.part")
        with Lock(self.urls / f"{url_key(url)}.lock") as lock:
            if _acquire(lock, shared, patience, waiting):
                yield shared
                return
        with self._own_part(url) as own:
            yield own

    @contextlib.contextmanager
    def _own_part(self, url: str) -> Iterator[Part]:
        """Give a part that nobody else writes. Like the shared one, it is kept while locked."""
        key = f"{url_key(url)}-{os.urandom(4).hex()}"
        part, lock_path = Part(self.urls / f"{key}.part"), self.urls / f"{key}.lock"
        with Lock(lock_path) as lock:
            lock.take()
            try:
                yield part
            finally:
                part.drop()
                lock_path.unlink(missing_ok=True)


def _acquire(lock: Lock, part: Part, patience: float, waiting: Callable[[], None]) -> bool:
    """Wait for the lock while its holder makes progress; False if it does not, or locks fail."""
    seen, since = None, time.monotonic()
    while True:
        try:
            if lock.take():
                return lock.works
        except OSError:
            return False
        if seen is None:
            waiting()
        if (sizes := part.sizes) != seen:
            seen, since = sizes, time.monotonic()
        elif time.monotonic() - since > patience:
            return False
        time.sleep(_POLL)


def make(root: Path) -> None:
    """Make the cache, for the user alone, if it does not exist. Raises OSError."""
    refuse_sudo(str(root))
    root.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def workplace(root: Path) -> Iterator[Path]:
    """Give a working folder in the cache; until it is gone, nothing in the cache is collected.

    Working folders of killed runs are removed first, if no other process is at work. Raises
    StoreError if the cache cannot be written.
    """
    import tempfile  # noqa: PLC0415  # slow to load

    patience = float(settings.value("wait"))
    with contextlib.ExitStack() as stack:
        try:
            make(root)
            _heal(root)
            # If locks do not work, `idle` yields False.
            stack.enter_context(held(root / IN_USE, "the download cache", patience, shared=True))
            work = stack.enter_context(
                tempfile.TemporaryDirectory(dir=root, prefix=WORK, ignore_cleanup_errors=True)
            )
        except OSError as error:
            raise unusable(root, error) from None
        yield Path(work)


def unusable(root: Path, error: OSError) -> StoreError:
    """Say that the cache cannot be written."""
    return StoreError(
        f"cannot write the download cache `{root}`: {error.strerror or error}",
        hint_for(error, "set CUDASWITCH_CACHE to a folder that you may write"),
    )


def _heal(root: Path) -> None:
    with contextlib.suppress(OSError), idle(root) as nobody:
        left = [path for path in root.iterdir() if nobody and path.name.startswith(WORK)]
        heal(left)


@contextlib.contextmanager
def idle(root: Path, *, make: bool = True) -> Iterator[bool]:
    """Tell whether no process works in the cache, and keep others from beginning to.

    Without `make`, no lock file is created, and if there was none, nobody is kept out.
    """
    if not os.path.isdir(root):
        yield True
        return
    with Lock(root / IN_USE) as mark:
        try:
            nobody = mark.take(make=make) and mark.works
        except OSError:
            nobody = False
        yield nobody
