"""Every folder we own, from one root, and where the command itself is."""

from __future__ import annotations

import os
import sys

from cudaswitch import settings
from cudaswitch.errors import StoreError
from cudaswitch.platforms import expanded, user_folder
from cudaswitch.regular import opening

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    Identity = tuple[int, int] | str


MANIFEST = "cudaswitch.json"
"""The record in a toolkit's or package's folder; a folder without one does not count."""
CONTENTS = "cudaswitch-files.json"
"""The list of a toolkit's files (see `contents`), beside its record."""
FINGERPRINT = ".fingerprint"
"""A digest of what is offered, beside the ready answers: when it changes, shells ask again."""


class _Place:
    """A file or folder of a store, as a Path; code that only reads joins strings (`Home.at`)."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __get__(self, home: Home, owner: type[Home]) -> Path:
        from pathlib import Path  # noqa: PLC0415  # slow to load

        return Path(home.folder, *self._names)


class Home:
    """A store's folders; `folder` is the store's own. Creating it touches nothing on disk."""

    root = _Place()
    packages = _Place("packages")
    toolkits = _Place("toolkits")
    aliases = _Place("aliases")
    requests = _Place("requests")
    automatic = _Place("auto")
    lent = _Place("lent")
    pins = _Place("pins")
    shims = _Place("shims")
    init = _Place("init")
    staging = _Place(".staging")
    locks = _Place("locks")
    set_aside = _Place("set-aside")
    global_pin = _Place("global")
    layout = _Place("layout")

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def at(self, *names: str) -> str:
        """Return the path of something in the store, as a text."""
        return os.path.join(self.folder, *names)


def home() -> Home:
    """Return the user's own store: CUDASWITCH_HOME, else the platform's user data folder."""
    chosen = os.environ.get("CUDASWITCH_HOME")
    return Home(expanded(chosen or user_folder("data")))


def stores() -> list[Home]:
    """Return all stores in order: the user's own, then the shared ones (setting `stores`).

    Each comes once, even if several links lead to it.
    """
    found: dict[str, Home] = {}
    for each in (home(), *(Home(expanded(path)) for path in settings.value("stores"))):
        found.setdefault(os.path.realpath(each.folder), each)
    return list(found.values())


def cache() -> Path:
    """Return the folder of downloads: the setting `cache`, else the platform's cache folder."""
    from pathlib import Path  # noqa: PLC0415  # only installs need it

    return Path(expanded(settings.value("cache") or user_folder("cache")))


def real_path(path: str) -> str:
    """Return a path with links resolved; unchanged if it has no bytes: JSON may say anything."""
    try:
        return os.path.realpath(path)
    except UnicodeEncodeError:
        return path


def identity(path: str) -> Identity:
    """Return what all names of a folder have in common, be they links or bind mounts."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return real_path(path)
    return status.st_dev, status.st_ino


def program() -> str:
    """Return the command's absolute path, which is valid whatever PATH is."""
    from pathlib import Path  # noqa: PLC0415  # slow to load, and few ask

    called = Path(sys.argv[0]).absolute()
    if called.name == "cudaswitch" and os.access(called, os.X_OK):
        return str(called)
    import sysconfig  # noqa: PLC0415  # only `python -m cudaswitch` needs it

    return str(Path(sysconfig.get_path("scripts"), "cudaswitch"))


def listed(folder: str | PathLike[str]) -> list[str]:
    """List what is in one of our folders, by name; a missing folder is empty.

    Raises StoreError if it cannot be read.
    """
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        at = first_there(folder)
        if isinstance(error, NotADirectoryError):
            why, hint = (
                f"`{at}` is not a folder",
                "move it away, or set CUDASWITCH_HOME to a folder",
            )
        else:
            why, hint = str(error.strerror), opening(at, "check who owns it", "u+rwx")
        raise StoreError(f"cannot read `{folder}`: {why}", hint) from None


def first_there(path: str | PathLike[str]) -> str:
    """Return the path, or the nearest above it that can be seen: a file, or a closed folder."""
    at = os.path.abspath(path)
    while not os.path.lexists(at):
        at = os.path.dirname(at)
    return at
