"""A header that only newer toolkits have: a pasted message about it leads to one of those."""

from __future__ import annotations

from doctoring import Patient

PASTED = "flashinfer/utils.cuh:21:10: fatal error: cuda_fp8.h: No such file or directory"


def test_a_toolkit_that_is_older_than_the_header(patient: Patient) -> None:
    kit = patient.adopt("11.4.100")
    patient.env["CUDA_HOME"] = str(kit)
    found = patient.told(PASTED)
    assert f"; `{kit}` has no cuda_fp8.h" in found["cause"]
    assert found["fix"].startswith("cudaswitch install 11.8 ")
    patient.adopt("12.4.131")
    assert "cudaswitch env 12.4.131 " in patient.told(PASTED)["fix"]


def test_a_toolkit_that_has_the_header(patient: Patient) -> None:
    kit = patient.adopt("12.4.131")
    patient.env["CUDA_HOME"] = str(kit)
    (kit / "include/cuda_fp8.h").touch()
    assert patient.told(PASTED)["fix"] == f"export CPATH={kit}/include"


def test_a_framework_that_is_older_than_the_header(patient: Patient) -> None:
    env = patient.virtualenv()
    env.torch("1.12.1+cu113", "11.3")
    patient.activate(env)
    assert patient.told(PASTED)["fix"].startswith("cudaswitch install 11.8 ")
