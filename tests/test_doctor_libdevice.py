"""What `doctor` says about libdevice and XLA_FLAGS in an environment."""

from __future__ import annotations

import pytest

from cudaswitch.bundled import lacks_libdevice
from doctoring import CASES, Patient


@pytest.mark.parametrize(
    ("at", "version", "is_seen"),
    [
        ("nvvm/libdevice", "2.19.0", True),
        ("nvvm/libdevice", "2.18.1", False),
        ("SITE/nvidia/cuda_nvcc/nvvm/libdevice", "2.18.1", True),
        ("SITE/nvidia/cu13/nvvm/libdevice", "2.18.1", True),
        ("SITE/jaxlib/cuda/nvvm/libdevice", "2.18.1", True),
        ("SITE/nvidia/cuda_runtime/nvvm/libdevice", "2.19.0", False),
        ("lib", "2.19.0", False),
    ],
)
def test_libdevice_is_missed_where_hooks_miss_it(
    patient: Patient, at: str, version: str, is_seen: bool
) -> None:
    env = patient.virtualenv(conda=True)
    env.dist("tensorflow", version)
    for place in (env.packages / "tensorflow", env.prefix / at.replace("SITE", env.site)):
        place.mkdir(parents=True, exist_ok=True)
    (place / "libdevice.10.bc").touch()
    patient.activate(env)
    kit = patient.toolkit(patient.work / "kit", "11.2.152")
    patient.env["CUDA_HOME"] = str(kit)
    patient.on_path(kit / "bin")
    assert ("CS046" in _fixes(patient)) is lacks_libdevice(env.prefix) is not is_seen


def test_xla_is_told_of_what_an_older_tensorflow_does_not_see(patient: Patient) -> None:
    """XLA is pointed to conda's `cuda-nvcc`, whose libdevice an older TensorFlow does not see."""
    env = patient.virtualenv(conda=True)
    env.dist("tensorflow", "2.18.1")
    for place in (env.packages / "tensorflow", env.prefix / "nvvm/libdevice"):
        place.mkdir(parents=True)
    (place / "libdevice.10.bc").touch()
    patient.activate(env)
    assert _fixes(patient)["CS046"] == f"export XLA_FLAGS=--xla_gpu_cuda_data_dir={env.prefix}"


def test_flags_never_name_the_file_that_conda_has_in_lib(patient: Patient) -> None:
    env = patient.virtualenv(conda=True)
    (env.prefix / "lib/libdevice.10.bc").touch()
    patient.activate(env)
    patient.env["XLA_FLAGS"] = "--xla_gpu_cuda_data_dir=/nowhere"
    assert _fixes(patient)["CS047"] == "unset XLA_FLAGS"


def test_a_file_of_flags_is_read(patient: Patient) -> None:
    """The fix for an XLA_FLAGS that names a file adds a line to it, and is printed once."""
    CASES["CS046"](patient)
    flags = patient.work / "flags of mine"
    flags.write_text("--xla_dump_to=/d\n")
    patient.env["XLA_FLAGS"] = str(flags)
    patient.in_shell("CS046")
    assert patient.codes(2) == []
    first, _, second = flags.read_text().splitlines()
    assert first == "--xla_dump_to=/d"
    assert second.startswith("--xla_gpu_cuda_data_dir=/")


def test_of_folders_in_a_file_of_flags_the_last_counts(patient: Patient) -> None:
    flags = patient.work / "flags"
    flags.write_text("--xla_gpu_cuda_data_dir=/nowhere\n")
    patient.env["XLA_FLAGS"] = str(flags)
    assert _fixes(patient)["CS047"] == f"vi +1 {flags}"
    kit = patient.toolkit(patient.work / "kit")
    patient.env["CUDA_HOME"] = str(kit)
    patient.on_path(kit / "bin")
    patient.in_shell("CS047")
    assert (patient.codes(1), patient.codes(2)) == (["CS047"], [])


def _fixes(patient: Patient) -> dict[str, str]:
    """Return the fixes as found with this machine's own /usr/local/cuda hidden."""
    patient.in_shell("none")
    return {row["code"]: row["fix"] for row in patient.findings(1)}
