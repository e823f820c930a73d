"""The module `inspect`, loaded when it is needed: it takes a sixth of the time that click takes.

click asks it for one thing at each start, to take the indentation out of the help of options, and
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
    """What those have as `inspect` who imported it while it was postponed."""

    def cleandoc(self, doc: str) -> str:
        """Return what `inspect.cleandoc` does, which takes no `inspect` for a single line."""
        if "\n" not in doc:
            return doc.expandtabs().lstrip()
        cleaned: str = self.__getattr__("cleandoc")(doc)
        return cleaned

    def __getattr__(self, name: str) -> Any:
        _end(self)
        return getattr(import_module(_NAME), name)


@contextlib.contextmanager
def inspect_postponed() -> Iterator[None]:
    """Let what is imported meanwhile load `inspect` when it first asks for something of it."""
    stand_in = _Inspect(_NAME)
    sys.modules.setdefault(_NAME, stand_in)
    try:
        yield
    finally:
        _end(stand_in)


def _end(stand_in: ModuleType) -> None:
    if sys.modules.get(_NAME) is stand_in:
        del sys.modules[_NAME]
