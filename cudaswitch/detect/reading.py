"""Read foreign files within bounds: only regular files, up to a limit, never executed."""

from __future__ import annotations

import ast
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cudaswitch.errors import printable
from cudaswitch.regular import read_regular
from cudaswitch.resolver import Reason

PYTHON_LIMIT = 64 << 10
"""Most bytes of a Python file that is read; parsing a longer one takes seconds."""
JSON_LIMIT = 1 << 20
"""The same for a JSON file."""
RECORD_LIMIT = 64 << 20
"""The same for a conda record, which lists every file of its package: PyTorch's has megabytes."""
METADATA_LIMIT = 256 << 10
"""Bytes of a METADATA file that are read, from its start; what comes after is ignored."""


class Reading:
    """Files of one environment, read on demand; what cannot be read becomes a note."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.notes: list[Reason] = []
        self._json: dict[Path, dict[str, Any]] = {}

    def name(self, path: Path) -> str:
        """Name a file as answers do: relative to the prefix, which itself is named whole."""
        inside = path != self.prefix and path.is_relative_to(self.prefix)
        name = path.relative_to(self.prefix).as_posix() if inside else str(path)
        # Bytes that are not UTF-8 appear as surrogates, which no output stream accepts.
        return printable(name.encode("utf-8", errors="backslashreplace").decode("utf-8"))

    def note(self, text: str, path: Path) -> None:
        """Keep a finding; `text` follows the name of the file or folder."""
        name = self.name(path)
        self.notes.append(Reason(f"`{name}` {text}", name))

    def text(self, path: Path, limit: int = PYTHON_LIMIT, *, head: bool = False) -> str | None:
        """Read a regular file as UTF-8, or return None: silently if missing, else with a note.

        With `head` the first `limit` bytes of a longer file are returned.
        """
        try:
            raw = read_regular(path, limit, head=head)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(path):
                self.note("is a dangling link", path)
            return None
        except OSError as error:
            self.note(f"was not read: {error.strerror}", path)
            return None
        if b"\0" in raw:
            self.note("was not read: it is binary, not text", path)
            return None
        target = Path(os.path.realpath(path))
        inside = path.is_relative_to(self.prefix)
        if inside and not target.is_relative_to(os.path.realpath(self.prefix)):
            self.note(f"is a link out of the environment, to {printable(str(target))}", path)
        return raw.decode("utf-8", errors="replace")

    def names(self, folder: Path) -> list[str]:
        """List the names in a folder, in no particular order; a missing folder has none.

        Names that no installer writes, with control characters or bytes that are not text, are
        left out with a note.
        """
        try:
            found = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.note(f"cannot be listed: {error.strerror}", folder)
            return []
        if "".join(found).isprintable():
            return found
        for name in sorted(found):
            if not name.isprintable():
                self.note("has a name that no installer would write", folder / name)
        return [name for name in found if name.isprintable()]

    def python_values(self, path: Path) -> dict[str, Any]:
        """Take the literal values that a Python file assigns; dicts give their entries too."""
        text = self.text(path)
        if text is None:
            return {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.note(f"is not valid Python: {type(error).__name__}", path)
            return {}
        values: dict[str, Any] = {}
        for statement in tree.body:
            for key, value in _assigned(statement):
                values[key] = value
        return values

    def json_values(self, path: Path, limit: int = JSON_LIMIT) -> dict[str, Any]:
        """Take the values of a JSON file, nested ones under dotted keys."""
        if path not in self._json:
            self._json[path] = self._json_values(path, limit)
        return self._json[path]

    def _json_values(self, path: Path, limit: int) -> dict[str, Any]:
        text = self.text(path, limit)
        if text is None:
            return {}
        try:
            return dict(_flat(json.loads(text), ""))
        except (ValueError, RecursionError) as error:
            self.note(f"is not valid JSON: {type(error).__name__}", path)
            return {}

    def needed(self, path: Path) -> tuple[str, ...]:
        """Take the names of the libraries that an ELF file needs; it is not loaded."""
        from cudaswitch.binaries import read_elf  # noqa: PLC0415  # few ask for it
        from cudaswitch.elf import ElfError  # noqa: PLC0415  # the same

        try:
            return read_elf(path).needed
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except ElfError as error:
            self.note(f"is not a valid library: {error.reason}", path)
        except OSError as error:
            self.note(f"was not read: {error.strerror}", path)
        return ()

    def metadata(self, path: Path) -> list[tuple[str, str]]:
        """Take the headers of a METADATA or PKG-INFO file, without its description."""
        text = self.text(path, METADATA_LIMIT, head=True)
        if text is None:
            return []
        head = text.replace("\r\n", "\n").partition("\n\n")[0]
        pairs = (line.partition(":") for line in head.split("\n") if not line[:1].isspace())
        return [(key.strip().lower(), value.strip()) for key, colon, value in pairs if colon]


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, Any]]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return
    if not isinstance(target, ast.Name):
        return
    if isinstance(value, ast.Call) and len(value.args) == 1:
        # collections.OrderedDict([...]): its argument is the literal.
        value = value.args[0]
    try:
        literal = ast.literal_eval(value)
        if isinstance(literal, list) and literal and all(isinstance(it, tuple) for it in literal):
            literal = dict(literal)
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
        return
    yield target.id, literal
    if isinstance(literal, dict):
        yield from ((key, value) for key, value in literal.items() if isinstance(key, str))


def _flat(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, data
