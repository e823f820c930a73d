"""Which rivals are on this machine: modules of this Python, and programs on PATH."""

from __future__ import annotations

import shutil
from importlib import import_module

MODULES = {
    "cph": "conda_package_handling",
    "pip": "pip",
    "py-rattler": "rattler",
    "requests": "requests",
}
"""Rival → the module that it is; the others are programs, named by their first word."""


def is_present(rival: str) -> bool:
    """Tell whether a rival can be measured here; one that cannot is named."""
    program = rival.partition(" ")[0]
    found = _loads(MODULES[rival]) if rival in MODULES else shutil.which(program)
    if not found:
        print(f"{rival}: left out, not installed")
    return bool(found)


def _loads(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True
