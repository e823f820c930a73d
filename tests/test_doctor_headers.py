"""A header that only newer toolkits have: a pasted message about it leads to one of those."""

from __future__ import annotations

from doctoring import CASES, Patient

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


def test_a_list_may_name_a_folder_by_a_link(patient: Patient) -> None:
    """What CPATH has as /usr/local/cuda, a link, is not put there by its real name as well."""
    kit = patient.adopt("12.4.131")
    patient.env["CUDA_HOME"] = str(kit)
    (kit / "include/cuda_fp8.h").touch()
    (patient.work / "cuda").symlink_to(kit)
    patient.env["CPATH"] = f"{kit}/include"
    fix = patient.told(PASTED)["fix"]
    assert "CPATH" not in fix
    patient.env["CPATH"] = f"{patient.work}/cuda/include"
    assert patient.told(PASTED)["fix"] == fix


def test_headers_below_targets_may_be_named_by_a_link(patient: Patient) -> None:
    CASES["CS031"](patient)
    (patient.work / "cuda").symlink_to("kit-12.4.131")
    patient.env["CPATH"] = f"{patient.work}/cuda/targets/x86_64-linux/include"
    patient.in_shell("none")
    assert patient.codes(1) == []


def test_headers_below_the_targets_of_another_machine(patient: Patient) -> None:
    """Arm servers have their part of a toolkit in sbsa-linux."""
    CASES["CS031"](patient)
    kit = patient.work / "kit-12.4.131"
    (kit / "targets/x86_64-linux").rename(kit / "targets/sbsa-linux")
    patient.in_shell("CS031")
    assert patient.codes(1) == ["CS031"]
    assert patient.codes(2) == []
    folder = f"{kit}/targets/sbsa-linux/include"
    pasted = "x.cc:1:10: fatal error: cuda_runtime_api.h: No such file or directory"
    assert patient.told(pasted)["fix"] == f"export CPATH={folder}"


def test_a_framework_that_is_older_than_the_header(patient: Patient) -> None:
    env = patient.virtualenv()
    env.torch("1.12.1+cu113", "11.3")
    patient.activate(env)
    assert patient.told(PASTED)["fix"].startswith("cudaswitch install 11.8 ")
