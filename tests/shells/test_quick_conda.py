"""The quick conda leaves what the emulated one leaves, at every step and in every script."""

from __future__ import annotations

from pathlib import Path

import pytest

from homes import Home
from shells.conda import Conda, Emulator
from shells.driver import FISH, POSIX_SHELLS, Shell
from shells.quick_conda import QuickConda
from shells.scene import Scene

REPORT = {
    "sh": 'echo "{word} $CONDA_SHLVL $CONDA_PREFIX $PATH"',
    "fish": 'echo "{word} $CONDA_SHLVL $CONDA_PREFIX $PATH"',
}


def evening(scene: Scene) -> tuple[str, list[dict[str, str]]]:
    a, b, out = scene.enter(scene.a), scene.enter(scene.b), scene.leave()
    deeper, edit = scene.enter(scene.b, stack=True), scene.shell.prepend("PATH", "/mine")
    steps = [out, a, edit, a, b, out, deeper, a, scene.again(), out, b, b, out, out, out, out]
    result = scene.play(*steps, a, out).check()
    return result.stdout, [result.snaps[str(n)] for n in range(len(result.snaps))]


@pytest.mark.parametrize("shell", (*POSIX_SHELLS, FISH), ids=str)
def test_an_evening_s_work_ends_alike(shell: Shell, tmp_path: Path, home: Home) -> None:
    condas: tuple[Conda, ...] = (Emulator(), QuickConda())
    emulated, quick = (Scene(tmp_path / "an env", shell, conda, home) for conda in condas)
    for prefix in (emulated.a, emulated.b):
        for kind in ("activate", "deactivate"):
            for name in ("first", "second"):
                word = f"{kind} {name} {prefix.name}"
                emulated.hook(prefix, kind, REPORT[shell.suffix].format(word=word), name)
    said, seen = evening(emulated)
    assert "deactivate second a" in said
    quickly_said, quickly_seen = evening(quick)
    for snap in seen + quickly_seen:
        for name in ("PWD", "OLDPWD"):
            snap.pop(name, None)
    assert quickly_said == said
    assert quickly_seen == seen
