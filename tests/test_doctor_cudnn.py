"""A pasted message about cuDNN is answered with the wheel that the framework takes."""

from __future__ import annotations

import pytest

from doctoring import Patient


def test_the_cudnn_that_jax_was_built_with(patient: Patient) -> None:
    env = patient.virtualenv()
    env.dist("jaxlib", "0.4.25+cuda12.cudnn89")
    env.dist("nvidia-cuda-runtime-cu12", "12.3.101")
    env.dist("nvidia-cudnn-cu12", "9.1.0.70")
    (env.packages / "nvidia/cudnn/lib").mkdir(parents=True)
    (env.packages / "nvidia/cudnn/lib/libcudnn.so.9").touch()
    patient.activate(env)
    found = patient.told(
        "CUDA backend failed to initialize: Unable to load cuDNN. Is it installed?"
    )
    assert found["fix"].endswith("-m pip install 'nvidia-cudnn-cu12>=8.9,<9'")


@pytest.mark.parametrize(
    "pasted",
    [
        "PyTorch was compiled  against (8, 9, 2) but found runtime version (8, 1, 0).",
        "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    ],
)
def test_the_cudnn_wheel_that_pytorch_wants(patient: Patient, pasted: str) -> None:
    env = patient.virtualenv()
    env.torch("2.1.0+cu121", "12.1", "nvidia-cudnn-cu12==8.9.2.26")
    env.dist("nvidia-cudnn-cu12", "8.1.0.77")
    patient.activate(env)
    found = patient.told(pasted)
    assert "CS045: " in found["evidence"]
    assert found["fix"].endswith("-m pip install --no-deps 'nvidia-cudnn-cu12==8.9.2.26.*'")
