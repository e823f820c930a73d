"""Commands of `doctor` run by Nushell, which has its own `cp` and `mv`, and redirects otherwise."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from doctoring import Patient


@pytest.fixture
def nu(patient: Patient, require: Callable[[str], str]) -> Callable[[str], str]:
    program = require("nu")

    def run(line: str) -> str:
        done = subprocess.run(
            [program, "-n", "-c", line],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=patient.home.path,
            env=patient.home.env | patient.env,
        )
        assert not done.stderr
        return done.stdout

    return run


def fixes(nu: Callable[[str], str]) -> dict[str, str]:
    found = json.loads(nu("^cudaswitch doctor --json | complete | get stdout"))["findings"]
    return {one["code"]: one["fix"] for one in found}


def test_files_are_kept_beside_what_changes_them(
    patient: Patient, nu: Callable[[str], str]
) -> None:
    startup = patient.rc("export CUDA_HOME=/usr/local/cuda-11\nexport EDITOR=vi\n")
    env = patient.virtualenv(conda=True)
    script = env.prefix / "etc/conda/activate.d/x.sh"
    script.parent.mkdir(parents=True)
    script.write_text("exit 1\n")
    patient.activate(env)
    said = fixes(nu)
    for code in ("CS080", "CS083"):
        nu(said[code])
    assert startup.read_text() == "export EDITOR=vi\n"
    assert startup.with_name(".bashrc.bak").exists()
    assert [at.name for at in script.parent.iterdir()] == ["x.sh.bak"]
