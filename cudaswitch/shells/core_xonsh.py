"""The change and its undo in xonsh, which runs this: see `shells.carrying`.

activation.py does the work; this converts between xonsh's environment and the plain values
that children get.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from xonsh.built_ins import XSH

from cudaswitch.activation import Want, change, undone
from cudaswitch.bundled import bundles_cuda, lacks_libdevice

OWNERS = {"V": "VIRTUAL_ENV", "C": "CONDA_PREFIX"}


def variables() -> dict[str, str]:
    """Return what a child would get, but with search paths as they were typed, with `~`."""
    given = dict(XSH.env.detype())
    for name in given:
        typed = getattr(XSH.env[name], "_l", None)
        if typed is not None:
            given[name] = os.pathsep.join(map(os.fsdecode, typed))
    return given


objects: dict[tuple[str, str], Any] = {}
"""Values of the user's that are not text, such as a path or a number, by variable and text."""


def write(before: dict[str, str], after: dict[str, str]) -> None:
    """Change xonsh's environment where two states differ, and nothing else in it.

    A value that was not text comes back as it was; xonsh itself makes lists of search paths.
    """
    for name, text in before.items():
        if after.get(name) != text:
            held = XSH.env[name]
            if not isinstance(held, str) and not hasattr(held, "_l"):
                objects[name, text] = held
            if name not in after:
                del XSH.env[name]
    for name, text in after.items():
        if before.get(name) != text:
            XSH.env[name] = objects.get((name, text), text)


def settled(state: dict[str, str]) -> dict[str, str]:
    """Return a state with what the strongest owner wants in place of what was applied."""
    want = strongest(state)
    if want.startswith("/") and os.path.isdir(want.partition(":")[0]):
        inside = active(state)
        bundled = inside is not None and bundles_cuda(inside, state) is not None
        xla = inside is not None and lacks_libdevice(inside)
        return change(Want.parse(want), os.path.exists, bundled, xla, state).applied(state)
    return undone(state)


def strongest(state: dict[str, str]) -> str:
    """Return what the strongest owner wants; of two environments, the first on PATH decides."""
    conda_first = before_on_path(state, *(environment_of(state, owner) for owner in "CV"))
    for owner in "UXCVD" if conda_first else "UXVCD":
        want = state.get(f"_CUDASWITCH_{owner}")
        if want:
            return want
    return ""


def environment_of(state: dict[str, str], owner: str) -> str:
    """Return the environment whose pin an owner's want came from."""
    return state.get(f"_CUDASWITCH_{owner}", "").rpartition(":env=")[2]


def before_on_path(state: dict[str, str], first: str, second: str) -> bool:
    """Tell whether the programs of one environment come before those of another."""
    folders = state.get("PATH", "").split(os.pathsep)
    try:
        return f"{first}/bin" in folders[: folders.index(f"{second}/bin")]
    except ValueError:
        return f"{first}/bin" in folders


def active(state: dict[str, str]) -> Path | None:
    """Return the active environment; of two, the one whose programs come first."""
    venv, conda = (state.get(name, "") for name in OWNERS.values())
    first = conda if conda and (not venv or before_on_path(state, conda, venv)) else venv
    return Path(first) if first else None
