"""The module `inspect`, loaded when it is needed: it takes a sixth of the time that click takes.

At each start, click needs it only to remove the indentation from the help of options, and
`dataclasses` for the signature of a class that has no docstring.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

_NAME = "inspect"


class _Inspect(ModuleType):
    """What modules have as `inspect` if they imported it while it was postponed."""

    def cleandoc(self, doc: str) -> str:
        """Return what `inspect.cleandoc` does; a single line does not need the real module."""
        if "\n" not in doc:
            return doc.expandtabs().lstrip()
        cleaned: str = self.__getattr__("cleandoc")(doc)
        return cleaned

    def __getattr__(self, name: str) -> Any:
        _end(self)
        return getattr(import_module(_NAME), name)


@contextlib.contextmanager
def inspect_postponed() -> Iterator[None]:
    """Let modules that are imported meanwhile load `inspect` only when they first use it."""
    stand_in = _Inspect(_NAME)
    sys.modules.setdefault(_NAME, stand_in)
    try:
        yield
    finally:
        _end(stand_in)


def _end(stand_in: ModuleType) -> None:
    if sys.modules.get(_NAME) is stand_in:
        del sys.modules[_NAME]
