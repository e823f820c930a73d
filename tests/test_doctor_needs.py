"""What `doctor` proposes for frameworks that cannot run here, and beside CUDA of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from doctoring import CASES, Patient
from doctoring.environment import link


def test_what_cannot_run_here_is_explained(patient: Patient) -> None:
    """`use auto` and `install auto` refuse what this GPU cannot run."""
    CASES["CS041"](patient)
    patient.gpu("8.9")
    patient.in_shell("none")
    assert {one["code"]: one["fix"] for one in patient.findings(1)}["CS041"] == "cudaswitch resolve"
    pasted = "TypeError: expected str, bytes or os.PathLike object, not NoneType: nvidia.cublas.lib"
    assert patient.told(pasted)["fix"] == "cudaswitch resolve"


def test_a_library_to_load_goes_before_cuda_of_the_environment(patient: Patient) -> None:
    """A wheel of CUDA keeps toolkits out of LD_LIBRARY_PATH, unless they are asked to go there."""
    env = patient.virtualenv()
    env.dist("nvidia-cublas-cu12", "12.1.3.1")
    env.file("nvidia/cublas/lib/libcublas.so.12")
    patient.activate(env)
    pasted = "OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory"
    fix = patient.told(pasted)["fix"]
    assert fix.startswith("cudaswitch install 11 && ") and "env 11 --libraries always" in fix
    kit = patient.adopt("11.8.89")
    fix = patient.told(pasted)["fix"]
    done = subprocess.run(
        ["bash", "-c", f'{fix}\necho "$LD_LIBRARY_PATH"'],
        capture_output=True,
        text=True,
        check=True,
        env=patient.home.env | patient.env,
    )
    assert done.stdout == f"{kit}/lib64\n", done.stderr


def test_a_toolkit_ahead_of_wheels_is_left_out_by_the_name_of_a_link(patient: Patient) -> None:
    """Most lists name /usr/local/cuda, which is a link."""
    CASES["CS040"](patient)
    (patient.work / "cuda").symlink_to("cuda-12.1")
    patient.env["LD_LIBRARY_PATH"] = f"{patient.work}/cuda/lib64:/usr/lib"
    patient.in_shell("CS040")
    [found] = patient.findings(1)
    assert (found["code"], found["fix"]) == ("CS040", "export LD_LIBRARY_PATH=/usr/lib")
    assert patient.codes(2) == []


def test_a_toolkit_behind_wheels_is_not_ahead_of_them(patient: Patient) -> None:
    """ONNX Runtime looks for no wheels: without `import torch`, it gets what the cache has."""
    env = patient.virtualenv()
    env.dist("onnxruntime-gpu", "1.20.0")
    env.dist("nvidia-cuda-runtime-cu12", "12.1.105")
    runtime = link(env.packages / "nvidia/cuda_runtime/lib/libcudart.so.12")
    link(env.packages / "onnxruntime/capi/libonnxruntime_providers_cuda.so", runtime)
    (patient.work / "etc").mkdir()
    link(patient.work / "local/cuda/lib64/libcudart.so.12")
    (patient.work / "conf/cuda.conf").write_text("/usr/local/cuda/lib64\n")
    patient.activate(env)
    patient.env["LD_LIBRARY_PATH"] = "/usr/lib"
    patient.in_shell("none")
    assert "CS040" not in patient.codes(1)


def test_a_toolkit_without_the_cudnn_that_a_framework_needs(patient: Patient) -> None:
    kit = _toolkit_for(patient, "tensorflow", "2.4.4", "11.0.221")
    patient.env["XLA_FLAGS"] = f"--xla_gpu_cuda_data_dir={kit}"
    patient.in_shell("none")
    found = {one["code"]: one for one in patient.findings(1)}["CS042"]
    assert found["evidence"].endswith("TensorFlow 2.4.4 needs cuDNN 8.0: no libcudnn.so.8 is found")
    assert found["fix"].startswith("cudaswitch install auto && ")
    patient.lay_library(kit / "lib64", "libcudnn", "libcudnn.so.8", "8.0.5")
    patient.in_shell("none")
    assert "CS042" not in patient.codes(1)


def test_a_wheel_s_cudnn_may_be_what_a_framework_loads(patient: Patient) -> None:
    """JAX and ONNX Runtime load it by its path, also beside a toolkit's CUDA."""
    _toolkit_for(patient, "onnxruntime-gpu", "1.23.2", "12.8.1", "nvidia-cudnn-cu12", "9.10.2.21")
    patient.in_shell("none")
    assert "CS042" not in patient.codes(1)


def test_a_cudnn_inside_a_wheel_is_not_looked_for(patient: Patient) -> None:
    kit = _toolkit_for(patient, "mxnet-cu101", "1.5.1", "10.1.243")
    patient.lay_library(kit / "lib64", "libcudnn", "libcudnn.so.8", "8.0.5")
    patient.in_shell("none")
    assert "CS042" not in patient.codes(1)


def test_a_toolkit_without_a_library_that_a_framework_opens(patient: Patient) -> None:
    """If no whole one is here, `use auto` alone would choose the same again."""
    env = patient.virtualenv()
    env.dist("jax-cuda12-plugin", "0.6.2")
    env.dist("nvidia-cudnn-cu12", "9.8.0.87")
    patient.activate(env)
    kit = patient.adopt("12.4.131")
    patient.env |= {"CUDA_HOME": str(kit), "LD_LIBRARY_PATH": f"{kit}/lib64"}
    for name in ("libcufft.so.11", "libcupti.so.12"):
        (kit / "lib64" / name).unlink()
    patient.in_shell("none")
    found = {one["code"]: one for one in patient.findings(1)}["CS086"]
    assert found["evidence"] == "JAX 0.6.2 looks for libcufft.so.11 and libcupti.so.12 in vain"
    assert found["fix"].startswith("cudaswitch install auto && ")
    env.dist("nvidia-cufft-cu12", "11.3.3.83")
    cupti = patient.lay_library(kit / "CUPTI", "libcupti", "libcupti.so.12", "2024.1.1")
    patient.env["LD_LIBRARY_PATH"] += f":{cupti.parent}"
    patient.in_shell("none")
    assert "CS086" not in patient.codes(1)


@pytest.mark.parametrize(
    ("release", "code"), [("12.3.0", "CS041"), ("13.0.0", "CS086"), ("14.2.0", "CS086")]
)
def test_a_cupy_looks_for_the_runtime_up_to_12(patient: Patient, release: str, code: str) -> None:
    env = patient.virtualenv()
    env.dist("cupy-cuda12x", release)
    patient.activate(env)
    patient.in_shell("none")
    assert patient.codes(1) == [code]


def test_a_runtime_that_is_linked_into_a_framework_is_not_looked_for(patient: Patient) -> None:
    """A folder with cuBLAS alone is all that CTranslate2 needs."""
    env = patient.virtualenv()
    env.dist("ctranslate2", "4.8.0")
    patient.activate(env)
    pasted = "RuntimeError: Library libcublas.so.12 is not found or cannot be loaded"
    told = patient.told(pasted)
    assert "here, CS086: CTranslate2 4.8.0 looks for libcublas.so.12" in told["evidence"]
    assert told["fix"].startswith("cudaswitch install auto && ")
    library = patient.lay_library(patient.work / "own", "libcublas", "libcublas.so.12", "12.4.5")
    patient.env["LD_LIBRARY_PATH"] = str(library.parent)
    patient.in_shell("none")
    assert not {"CS041", "CS086"} & set(patient.codes(1))


def _toolkit_for(patient: Patient, dist: str, version: str, release: str, *wheel: str) -> Path:
    """Lead the loader to a toolkit without cuDNN, in a virtualenv with a framework."""
    env = patient.virtualenv()
    env.dist(dist, version)
    if wheel:
        env.dist(*wheel)
    patient.activate(env)
    kit = patient.toolkit(patient.work / "kit", release)
    patient.env |= {"CUDA_HOME": str(kit), "LD_LIBRARY_PATH": f"{kit}/lib64"}
    patient.on_path(kit / "bin")
    return kit


ONNX = "Failed to load library libonnxruntime_providers_cuda.so with error: "


@pytest.mark.parametrize(
    ("said", "mine", "fix"),
    [
        ("ImportError: libcudart.so.11.0", True, "cudaswitch install auto "),
        ("ImportError: libcudart.so.12", False, "cudaswitch install 12 "),
        ("OSError: libcublas.so.12", False, "cudaswitch install 12 "),
        ("Could not load library libcublasLt.so.10. Error: x", False, "cudaswitch install 10.2 "),
        ("Error: libcudnn.so.8", True, "cudaswitch install auto "),
        ("Error: libcudnn.so.9", False, "cudaswitch install 13."),
        (f"{ONNX}libcublasLt.so.11", True, "cudaswitch install auto "),
        (f"{ONNX}libcublasLt.so.12", False, "cudaswitch resolve"),
        (f"{ONNX}libcudnn.so.9", False, "cudaswitch resolve"),
    ],
)
def test_what_a_framework_needs_is_no_help_to_others(
    patient: Patient, said: str, mine: bool, fix: str
) -> None:
    """TensorFlow 2.10 wants CUDA 11.2 and cuDNN 8.1, which have nothing of another release."""
    env = patient.virtualenv()
    env.dist("tensorflow", "2.10.0")
    (env.packages / "tensorflow").mkdir()
    patient.activate(env)
    told = patient.told(f"{said}: cannot open shared object file: No such file or directory")
    assert ("here, CS041: " in told["evidence"]) == mine
    assert told["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ("ImportError: libcudart.so.11.0: ", True),
        ("ImportError: libcublas.so.13: ", True),
        ("E   ImportError: libcudart.so.10.2: ", True),
        ("ImportError: libcudart.so.12: ", False),
        ("ImportError: libcurand.so.10: ", False),
        ("./a: error while loading shared libraries: libcudart.so.11.0: ", False),
        ("RuntimeError: Library libcublas.so.11 is not found or ", False),
    ],
)
def test_an_extension_for_another_cuda_than_pytorchs(
    patient: Patient, said: str, other: bool
) -> None:
    """A toolkit of that CUDA would go before PyTorch's own libraries, and help only one of them."""
    env = patient.virtualenv()
    env.torch("2.1.0+cu121", "12.1")
    env.dist("nvidia-cublas-cu12", "12.1.3.1")
    env.file("nvidia/cublas/lib/libcublas.so.12")
    patient.activate(env)
    told = patient.told(f"{said}cannot open shared object file: No such file or directory")
    assert ("PyTorch here is for CUDA 12.1: an extension" in told["cause"]) == other
    assert (told["fix"] == "cudaswitch resolve") == other
