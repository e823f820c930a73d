"""The ready files that startup files load: a shell's whole integration, bound to this program."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from cudaswitch import __version__, completion, shells
from cudaswitch.durable import write_all
from cudaswitch.errors import CudaswitchError
from cudaswitch.paths import home, program
from cudaswitch.staging import require_writable, writing
from cudaswitch.sweeping import sweep


def path_of(shell: shells.Shell) -> Path:
    """Return where the ready file of a shell is, or would be."""
    return home().init / f"{shell.name}{shell.suffix}"


def loading(shell: shells.Shell, *, there: bool = False) -> str:
    """Return the line that loads the integration into a shell that is open.

    `there` tells that its ready file will exist by then.
    """
    path = path_of(shell)
    if shell.include and (there or os.path.isfile(path)):
        return shell.include.format(file=shell.quote(str(path)))
    return shell.load


def write(shell: shells.Shell) -> Path:
    """Write the ready file of a shell, and return it.

    Those of other shells that another program wrote become this one's too: there is one binding.
    """
    require_writable(home())
    _write([shell] if _is_ours() else [*_there(), shell])
    return path_of(shell)


def _there() -> list[shells.Shell]:
    return [row for row in shells.SHELLS.values() if os.path.isfile(path_of(row))]


def _write(rows: Collection[shells.Shell]) -> None:
    store, command = home(), program()
    texts = {
        path: shells.ready(
            row,
            root=store.folder,
            program=command,
            scripts=completion.folder_of(row.name),
            file=path,
        )
        for row in rows
        for path in [path_of(row)]
    }
    # What a ready file sources comes before it.
    sourced = {
        path: text for row in rows for path, text in shells.beside(row, path_of(row)).items()
    }
    with writing(store):
        write_all({**sourced, **texts, _bound(): _binding() + "\n"})


def remove(shell: shells.Shell) -> None:
    """Remove the ready file of a shell."""
    path_of(shell).unlink(missing_ok=True)
    sweep(shells.folder_beside(path_of(shell)))
    if not _there():
        _bound().unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            home().init.rmdir()


def fault(shell: shells.Shell) -> str | None:
    """Tell what is wrong with the ready file of a shell, None if nothing is."""
    if not os.path.isfile(path_of(shell)):
        return "it does not exist"
    if not all(map(os.path.isfile, shells.beside(shell, path_of(shell)))):
        return f"`{shells.folder_beside(path_of(shell))}` lacks the files it sources"
    with contextlib.suppress(OSError):
        command = _command(_read_bound())
        if command and not os.access(command, os.X_OK):
            return f"it starts `{command}`, which does not exist"
    return None


def refresh() -> None:
    """Bring the ready files up to date after an update or a move of cudaswitch, or of its Python.

    They stay bound to the program that wrote them as long as that exists: two installations
    that share a store would otherwise rewrite each other's files forever.
    """
    with contextlib.suppress(OSError, CudaswitchError):
        bound = _read_bound()
        other = _command(bound)
        if bound == _binding() or (other != program() and os.access(other, os.X_OK)):
            return
        require_writable(home())
        _write(_there())


def _bound() -> Path:
    return home().init / ".bound"


def _read_bound() -> str:
    return _bound().read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")


def _is_ours() -> bool:
    try:
        return _read_bound() == _binding()
    except OSError:
        return False


def _binding() -> str:
    # The texts of some shells load others from the package's own folder.
    return f"{__version__} {program()}\n{os.path.dirname(__file__)}"


def _command(bound: str) -> str:
    return bound.partition("\n")[0].partition(" ")[2]
