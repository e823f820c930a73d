"""Pasted messages about what a toolkit lacks: one that has it is brought, and no other."""

from __future__ import annotations

import pytest

from doctoring import Patient

TORCH = (
    "The detected CUDA version (11.8) mismatches the version that was used to compile\n"
    "PyTorch ({}). Please make sure to use the same CUDA versions."
)
NO_NVCC = (
    "bash: nvcc: command not found",
    "  Failed to find nvcc.",
    "  No CMAKE_CUDA_COMPILER could be found.",
    "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
)


def said(patient: Patient, installed: dict[str, bool], pasted: str) -> str:
    """Tell the command for a message where toolkits are installed, with nvcc or without."""
    for version, nvcc in installed.items():
        patient.adopt(version, nvcc=nvcc)
    return patient.told(pasted)["fix"]


@pytest.mark.parametrize("pasted", NO_NVCC)
def test_only_a_toolkit_with_nvcc_serves_where_nvcc_is_missing(
    patient: Patient, pasted: str
) -> None:
    patient.env["CUDASWITCH_DRIVER"] = "560.35.05"
    fix = said(patient, {"12.6.3": False}, pasted)
    assert fix.startswith("cudaswitch install 12.6 --from nvidia --force && ")
    assert "env 12.4.131 " in said(patient, {"12.4.131": True, "10.1.243": False}, pasted)


@pytest.mark.parametrize(
    ("installed", "wanted", "fix"),
    [
        ({"12.4.131": False, "13.0.88": True}, "12.4", "install 12.4 --from nvidia --force && "),
        ({"12.4.99": True, "12.4.131": False}, "12.4", "env 12.4.99 "),
        ({"12.4.131": True}, "12.4", "env 12.4 "),
        ({"13.0.88": False}, "13.0", "install 13.0 --from pypi --force && "),
        ({"10.1.243": False}, "10.1", "install 10.1 --from runfile --force && "),
        ({}, "11.3", "install 11.3 --from runfile && "),
        ({}, "11.8", "install 11.8 && "),
        ({}, "7.5", "install 7.5 && "),
    ],
)
def test_the_nvcc_of_pytorchs_release(
    patient: Patient, installed: dict[str, bool], wanted: str, fix: str
) -> None:
    assert f"cudaswitch {fix}" in said(patient, installed, TORCH.format(wanted))


@pytest.mark.parametrize(
    ("pasted", "fix"),
    [
        ("nvcc fatal   : Unsupported gpu architecture 'compute_86'", "env 12.4.131 "),
        ("FlashAttention is only supported on CUDA 11.6 and above.", "env 12.4.131 "),
    ],
)
def test_a_newer_nvcc_is_not_that_of_a_toolkit_without(
    patient: Patient, pasted: str, fix: str
) -> None:
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", "11.0.221"))
    assert fix in said(patient, {"12.4.131": True, "12.6.3": False}, pasted)


LOST = "OSError: lib{}: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("library", "fix"),
    [
        ("nvrtc.so.12", "install 12 --from nvidia --force && "),
        ("nvJitLink.so.12", "install 12 --from nvidia --force && "),
        ("nvToolsExt.so.1", "install 12.8 && "),
        ("nppicc.so.12", "install 12 --from nvidia --components full --force && "),
        ("nvrtc.so.11.2", "install 11.8 && "),
        ("cudart.so.12", "env 12 "),
    ],
)
def test_a_toolkit_that_was_installed_in_parts_lacks_a_library(
    patient: Patient, library: str, fix: str
) -> None:
    patient.adopt("12.6.3")
    found = patient.told(LOST.format(library))
    assert f"cudaswitch {fix}" in found["fix"]
    stem, number = library.split(".so.")
    told = f"; 12.6.3 has no lib{library}"
    assert (told in found["cause"]) == ("--force" in fix), found
    kit = patient.work / "kits/12.6.3"
    patient.library(kit / "lib64", f"lib{stem}", f"lib{library}", f"{number}.9")
    release = "12" if library.endswith(".12") else "12.6"
    if library != "nvrtc.so.11.2":
        assert f"cudaswitch env {release} " in patient.told(LOST.format(library))["fix"]


@pytest.mark.parametrize("name", ["cublas_v2.h", "cusparse.h"])
def test_a_toolkit_that_was_installed_in_parts_lacks_a_header(patient: Patient, name: str) -> None:
    kit = patient.adopt("13.0.88")
    patient.env["CUDA_HOME"] = str(kit)
    pasted = f"main.cpp:1:10: fatal error: {name}: No such file or directory"
    found = patient.told(pasted)
    assert f"; `{kit}` has no {name}" in found["cause"]
    assert found["fix"].startswith("cudaswitch install 13.0 --from pypi --force && ")
    (kit / "include" / name).write_text("")
    found = patient.told(pasted)
    assert "has no" not in found["cause"]
    assert found["fix"] == f"export CPATH={kit}/include"


def test_stubs_come_of_a_source_that_has_them(patient: Patient) -> None:
    """Of any toolkit here that has them, active or not: `use` sets no LIBRARY_PATH."""
    pasted = "/usr/bin/ld: cannot find -lcuda: No such file or directory"
    patient.env["CUDA_HOME"] = str(patient.adopt("13.2.78"))
    fix = patient.told(pasted)["fix"]
    assert fix.startswith("cudaswitch install 13.2 --from nvidia --force && ")
    stubs = patient.adopt("12.4.131") / "lib64/stubs"
    patient.library(stubs, "libcuda", "libcuda.so.1", "1")
    assert patient.told(pasted)["fix"] == f"export LIBRARY_PATH={stubs}"


@pytest.mark.parametrize("here", [True, False])
def test_the_release_in_the_path_of_an_nvcc_that_is_not_there(patient: Patient, here: bool) -> None:
    patient.adopt("13.0.88")
    if here:
        patient.adopt("11.8.89")
    fix = "cudaswitch env 11.8 " if here else "cudaswitch install 11.8 && "
    for pasted in (
        "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda-11.8/bin/nvcc'",
        "error: command '/usr/local/cuda-11.8/bin/nvcc' failed: No such file or directory",
    ):
        assert fix in patient.told(pasted)["fix"]
    pasted = "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'"
    assert "cudaswitch env 13.0.88 " in patient.told(pasted)["fix"]


def test_cmake_finds_nvcc_and_no_runtime_beside_it(patient: Patient) -> None:
    """The version that it names is of the nvcc that it has found."""
    patient.adopt("13.0.88")
    kit = patient.adopt("12.4.131")
    pasted = 'Could NOT find CUDAToolkit (missing: CUDA_CUDART) (found version "12.4.131")'
    assert "cudaswitch env 12.4 " in patient.told(pasted)["fix"]
    (kit / "lib64/libcudart.so").unlink()
    found = patient.told(pasted)
    assert "no libcudart" in found["title"]
    assert found["fix"].startswith("cudaswitch install 12.4 --from nvidia --force && ")
