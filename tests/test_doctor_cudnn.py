"""A pasted message about cuDNN is answered with the one that the framework takes."""

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
    ("torch", "own", "wheel", "asked", "fix"),
    [
        ("2.1.0+cu121", "12.1", "8.9.2.26", 8, "export LD_LIBRARY_PATH={}/nvidia/cudnn/lib"),
        ("2.6.0+cu124", "12.4", "9.1.0.70", 9, "export LD_LIBRARY_PATH={}/nvidia/cudnn/lib"),
        ("2.1.0+cu121", "12.1", "", 8, "cudaswitch install 12.1 --cudnn 8 && "),
        ("2.6.0+cu124", "12.4", "9.1.0.70", 8, "cudaswitch resolve"),
    ],
)
def test_a_cudnn_that_is_opened_by_name_beside_wheels(
    patient: Patient, torch: str, own: str, wheel: str, asked: int, fix: str
) -> None:
    """A wheel's is found by LD_LIBRARY_PATH; a toolkit of another release may not go first there.

    A toolkit goes there only if that is asked for, since the environment brings CUDA.
    """
    env = patient.virtualenv()
    env.torch(torch, own, f"nvidia-cudnn-cu12=={wheel}" if wheel else "nvidia-cudnn-cu12")
    for name, version in (("cublas", "12.1.3.1"), ("cudnn", wheel)):
        if version:
            env.dist(f"nvidia-{name}-cu12", version)
            (env.packages / f"nvidia/{name}/lib").mkdir(parents=True)
    patient.activate(env)
    library = f"libcudnn_ops_infer.so.{asked}"
    said = f"Could not load library {library}. Error: {library}: cannot open shared object file"
    told = patient.told(said)["fix"]
    assert told.startswith(fix.format(env.packages))
    assert ("--libraries always" in told) == (not wheel)


def test_the_cudnn_of_condas_jax_comes_from_conda(patient: Patient) -> None:
    """conda-forge's jaxlib does not look for a wheel."""
    env = patient.virtualenv(conda=True)
    env.conda("jaxlib", "0.7.2", "cuda129py312h1", "cudnn >=9.13.1,<10.0a0", "cuda-version >=12.9")
    env.conda("cudnn", "9.10.1.4", "h7d33bf5_0")
    env.conda("cuda-version", "12.9", "h4f385c5_3")
    env.conda("libcublas", "12.9.1.4", "h9ab20c4_0")
    for name in ("jax", "jaxlib"):
        env.dist(name, "0.7.2")
    patient.activate(env)
    pasted = "Loaded runtime CuDNN library: 9.10.1 but source was compiled with: 9.13.1."
    assert patient.told(pasted)["fix"] == "conda install -c conda-forge 'cudnn>=9.13,<10'"


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


@pytest.mark.parametrize(
    ("with_cudnn", "fix"),
    [
        (["12.4.131"], "cudaswitch install 13.0 --cudnn 9 && "),
        (["12.4.131", "13.2.68"], "cudaswitch env 13.2.68+cudnn9.13.0 "),
        (["13.0.88", "13.2.68"], "cudaswitch env 13.0.88+cudnn9.13.0 "),
    ],
)
def test_a_cudnn_to_build_for_pytorch_is_for_its_major(
    patient: Patient, with_cudnn: list[str], fix: str
) -> None:
    """PyTorch refuses to build with an nvcc of another CUDA major than its own."""
    for version in with_cudnn:
        kit = patient.toolkit(patient.work / f"kits/{version}", version)
        patient.lay_library(kit / "lib64", "libcudnn", "libcudnn.so.9", "9.13.0")
        parts = zip(("MAJOR", "MINOR", "PATCHLEVEL"), (9, 13, 0), strict=True)
        lines = [f"#define CUDNN_{name} {number}\n" for name, number in parts]
        (kit / "include/cudnn_version.h").write_text("".join(lines))
        patient.run("adopt", kit)
    env = patient.virtualenv()
    env.torch("2.9.0+cu130", "13.0", "nvidia-cudnn-cu13==9.13.0.50")
    env.dist("nvidia-cuda-runtime", "13.0.96")
    patient.activate(env)
    found = patient.told("k.cu:6:10: fatal error: cudnn.h: No such file or directory")
    assert fix in found["fix"]


def test_a_newer_cudnn_where_the_framework_takes_it_from(patient: Patient) -> None:
    pasted = "Loaded runtime CuDNN library: 8.1.0 but source was compiled with: 8.6.0."
    env = patient.virtualenv()
    env.torch("2.1.0+cu121", "12.1", "nvidia-cudnn-cu12==8.1.0.1")
    env.dist("nvidia-cudnn-cu12", "8.9.2.26")
    (env.packages / "nvidia/cudnn/lib").mkdir(parents=True)
    patient.activate(env)
    found = patient.told(pasted)
    assert found["fix"] == f"{env.prefix}/bin/python -m pip install 'nvidia-cudnn-cu12>=8.6,<9'"


@pytest.mark.parametrize(
    ("built", "such"),
    [("8.6.0", "11.8 --cudnn 8"), ("8.9.6", "12.3 --cudnn 8"), ("9.99.0", "13.1 --cudnn 9")],
)
def test_a_newer_cudnn_is_for_a_cuda_that_is_loaded(
    patient: Patient, built: str, such: str
) -> None:
    """Without an environment the table of releases says for which CUDA a newer cuDNN is."""
    pasted = f"Loaded runtime CuDNN library: 8.1.0 but source was compiled with: {built}."
    assert patient.told(pasted)["fix"].startswith(f"cudaswitch install {such} && ")
