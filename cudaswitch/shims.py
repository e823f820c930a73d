"""Shims: one small command per tool that becomes the tool of the toolkit requested there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from cudaswitch import shells, talk
from cudaswitch.changing import own_store
from cudaswitch.durable import write_atomically
from cudaswitch.errors import StoreError
from cudaswitch.ownership import is_another_users
from cudaswitch.paths import Home, program
from cudaswitch.platforms import current_platform
from cudaswitch.programs import is_program
from cudaswitch.shipped import shipped
from cudaswitch.staging import require_writable, writing
from cudaswitch.store import all_toolkits
from cudaswitch.toolkit import Toolkit
from cudaswitch.tools import SHIM_HEADER, is_shim, is_toolkit_tool

MARKER = ".cudaswitch-shims"
"""A folder with this file holds shims, of whichever store; no shim looks for a tool in it."""

_MACHINE_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")


def install() -> list[str]:
    """Make a shim for every tool of the installed toolkits; returns the tools.

    Raises StoreError if others could put commands into the folder.
    """
    store = own_store()
    require_writable(store.home)
    with writing(store.home):
        # Not even group-writable: its files run as whoever has the folder on PATH.
        store.home.shims.mkdir(mode=0o755, exist_ok=True)
    _refuse_foreign_hands(store.home.shims)
    with store.lock("shims"), writing(store.home):
        is_new = not installed()
        try:
            if is_new:
                write_atomically(store.home.shims / MARKER, "")
            seen = [_tools_of(kit) for kit in all_toolkits()]
            wanted = sorted({tool for tools in seen for tool in tools or ()})
            made = [tool for tool in wanted if _written(store.home, tool)]
        except BaseException:
            # The marker goes last: without it, nobody knows that there are shims in the folder.
            new = [*_shims_in(store.home.shims), store.home.shims / MARKER] if is_new else []
            for path in new:
                path.unlink(missing_ok=True)
            raise
        if None not in seen:
            for path in _shims_in(store.home.shims):
                if path.name not in made:
                    path.unlink()
    return made


def refresh() -> None:
    """Bring the shims up to date with what is installed; nothing is done if none were wanted.

    Nor if another member of the store's group has made them: only that user can change them.
    """
    if installed() and not is_another_users(own_store().home.shims):
        install()


def installed() -> bool:
    """Tell whether shims were ever asked for."""
    return os.path.isfile(own_store().home.shims / MARKER)


def text(tool: str, home: Home) -> str:
    """Return the shim of a tool, for a store."""
    values = {
        "_cudaswitch_tool": tool,
        "_cudaswitch_root": str(home.root),
        "_cudaswitch_program": program(),
    }
    assigned = "".join(f"{name}={shells.quote_posix(value)}\n" for name, value in values.items())
    said, launcher = (shells.without_comments(shipped(name)) for name in ("said.sh", "launcher.sh"))
    ready, answers = shells.answers()
    return SHIM_HEADER + assigned + ready + said + answers + launcher


def _tools_of(kit: Toolkit) -> list[str] | None:
    """List the tools of a toolkit.

    None if nobody can tell: it is away, on a disk that is not mounted, say, or closed to us.
    """
    if kit.platform != current_platform():
        return []
    folder = f"{kit.path}/bin"
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return [] if os.path.isdir(kit.path) else None
    except OSError:
        return None
    return [name for name in names if is_program(f"{folder}/{name}") and _is_tool(name, kit)]


def _is_tool(name: str, kit: Toolkit) -> bool:
    """Tell whether a name is CUDA's: no shim may ever shadow `ls` or `python`.

    The `bin` of an adopted toolkit may be `/usr/bin` or an environment's.
    """
    if is_toolkit_tool(name):
        return True
    return kit.source != "system" and not any(
        os.path.lexists(f"{folder}/{name}") for folder in _MACHINE_FOLDERS
    )


def _shims_in(folder: Path) -> list[Path]:
    """List the shims in a folder, without files that somebody else put there."""
    files = [path for path in folder.iterdir() if os.path.isfile(path) and not os.path.islink(path)]
    return [path for path in files if is_shim(path)]


def _written(home: Home, tool: str) -> bool:
    """Write a shim if it differs; False if a file that is not a shim is in its place."""
    path, content = home.shims / tool, text(tool, home)
    if os.path.isfile(path) and not os.path.islink(path):
        if path.read_bytes() == content.encode():
            return True
        if os.path.getsize(path) and not is_shim(path):
            talk.say(f"`{path}` is not a shim, and was kept")
            return False
    # No flush: it can be made again.
    write_atomically(path, content, 0o755, lasting=False)
    return True


def _refuse_foreign_hands(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise StoreError(f"`{folder}` cannot hold shims: it is not a folder", "remove it")
    if status.st_uid != os.geteuid():
        raise StoreError(
            f"`{folder}` belongs to another user, who alone can change the shims in it",
            "ask its owner to run cudaswitch shims refresh",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreError(
            f"`{folder}` cannot hold shims: others can write to it",
            f"chmod go-w {quote(str(folder))}",
        )
