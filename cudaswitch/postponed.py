"""The module `inspect`, loaded when it is needed: it takes a sixth of the time that click takes.

At each start, click needs it only to remove the indentation from the help of options, and
`dataclasses` for a class's annotations (Python 3.12 and 3.13) and, if the class has no docstring,
its signature.
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

    def get_annotations(self, obj: Any, **options: Any) -> dict[str, Any]:
        """Return what `inspect.get_annotations` does; a class's own do not need the real module."""
        own = vars(obj).get("__annotations__") if isinstance(obj, type) and not options else None
        if isinstance(own, dict):
            return dict(own)
        found: dict[str, Any] = self.__getattr__("get_annotations")(obj, **options)
        return found

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
