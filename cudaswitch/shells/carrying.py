"""Modules of ours as text, for a shell that runs Python but perhaps has no cudaswitch."""

from __future__ import annotations

import ast
from pathlib import Path


def carried(names: tuple[str, ...], **values: str) -> str:
    """Return one line of Python that runs modules of ours in a namespace of their own.

    What modules import from each other is in that one namespace, as `values` are, so these imports
    are dropped; so are comments, and the docstrings of modules and their variables.
    """
    body: list[ast.stmt] = []
    for name in names:
        tree = ast.parse((Path(__file__).parent.parent / name).read_text(encoding="utf-8"))
        body += [statement for statement in tree.body if not _stays_at_home(statement)]
    source = "from __future__ import annotations\n" + ast.unparse(ast.Module(body, []))
    # Under a name that no module has: an installed cudaswitch is another one.
    names_there = {"__name__": "cudaswitch carried", **values}
    return f"exec({source!r}, {names_there!r})\n"


def _stays_at_home(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").startswith(("cudaswitch", "__future__"))
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
