"""Several libraries that one text finds missing: one CUDA release has them all."""

from __future__ import annotations

import json

import pytest

from doctoring import Patient

TENSORFLOW = (
    "2020-08-14 10:11:12.123456: W tensorflow/stream_executor/platform/default/dso_loader.cc:59]"
    " Could not load dynamic library '{0}'; dlerror: {0}: cannot open shared object file:"
    " No such file or directory"
)
OTHERS = "ImportError: {}: cannot open shared object file: No such file or directory"
SKIPPED = "Cannot dlopen some GPU libraries.\nSkipping registering GPU devices..."
NAMES = ("cudart", "cublas", "cufft", "curand", "cusolver", "cusparse")
TF_2_1 = ("cudart.so.10.1", *(f"{name}.so.10" for name in NAMES[1:]))
TF_2_4 = ("cudart.so.11.0", "cublas.so.11", "cublasLt.so.11", "cufft.so.10", "curand.so.10")
TF_2_4 = (*TF_2_4, "cusolver.so.10", "cusparse.so.11")
TF_2_5 = (*TF_2_4[:-2], "cusolver.so.11", "cusparse.so.11")


def told(patient: Patient, *libraries: str, says: str = TENSORFLOW) -> dict[str, str]:
    """Paste what a program says about libraries; return the command of each finding."""
    lines = [says.format(f"lib{library}") for library in libraries]
    pasted = "\n".join([*lines, *([SKIPPED] if says == TENSORFLOW else [])])
    done = patient.home.run("doctor", "--json", stdin=pasted, **patient.env)
    return {one["code"]: one["fix"] for one in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize(
    ("libraries", "cudnn", "release"),
    [
        ([f"{name}.so.10.0" for name in NAMES], 7, "10.0"),
        (TF_2_1, 7, "10.1"),
        (TF_2_4, 8, "11.0"),
        (TF_2_5, 8, "11.8"),
    ],
)
def test_the_log_of_a_tensorflow(
    patient: Patient, libraries: list[str], cudnn: int, release: str
) -> None:
    """All libraries of a log decide the release, as some have number 10 from CUDA 10.1 to 13."""
    fixes = told(patient, *libraries, f"cudnn.so.{cudnn}")
    last = "CS107" if cudnn == 7 else "CS165"
    assert list(fixes) == ["CS108", "CS109", last]
    for code, fix in fixes.items():
        such = f" --cudnn {cudnn}" if code == last else ""
        assert fix.startswith(f"cudaswitch install {release}{such} && "), fixes


@pytest.mark.parametrize(
    ("library", "release"),
    [
        ("curand.so.10", "11"),
        ("cusolver.so.11", "11.8"),
        ("cusolver.so.10", "11.0"),
        ("cublas.so.12", "12"),
    ],
)
def test_an_old_tensorflow_is_for_no_cuda_12(patient: Patient, library: str, release: str) -> None:
    """An old TensorFlow gets no CUDA 12, except for a library of 12, which newer ones name."""
    for active in (False, True):
        if active:
            kit = patient.adopt("12.4.131")
            (kit / "lib64/libcublas.so.12").unlink()
            patient.env["CUDA_HOME"] = str(kit)
        [fix] = told(patient, library).values()
        wanted = "12.4.1" if active and library.endswith(".12") else release
        assert fix.startswith(f"cudaswitch install {wanted} "), fix


def test_the_framework_here_knows_its_cuda_better(patient: Patient) -> None:
    env = patient.virtualenv()
    env.torch("2.4.0+cu124", "12.4")
    patient.activate(env)
    [fix] = told(patient, "cusolver.so.11").values()
    assert fix.startswith("cudaswitch install 12.4 && ")


def test_a_toolkit_that_has_them_all_goes_first(patient: Patient) -> None:
    """A toolkit that has all the libraries goes before newer ones that lack one or are too new."""
    for version in ("11.2.152", "11.5.119", "12.4.131"):
        patient.adopt(version)
    (patient.work / "kits/11.5.119/lib64/libcusolver.so.11").unlink()
    fixes = told(patient, "cudart.so.11.0", "cusolver.so.11")
    assert set(fixes) == {"CS108", "CS109"}
    for fix in fixes.values():
        assert "cudaswitch env 11.2 " in fix


@pytest.mark.parametrize(
    ("libraries", "releases"),
    [
        (("cudart.so.12", "curand.so.10", "cudnn.so.9"), ["12", "12", "12.9 --cudnn 9"]),
        (("curand.so.10", "cufft.so.11", "cudnn.so.8"), ["12", "12.2 --cudnn 8"]),
        # Two programs, each with a CUDA of its own.
        (("cudart.so.11.0", "cublas.so.12"), ["11", "12"]),
    ],
)
def test_what_other_programs_miss(
    patient: Patient, libraries: tuple[str, ...], releases: list[str]
) -> None:
    fixes = told(patient, *libraries, says=OTHERS)
    assert [fix.partition(" && ")[0] for fix in fixes.values()] == [
        f"cudaswitch install {release}" for release in releases
    ]


def test_libraries_that_are_not_named(patient: Patient) -> None:
    """Libraries that a log does not name stay unknown, and TensorRT's is none that GPUs need."""
    assert set(told(patient)) == {"CS110"}
    assert set(told(patient, "nvinfer.so.7")) == {"CS110", "CS173"}
    assert set(told(patient, "cudnn.so.8")) == {"CS165"}
