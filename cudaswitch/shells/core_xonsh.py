"""The change and its undo in xonsh, which runs this: see `shells.carried`.

activation.py does the work; this moves it between xonsh's environment and the plain values
that children are given.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from xonsh.built_ins import XSH

from cudaswitch.activation import Want, change, undone

OWNERS = {"V": "VIRTUAL_ENV", "C": "CONDA_PREFIX"}
BUNDLED = (
    "lib/python[23]*/site-packages/nvidia/*/lib",
    "lib/python[23]*/site-packages/torch/lib/libtorch_cuda.so",
    "conda-meta/cudatoolkit-[0-9]*.json",
    "conda-meta/cuda-cudart-[0-9]*.json",
    "conda-meta/libcublas-[0-9]*.json",
)
"""What shows that an environment brings its own CUDA, as in core.sh."""

XLA = ("lib/python[23]*/site-packages/tensorflow", "lib/python[23]*/site-packages/jaxlib")
LIBDEVICE = (
    "nvidia/cuda_nvcc/nvvm/libdevice",
    "nvidia/cu[0-9]*/nvvm/libdevice",
    "jaxlib/cuda/nvvm/libdevice",
)
"""Frameworks that compile with XLA, and where they find libdevice beside them."""


def variables() -> dict[str, str]:
    """Return what a child would be given, but search paths as they were typed, with `~`."""
    given = dict(XSH.env.detype())
    for name in given:
        typed = getattr(XSH.env[name], "_l", None)
        if typed is not None:
            given[name] = os.pathsep.join(map(os.fsdecode, typed))
    return given


def write(before: dict[str, str], after: dict[str, str]) -> None:
    """Change xonsh's environment where two states differ, and nothing else in it."""
    for name in before.keys() - after.keys():
        del XSH.env[name]
    for name, value in after.items():
        if before.get(name) != value:
            XSH.env[name] = value


def settled(state: dict[str, str]) -> dict[str, str]:
    """Return a state with what the strongest wants, in place of what was applied."""
    want = strongest(state)
    if want.startswith("/") and Path(want.partition(":")[0]).is_dir():
        own = bundled(state), lacks_libdevice(state)
        return change(Want.parse(want), os.path.exists, *own, state).applied(state)
    return undone(state)


def strongest(state: dict[str, str]) -> str:
    """Return what the strongest owner wants; of two environments that which PATH has first."""
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


def bundled(state: dict[str, str]) -> bool:
    """Tell whether the active environment brings its own CUDA."""
    return any(in_active(state, pattern) for pattern in BUNDLED)


def lacks_libdevice(state: dict[str, str]) -> bool:
    """Tell whether the active environment has a framework that looks for libdevice outside."""
    if in_active(state, "nvvm/libdevice"):
        return False
    sites = {os.path.dirname(at) for name in XLA for at in in_active(state, name)}  # noqa: PTH120  # as text
    return any(
        not any(glob.glob(f"{glob.escape(site)}/{place}") for place in LIBDEVICE)  # noqa: PTH207  # as below
        for site in sites
    )


def in_active(state: dict[str, str], pattern: str) -> list[str]:
    """List what a pattern matches in the active environment."""
    venv, conda = (state.get(name, "") for name in OWNERS.values())
    active = conda if conda and (not venv or before_on_path(state, conda, venv)) else venv
    if not active:
        return []
    return glob.glob(f"{glob.escape(active)}/{pattern}")  # noqa: PTH207  # a pathlib glob needs a Path per pattern
