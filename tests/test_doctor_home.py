"""Frameworks that look for a toolkit below CUDA_HOME, and so need no LD_LIBRARY_PATH."""

from __future__ import annotations

import pytest

from doctoring import Patient


@pytest.fixture
def cupy(patient: Patient) -> Patient:
    """CuPy beside a wheel because of which LD_LIBRARY_PATH is left alone."""
    env = patient.virtualenv()
    env.dist("cupy-cuda12x", "14.2.0")
    env.dist("nvidia-cudnn-cu12", "9.10.2.21")
    env.file("nvidia/cudnn/lib/libcudnn.so.9")
    patient.activate(env)
    return patient


def test_they_need_no_path_to_be_mended(cupy: Patient) -> None:
    kit = cupy.adopt("12.4.131")
    cupy.lay_library(kit / "lib64", "libnvrtc", "libnvrtc.so.12", "12.4.127")
    cupy.in_shell("CS086")
    assert "CS086" in cupy.codes(1) and "CS086" not in cupy.codes(2)
    found = next(one for one in cupy.findings(1) if one["code"] == "CS086")
    assert "--libraries" not in found["fix"]


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
@pytest.mark.parametrize(
    ("version", "number", "codes"), [("12.4.131", "12", []), ("11.8.89", "11.2", ["CS086"])]
)
def test_any_toolkit_of_their_major_serves(
    cupy: Patient, variable: str, version: str, number: str, codes: list[str]
) -> None:
    kit = cupy.toolkit(cupy.work / "kit", version)
    cupy.lay_library(kit / "lib64", "libnvrtc", f"libnvrtc.so.{number}", version)
    cupy.env[variable] = str(kit)
    cupy.in_shell("none")
    assert [code for code in cupy.codes(1) if code in ("CS041", "CS086")] == codes


def test_a_library_may_be_below_cuda_home(cupy: Patient) -> None:
    kit = cupy.toolkit(cupy.work / "kit")
    cupy.env["CUDA_PATH"] = str(kit)
    cupy.in_shell("none")
    found = next(one for one in cupy.findings(1) if one["code"] == "CS086")
    assert found["evidence"] == "CuPy 14.2.0 looks for libnvrtc.so.12 in vain"
    cupy.lay_library(kit / "lib64", "libnvrtc", "libnvrtc.so.12", "12.4.127")
    cupy.in_shell("none")
    assert "CS086" not in cupy.codes(1)


@pytest.mark.parametrize(("version", "codes"), [("12.4.131", []), ("11.8.89", ["CS041"])])
def test_the_runtime_may_be_below_cuda_home(
    patient: Patient, version: str, codes: list[str]
) -> None:
    env = patient.virtualenv()
    env.dist("numba-cuda", "0.20.0")
    env.dist("cuda-bindings", "12.9.1")
    patient.activate(env)
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", version))
    patient.in_shell("none")
    assert [code for code in patient.codes(1) if code == "CS041"] == codes
