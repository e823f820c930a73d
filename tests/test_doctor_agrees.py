"""Whether a shell has what is asked for: `doctor` tells it by the shell, as `current` does."""

from __future__ import annotations

import json

import pytest

from doctoring import Patient

LOST = "export PATH={path}; unset LD_LIBRARY_PATH"
OTHER = (
    "export CUDA_HOME={other} CUDA_PATH={other} CUDAToolkit_ROOT={other}"
    " CUDACXX={other}/bin/nvcc PATH={other}/bin:$PATH"
)


@pytest.mark.parametrize(
    ("line", "has"),
    [
        (LOST, "no {kit}/bin/ on PATH"),
        (OTHER, "CUDA_HOME={other} and {other}/bin/nvcc first on PATH"),
        ("unset CUDA_HOME", "no CUDA_HOME"),
    ],
)
def test_what_was_changed_since_the_switch(patient: Patient, line: str, has: str) -> None:
    """What a switch has recorded is no proof: PATH may be rebuilt, or CUDA_HOME set by hand."""
    kit = patient.adopt("12.4.131")
    names = {"kit": kit, "other": patient.toolkit(patient.work / "other", "12.1.105")}
    (patient.home.path / ".cuda-version").write_text("12.4\n")
    patient.run("init", "--install", "bash", "--yes")
    patient.before = ". ~/.bashrc; __cudaswitch_prompt; " + line.format(**names, path=patient.path)
    patient.before += f"; cudaswitch current --json > '{patient.work}/current'"
    patient.after = f"cudaswitch current --json > '{patient.work}/mended'"
    patient.in_shell("CS076")
    agrees = [json.loads((patient.work / at).read_text())["agrees"] for at in ("current", "mended")]
    assert agrees == [False, True]
    by_code = {one["code"]: one for one in patient.findings(1)}
    assert by_code["CS076"]["evidence"].endswith(f"this shell has {has.format(**names)}")
    assert patient.codes(2) == []
