"""On machines with a real conda: the emulator leaves the same environment behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from homes import Home
from shells.conda import Conda, Emulator, real_conda
from shells.driver import SHELLS, TCSH, Shell
from shells.scene import Scene

REAL = real_conda()

OWN_BUSINESS = ("CONDA_EXE", "CONDA_PYTHON_EXE", "CONDA_AUTO", "CONDA_ROOT", "_C", "PWD", "OLDPWD")
"""Prefixes of variables that tell where a conda is installed and where it was started."""


def evening(scene: Scene) -> list[dict[str, str]]:
    """Return the environment before and after each of many transitions."""
    a, b, out = scene.enter(scene.a), scene.enter(scene.b), scene.leave()
    deeper, edit = scene.enter(scene.b, stack=True), scene.shell.prepend("PATH", "/mine/")
    steps = [a, edit, a, b, out, deeper, a, scene.again(), out, b, b, out, out, out, out, out]
    snaps = scene.play(*steps).check().snaps
    return [
        {key: value for key, value in snaps[str(n)].items() if not key.startswith(OWN_BUSINESS)}
        for n in range(len(snaps))
    ]


@pytest.mark.skipif(REAL is None, reason="no conda on PATH to compare with")
@pytest.mark.parametrize("shell", SHELLS, ids=str)
def test_an_evening_s_work_ends_alike(shell: Shell, tmp_path: Path, home: Home) -> None:
    assert REAL is not None
    condas: tuple[Conda, ...] = (REAL, Emulator(base_path=REAL.base_path))
    real, emulated = (Scene(tmp_path, shell, conda, home) for conda in condas)
    for prefix in (real.a, real.b):
        for kind in ("activate", "deactivate"):
            at = f"/{kind}/{prefix.name}"
            # Where conda has tcsh evaluate a script, an `else` does not find its `endif`.
            text = f'setenv PATH {at}:"$PATH"' if shell is TCSH else shell.prepend("PATH", at)
            real.hook(prefix, kind, text)
    assert evening(emulated) == evening(real)
