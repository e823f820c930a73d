"""What `doctor` proposes for frameworks that cannot run here, and beside CUDA of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from doctoring import CASES, Patient


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


def test_a_cudnn_inside_a_wheel_is_not_looked_for(patient: Patient) -> None:
    kit = _toolkit_for(patient, "mxnet-cu101", "1.5.1", "10.1.243")
    patient.lay_library(kit / "lib64", "libcudnn", "libcudnn.so.8", "8.0.5")
    patient.in_shell("none")
    assert "CS042" not in patient.codes(1)


def _toolkit_for(patient: Patient, dist: str, version: str, release: str) -> Path:
    """Lead the loader to a toolkit without cuDNN, in a virtualenv with a framework."""
    env = patient.virtualenv()
    env.dist(dist, version)
    patient.activate(env)
    kit = patient.toolkit(patient.work / "kit", release)
    patient.env |= {"CUDA_HOME": str(kit), "LD_LIBRARY_PATH": f"{kit}/lib64"}
    patient.on_path(kit / "bin")
    return kit
