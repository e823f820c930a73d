"""Every folder we own, from one root, and where the command itself is."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path

from cudaswitch import settings
from cudaswitch.durable import write_atomically
from cudaswitch.errors import StoreError
from cudaswitch.ownership import (
    plain_modes,
    refuse_everybodys,
    refuse_sudo,
    tell_of_everybodys,
)
from cudaswitch.toolkit import refuse_unsafe_path

LAYOUT = "1"
"""Version of the store's layout; a store that says another one is not written to."""


class Home:
    """A store's folders. Creating the object touches nothing on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packages = root / "packages"
        self.toolkits = root / "toolkits"
        self.aliases = root / "aliases"
        self.requests = root / "requests"
        self.automatic = root / "auto"
        self.pins = root / "pins"
        self.shims = root / "shims"
        self.init = root / "init"
        self.staging = root / ".staging"
        self.locks = root / "locks"
        self.set_aside = root / "set-aside"
        self.global_pin = root / "global"
        self.layout = root / "layout"

    @cached_property
    def exists(self) -> bool:
        return self.root.is_dir()

    def require_writable(self) -> None:
        """Make the store's folders, or say in one line why it cannot be written."""
        refuse_unsafe_path(str(self.root))
        refuse_everybodys(self.root)
        tell_of_everybodys(self.root)
        made = (self.packages, self.toolkits, self.requests, self.staging, self.locks)
        try:
            refuse_sudo(self.root)
            with plain_modes(self.root):
                for folder in made:
                    folder.mkdir(parents=True, exist_ok=True)
                if not self.layout.exists():
                    write_atomically(self.layout, LAYOUT + "\n")
            found = self.layout.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise StoreError(
                f"cannot write the store `{self.root}`: {error.strerror}",
                "set CUDASWITCH_HOME to a folder of yours",
            ) from None
        if found != LAYOUT:
            raise StoreError(
                f"the store `{self.root}` has layout {found}, this cudaswitch writes {LAYOUT}",
                "use the newer cudaswitch that made it",
            )


def home() -> Home:
    """Return the person's own store: CUDASWITCH_HOME, else the platform's user data folder."""
    chosen = os.environ.get("CUDASWITCH_HOME")
    if chosen:
        return Home(_folder(chosen))
    if sys.platform == "linux":
        # Every command needs this folder; the library that knows all platforms takes longer to
        # load than most of them to run.
        folder = os.environ.get("XDG_DATA_HOME", "")
        folder = folder if folder.startswith("/") else "~/.local/share"
        return Home(_folder(folder) / "cudaswitch")
    from platformdirs import user_data_path  # noqa: PLC0415  # not needed elsewhere

    return Home(_folder(user_data_path("cudaswitch", appauthor=False)))


def stores() -> list[Home]:
    """Return all stores in order: the person's own, then the shared ones (setting `stores`).

    Each comes once, also where links lead to it.
    """
    found: dict[str, Home] = {}
    for each in (home(), *(Home(_folder(path)) for path in settings.value("stores"))):
        found.setdefault(os.path.realpath(each.root), each)
    return list(found.values())


def cache() -> Path:
    """Return the folder of downloads: the setting `cache`, else the platform's cache folder."""
    chosen = settings.value("cache")
    if chosen:
        return _folder(chosen)
    from platformdirs import user_cache_path  # noqa: PLC0415  # only installs need it

    return _folder(user_cache_path("cudaswitch", appauthor=False))


def _folder(text: str | Path) -> Path:
    expanded = os.path.expanduser(text)
    if expanded.startswith("~"):
        # Otherwise a folder of that name would be made here.
        raise StoreError(f"`{text}`: that home folder is not known", "set HOME, or name it in full")
    return Path(os.path.normpath(Path(expanded).absolute()))


def program() -> str:
    """Return the command's absolute path, good where PATH is another one."""
    called = Path(sys.argv[0]).absolute()
    if called.name == "cudaswitch" and os.access(called, os.X_OK):
        return str(called)
    import sysconfig  # noqa: PLC0415  # only `python -m cudaswitch` needs it

    return str(Path(sysconfig.get_path("scripts")) / "cudaswitch")


def listed(folder: Path) -> list[Path]:
    """List what is in one of our folders, by name; nothing is in one that is not there.

    Raises StoreError where it cannot be read.
    """
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"cannot read `{folder}`: {error.strerror}", "see who owns it") from None
