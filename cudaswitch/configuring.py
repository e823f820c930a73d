"""config.toml edited where it is: one setting at a time, by one process at a time.

The rest of the file stays as people wrote it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from cudaswitch import settings
from cudaswitch.durable import sweep_beside, write_all
from cudaswitch.errors import RequestError, StoreError, hint_for
from cudaswitch.locks import PATIENCE, passing
from cudaswitch.platforms import expanded
from cudaswitch.settings import Value

_PRIVATE = 0o600
"""A mirror's URL may hold a password."""


def change(name: str, value: Value | None) -> None:
    """Write a setting into the file, or remove it with None.

    Raises RequestError if the file is not TOML, or has the setting where it cannot be edited,
    and StoreError if it cannot be written, or no home folder is known that it would be in.
    """
    # If the file is a link, say into somebody's dotfiles, write the file that it leads to.
    path = Path(expanded(settings.config_file())).resolve()
    try:
        before, text = _edited(path, name, value)
        # Even if a killed run has made the change already.
        sweep_beside([path])
        if text != before:
            _write(path, name, value)
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise RequestError(f"`{path}` is not valid TOML: {error}", "fix the file") from None
    except OSError as error:
        hint = hint_for(error, _way_in(error, path))
        raise StoreError(f"cannot write `{path}`: {error.strerror}", hint) from None
    if value is None and text == before and name in settings.written():
        raise RequestError(f"cannot remove `{name}` from `{path}`", "fix the file")
    settings.forget()


def _way_in(error: OSError, path: Path) -> str:
    if error.filename == str(path):
        return settings.way_in(error, str(path))
    if isinstance(error, PermissionError):
        return settings.way_in(error, str(path.parent), "u+w")
    return settings.ELSEWHERE


def _write(path: Path, name: str, value: Value | None) -> None:
    """Edit the file as it is once no other process can change it.

    An existing file keeps its mode and group, as others may read it, unless a password comes in.
    """
    with passing(path.parent, path.name, PATIENCE):
        text = _edited(path, name, value)[1]
        is_shared = os.path.exists(path) and not _holds_password(value)
        write_all({path: text}, _PRIVATE, kept=is_shared)


def _holds_password(value: Value | None) -> bool:
    texts = value if isinstance(value, tuple) else (value,)
    return any("@" in str(text).partition("://")[2].partition("/")[0] for text in texts)


def _edited(path: Path, name: str, value: Value | None) -> tuple[str, str]:
    """Return the text of the file, and what it is to be."""
    before = path.read_bytes().decode() if os.path.exists(path) else ""
    mark = settings.MARK if before.startswith(settings.MARK) else ""
    document = tomlkit.parse(before.removeprefix(mark))
    *outer, last = name.split(".")
    if outer and name in document:
        # `"mirrors.conda" = ...` is one key. Where the other spelling is, too, that one is edited.
        inner = document.get(outer[0])
        if isinstance(inner, dict) and last in inner:
            document.pop(name)
        else:
            outer, last = [], name
    table = document
    for each in outer:
        table = table.setdefault(each, tomlkit.table())
        if not isinstance(table, dict):
            raise RequestError(
                f"`{each}` in `{path}` is not a table", f"cudaswitch config unset {each}"
            )
    if value is None:
        table.pop(last, None)
        # A table that is spread over several lines (`mirrors.conda = ...`) has no `as_string`.
        if outer and not tomlkit.dumps(table).strip():
            document.pop(outer[0])
    else:
        table[last] = list(value) if isinstance(value, tuple) else value
    text = mark + tomlkit.dumps(document)
    is_of_windows = 0 < before.count("\n") == before.count("\r\n")
    return before, re.sub(r"\r?\n", "\r\n", text) if is_of_windows else text
