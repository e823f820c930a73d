"""What `doctor` says about the driver and the GPU, for the active toolkit and for frameworks."""

from __future__ import annotations

import json

import pytest

from doctoring import CASES, Patient


@pytest.mark.parametrize(
    ("active", "cc", "told"),
    [
        ("12.8.93", "10.3", ("CS052", "13.4.2")),  # knows 12.0 and not 10.3
        ("12.9.86", "10.3", None),
        ("13.0.88", "12.0", None),
        ("13.0.88", "10.7", ("CS052", "13.4.2")),
        ("13.0.88", "6.1", ("CS053", "12.9.86")),
        ("99.1.0", "6.1", ("CS053", "12.9.86")),  # newer than any table
        ("99.1.0", "19.0", None),
    ],
)
def test_a_gpu_that_the_toolkit_does_not_know(
    patient: Patient, active: str, cc: str, told: tuple[str, str] | None
) -> None:
    kit = patient.toolkit(patient.work / "kit", active)
    patient.env |= {"CUDA_HOME": str(kit), "CUDASWITCH_DRIVER": "999.1"}
    patient.on_path(kit / "bin")
    patient.gpu(cc)
    for version in ("12.9.86", "13.4.2"):
        patient.adopt(version)
    patient.in_shell("none")
    found = {one["code"]: one["fix"] for one in patient.findings(1)}
    of_gpus = {code: fix for code, fix in found.items() if code in ("CS052", "CS053")}
    assert of_gpus.keys() == ({told[0]} if told else set())
    if told:
        assert told[1] in of_gpus[told[0]]


def test_a_toolkit_between_what_it_serves_is_not_proposed(patient: Patient) -> None:
    """CUDA 13.3, which knows the GPUs 10.3 and 12.0 but not 10.7, is not proposed for 10.7."""
    kit = patient.toolkit(patient.work / "kit", "13.0.88")
    patient.env |= {"CUDA_HOME": str(kit), "CUDASWITCH_DRIVER": "999.1"}
    patient.on_path(kit / "bin")
    patient.gpu("10.7")
    patient.adopt("13.3.1")
    patient.in_shell("none")
    fixes = {one["code"]: one["fix"] for one in patient.findings(1)}
    assert fixes["CS052"].startswith("cudaswitch install ")
    assert "13.3" not in fixes["CS052"]


def torch(patient: Patient, cuda: str) -> None:
    """Activate an environment with a PyTorch that brings a CUDA."""
    env = patient.virtualenv()
    env.torch(f"2.6.0+cu{cuda.replace('.', '')}", cuda, f"nvidia-cublas-cu12=={cuda}.5.8")
    env.dist("nvidia-cublas-cu12", f"{cuda}.5.8")
    patient.activate(env)


TOO_OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
INSUFFICIENT = "CUDA driver version is insufficient for CUDA runtime version"


@pytest.mark.parametrize(
    ("line", "driver", "cause", "fix"),
    [
        (TOO_OLD, "", "the driver was made for CUDA up to 11.4", "cudaswitch compat torch"),
        (TOO_OLD, "470.57.02", "CUDA up to 11.4", "cudaswitch compat torch"),
        (INSUFFICIENT, "", "`nvidia-smi` shows", "nvidia-smi"),
        (INSUFFICIENT, "470.57.02", "470.57.02 was made for CUDA up to 11.4", "cudaswitch install"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "", "`nvidia-smi` shows", "nvidia-smi"),
        ("cudaErrorUnsupportedPtxVersion", "470.57.02", "up to 11.4", "cudaswitch install 11.4"),
    ],
)
def test_a_driver_that_is_too_old(
    patient: Patient, line: str, driver: str, cause: str, fix: str
) -> None:
    patient.program(patient.work / "bin/nvidia-smi", "#!/bin/sh\nexit 9\n")
    patient.env["CUDASWITCH_DRIVER"] = driver
    found = patient.told(line)
    assert cause in found["cause"]
    assert found["fix"].startswith(fix)
    assert "latest" not in found["fix"]


def test_a_driver_that_is_older_than_every_cuda_here(patient: Patient) -> None:
    kit = patient.toolkit(patient.work / "kit", "13.0.88")
    patient.env |= {"CUDA_HOME": str(kit), "CUDASWITCH_DRIVER": "340.108"}
    patient.on_path(kit / "bin")
    patient.program(patient.work / "bin/apt-cache")
    patient.in_shell("none")
    fixes = {one["code"]: one["fix"] for one in patient.findings(1)}
    assert fixes["CS050"] == "update the NVIDIA driver to 580.65.06 or newer"


def test_the_driver_and_pytorch_before_the_driver_and_the_toolkit(patient: Patient) -> None:
    """For a PyTorch that brings its own CUDA another build is proposed, not a toolkit."""
    torch(patient, "12.4")
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", "13.0.88"))
    patient.env["CUDASWITCH_DRIVER"] = "470.57.02"
    found = patient.told(TOO_OLD)
    assert "CS051: " in found["evidence"]
    assert "torch==2.6.0+cu118" in found["evidence"]
    assert "install 11.4" not in found["fix"]


@pytest.mark.parametrize(
    ("packages", "wsl", "fix"),
    [
        (
            "nvidia-driver-470 nvidia-driver-535-server",
            False,
            "update the NVIDIA driver to 525.60.13",
        ),
        ("nvidia-driver-535", True, "update the NVIDIA driver to 525.60.13 or newer in Windows"),
        ("nvidia-driver-535 nvidia-driver-570", False, "apt install nvidia-driver-570"),
    ],
)
def test_a_driver_for_the_framework(patient: Patient, packages: str, wsl: bool, fix: str) -> None:
    env = patient.virtualenv()
    env.torch("2.4.0+cu121", "12.1", "nvidia-cublas-cu12==12.1.3.1")
    env.dist("nvidia-cublas-cu12", "12.1.3.1")
    patient.activate(env)
    patient.env["CUDASWITCH_DRIVER"] = "418.39"
    listed = f"#!/bin/sh\nprintf '%s\\n' {packages}\n"
    patient.program(patient.work / "bin/apt-cache", listed)
    if wsl:
        CASES["CS059"](patient)
    patient.in_shell("none")
    fixes = {one["code"]: one["fix"] for one in patient.findings(1)}
    assert fixes["CS051"].startswith(fix)


@pytest.mark.parametrize(
    ("line", "brought", "active", "fix"),
    [
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "12.4", None, "cudaswitch compat torch"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "12.4", "12.2.140", "cudaswitch compat torch"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "12.4", "12.6.77", "cudaswitch install 12.2 "),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "12.1", None, "cudaswitch install 12.2 "),
        (INSUFFICIENT, "12.4", None, "cudaswitch compat torch"),
    ],
)
def test_what_a_framework_brings_is_not_cured_by_a_toolkit(
    patient: Patient, line: str, brought: str, active: str | None, fix: str
) -> None:
    torch(patient, brought)
    patient.env["CUDASWITCH_DRIVER"] = "535.104.05"  # of CUDA 12.2
    if active:
        patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", active))
    assert patient.told(line)["fix"].startswith(fix)


def test_of_a_major_alone_the_builds_are_named(patient: Patient) -> None:
    """For JAX's plugin, which names only major 12, builds are named: its minor may be too new."""
    env = patient.virtualenv()
    for dist, version in (
        *((name, "0.4.30") for name in ("jax", "jaxlib", "jax-cuda12-plugin")),
        ("nvidia-cuda-runtime-cu12", "12.4.127"),
        ("nvidia-cudnn-cu12", "9.1.0.70"),
    ):
        env.dist(dist, version)
    patient.activate(env)
    patient.env["CUDASWITCH_DRIVER"] = "535.104.05"
    pasted = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
    assert patient.told(pasted)["fix"] == "cudaswitch compat jax"


def test_ptx_needs_an_older_toolkit_than_the_driver_runs(patient: Patient) -> None:
    """Minor version compatibility lets the driver run 12.4, but not compile its PTX."""
    patient.env["CUDASWITCH_DRIVER"] = "535.104.05"
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", "13.0.88"))
    for version in ("12.1.105", "12.2.140", "12.4.131"):
        patient.adopt(version)
    assert "env 12.2" in patient.told("CUDA_ERROR_UNSUPPORTED_PTX_VERSION")["fix"]
    assert "env 12.4" in patient.told(INSUFFICIENT)["fix"]


@pytest.mark.parametrize("code", ["CS055", "CS056", "CS057"])
def test_root_needs_no_sudo(patient: Patient, code: str) -> None:
    """In a container, everybody is root, and nobody has sudo."""
    CASES[code](patient)
    patient.program(patient.work / "bin/sudo", "#!/bin/sh\nexit 127\n")
    patient.in_shell(code)
    assert code in patient.codes(1) and code not in patient.codes(2)


def test_who_may_not_write_needs_sudo(patient: Patient) -> None:
    CASES["CS030"](patient)
    kit = patient.work / "kit"
    for mode, root in ((0o555, "sudo "), (0o755, "")):
        kit.chmod(mode)
        done = patient.home.run_plainly("doctor", "--json", **patient.env)
        fixes = {one["code"]: one["fix"] for one in json.loads(done.stdout)["findings"]}
        assert fixes["CS030"] == f"{root}ln -s lib {kit}/lib64"


def test_the_toolkit_of_path_is_found_where_cuda_home_is_gone(patient: Patient) -> None:
    CASES["CS054"](patient)
    patient.env["CUDA_HOME"] = "/nowhere/cuda-9.0"
    patient.in_shell("CS054")
    assert sorted(patient.codes(1)) == ["CS022", "CS054"]
    assert patient.codes(2) == ["CS022"]
