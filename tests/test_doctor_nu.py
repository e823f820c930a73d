"""Commands of `doctor` run by Nushell, which has its own `cp` and `mv`, and redirects otherwise."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from doctoring import Patient


@pytest.fixture
def nu(patient: Patient, require: Callable[[str], str]) -> Callable[[str], str]:
    program = require("nu")
    patient.on_path(Path(program).parent)

    def run(line: str) -> str:
        done = subprocess.run(
            [program, "-n", "-c", line],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=patient.env.get("PWD", patient.home.path),
            env=patient.home.env | patient.env,
        )
        assert "Error: " not in done.stderr
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
    assert startup.read_text() == ":  # export CUDA_HOME=/usr/local/cuda-11\nexport EDITOR=vi\n"
    assert startup.with_name(".bashrc.bak").exists()
    assert [at.name for at in script.parent.iterdir()] == ["x.sh.bak"]


def test_what_is_installed_is_loaded_by_a_new_shell(
    patient: Patient, nu: Callable[[str], str]
) -> None:
    """Nushell looks for the file of `source` before it runs the line that would write it."""
    patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("12.4\n")
    patient.env["SHELL"] = "/bin/nu"
    fix = fixes(nu)["CS076"]
    assert fix == "cudaswitch init --install nu --yes; exec nu"
    nu(f"{fix} --version")
    assert (patient.home.store / "init/nu.nu").is_file()


def test_what_is_appended_is_in_the_file(
    patient: Patient, nu: Callable[[str], str], tmp_path: Path
) -> None:
    kit, file = patient.adopt("12.4.131"), tmp_path / "project/.env"
    (file.parent / ".vscode").mkdir(parents=True)
    file.write_text("EDITOR=vi")
    (file.parent / ".cuda-version").write_text("12.4\n")
    patient.env["PWD"] = str(file.parent)
    assert nu(fixes(nu)["CS085"]) == ""
    assert file.read_text().splitlines()[:2] == ["EDITOR=vi", f"CUDA_HOME={kit}"]
    assert "CS085" not in fixes(nu)
