"""Pasted messages about what a toolkit lacks: one that has it is proposed, and no other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import builders
from builders.redist import redist_index
from builders.tree import Content, File
from checks import succeeded
from cudaswitch.platforms import current_platform
from doctoring import Patient
from doctoring.patient import OwnEnv

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
    """Return the command for a message where toolkits are installed, with nvcc or without."""
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
        ({"12.4.1": False, "13.0.88": True}, "12.4", "install 12.4 --from nvidia --force && "),
        ({"12.4.131": False, "13.0.88": True}, "12.4", "install 12.4.1 --from nvidia && "),
        ({"12.4.99": True, "12.4.131": False}, "12.4", "env 12.4.99 "),
        ({"12.4.131": True}, "12.4", "env 12.4 "),
        ({"13.0.0": False}, "13.0", "install 13.0 --from pypi --force && "),
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
        ("cufile.so.0", "install 13 --components full && "),
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
    patient.lay_library(kit / "lib64", f"lib{stem}", f"lib{library}", f"{number}.9")
    release = "12" if library.endswith(".12") else "12.6"
    if library != "nvrtc.so.11.2":
        assert f"cudaswitch env {release} " in patient.told(LOST.format(library))["fix"]


BUILTINS = "nvrtc: error: failed to open libnvrtc-builtins.so.{}.\n  Make sure that"


def test_a_toolkit_that_has_the_builtins_of_nvrtc(patient: Patient) -> None:
    """nvrtc's builtins are of one release, which is proposed whatever LD_LIBRARY_PATH has."""
    kit = patient.adopt("12.8.93")
    patient.env["LD_LIBRARY_PATH"] = f"{kit}/lib64"
    assert patient.told(BUILTINS.format("12.6"))["fix"].startswith("cudaswitch install 12.6 && ")
    found = patient.told(BUILTINS.format("12.8"))
    assert "; 12.8.93 has no libnvrtc-builtins.so.12.8" in found["cause"]
    assert found["fix"].startswith("cudaswitch install 12.8.2 --from nvidia && ")
    (kit / "lib64/libnvrtc-builtins.so.12.8").touch()
    assert "cudaswitch env 12.8 " in patient.told(BUILTINS.format("12.8"))["fix"]


@pytest.mark.parametrize("name", ["nvToolsExt.h", "nvToolsExtCudaRt.h", "nvtx3.hpp"])
def test_headers_of_nvtx_3_are_in_every_toolkit(patient: Patient, name: str) -> None:
    pasted = f"/src/prof.cpp:3:10: fatal error: nvtx3/{name}: No such file or directory"
    kit = patient.adopt("13.0.88")
    patient.env["CUDA_HOME"] = str(kit)
    found = patient.told(pasted)
    assert f"has no nvtx3/{name}" in found["cause"]
    assert found["fix"].startswith("cudaswitch install 13.0.3 --from pypi && ")
    (kit / "include/nvtx3").mkdir()
    assert patient.told(pasted)["fix"] == f"export CPATH={kit}/include"


def test_a_jax_that_was_built_with_a_newer_cuda(patient: Patient) -> None:
    pasted = "Found CUDA version 12010, but JAX was built against version 12020, which is newer."
    env = patient.virtualenv()
    env.dist("jax-cuda12-plugin", "0.4.26")
    patient.activate(env)
    assert patient.told(pasted)["fix"].startswith("cudaswitch install 12.2 && ")
    patient.adopt("12.2.140")
    assert "cudaswitch env 12.2 " in patient.told(pasted)["fix"]


def test_one_of_the_libraries_that_cuda_pathfinder_names(patient: Patient) -> None:
    """cuda-pathfinder names a library of each major; the one that serves here is proposed."""
    pasted = 'Error: Failure finding "libnvrtc.so.13 or libnvrtc.so.12": No such file: libnvrtc'
    assert patient.told(pasted)["fix"].startswith("cudaswitch install 13 && ")
    patient.env["CUDASWITCH_DRIVER"] = "570.86.15"
    assert patient.told(pasted)["fix"].startswith("cudaswitch install 12 && ")
    patient.env["CUDA_HOME"] = str(patient.adopt("13.0.88"))
    found = patient.told(pasted)
    assert found["fix"].startswith("cudaswitch install 13.0.3 --from pypi && ")
    assert "; 13.0.88 has no libnvrtc.so.13" in found["cause"]
    env = patient.virtualenv()
    env.dist("cupy-cuda12x", "14.2.0")
    patient.activate(env)
    assert patient.told(pasted)["fix"].startswith("cudaswitch install 12 && ")


@pytest.mark.parametrize(
    ("name", "library"), [("cuSPARSE", "cusparse.so.12"), ("cuFFT", "cufft.so.11")]
)
def test_a_jax_without_wheels_has_the_library_of_a_toolkit(
    patient: Patient, name: str, library: str
) -> None:
    env = patient.virtualenv()
    env.dist("jax-cuda12-plugin", "0.6.2")
    patient.activate(env)
    kit = patient.adopt("12.4.131")
    patient.env["LD_LIBRARY_PATH"] = f"{kit}/lib64"
    stem, _, number = library.partition(".so.")
    for there in (kit / "lib64").glob(f"lib{stem}.so*"):
        there.unlink()
    pasted = f"Unable to load {name}. Is it installed?"
    found = patient.told(pasted)
    assert found["fix"].startswith("cudaswitch install 12 --from nvidia --force && ")
    assert f"; 12.4.131 has no lib{library}" in found["cause"]
    patient.lay_library(kit / "lib64", f"lib{stem}", f"lib{library}", f"{number}.9")
    assert "cudaswitch env 12 " in patient.told(pasted)["fix"]
    env.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    env.dist("nvidia-cudnn-cu12", "9.10.2.21")
    assert patient.told(pasted)["fix"] == "unset LD_LIBRARY_PATH"


def test_a_jax_without_wheels_has_the_cudnn_of_a_toolkit(patient: Patient) -> None:
    env = patient.virtualenv()
    env.dist("jax-cuda12-plugin", "0.6.2")
    patient.activate(env)
    patient.adopt("12.4.131")
    pasted = "RuntimeError: Unable to load CUDA. Is it installed?"
    assert patient.told(pasted)["fix"].startswith("cudaswitch install auto && ")
    patient.run("install", builders.cudnn_archive(patient.work, "8.8+", "9.10.2.21", "12"))
    assert "cudaswitch env auto " in patient.told(pasted)["fix"]


def test_a_toolkit_without_libnvvm_is_none_for_numba(patient: Patient) -> None:
    pasted = "NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`:"
    patient.adopt("12.4.131")
    (patient.adopt("12.6.3") / "nvvm/lib64/libnvvm.so.4").unlink()
    assert "cudaswitch env 12.4.131 " in patient.told(pasted)["fix"]
    (patient.work / "kits/12.4.131/nvvm/lib64/libnvvm.so.4").unlink()
    assert patient.told(pasted)["fix"].startswith("cudaswitch install 12 --from nvidia --force && ")


@pytest.mark.parametrize("name", ["cublas_v2.h", "cusparse.h"])
def test_a_toolkit_that_was_installed_in_parts_lacks_a_header(patient: Patient, name: str) -> None:
    kit = patient.adopt("13.0.0")
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
    """Stubs of any toolkit here will do, active or not, as `use` sets no LIBRARY_PATH."""
    pasted = "/usr/bin/ld: cannot find -lcuda: No such file or directory"
    patient.env["CUDA_HOME"] = str(patient.adopt("13.2.0"))
    fix = patient.told(pasted)["fix"]
    assert fix.startswith("cudaswitch install 13.2 --from nvidia --force && ")
    stubs = patient.adopt("12.4.131") / "lib64/stubs"
    patient.lay_library(stubs, "libcuda", "libcuda.so.1", "1")
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
    """The version in CMake's message is of the nvcc that it found, so that release is proposed."""
    patient.adopt("13.0.88")
    kit = patient.adopt("12.4.1")
    pasted = 'Could NOT find CUDAToolkit (missing: CUDA_CUDART) (found version "12.4.131")'
    assert "cudaswitch env 12.4 " in patient.told(pasted)["fix"]
    (kit / "lib64/libcudart.so").unlink()
    found = patient.told(pasted)
    assert "no libcudart" in found["title"]
    assert found["fix"].startswith("cudaswitch install 12.4 --from nvidia --force && ")


def test_cmake_finds_no_library_in_a_toolkit_in_parts(patient: Patient) -> None:
    """For each library that CMake finds, it makes a target; those of a runtime may be missing."""
    pasted = '  Target "x" links to target "CUDA::cublas" but the target was not found.'
    kit = patient.adopt("12.4.131")
    patient.env["CUDA_HOME"] = str(kit)
    assert patient.told(pasted)["fix"] == "cmake --version"
    (kit / "lib64/libcublas.so").unlink()
    found = patient.told(pasted)
    assert f"; `{kit}` has no libcublas.so" in found["cause"]
    assert found["fix"].startswith("cudaswitch install 12.4.1 --from nvidia && ")


def test_headers_a_folder_deeper(patient: Patient) -> None:
    """From CUDA 13 on Thrust, CUB and libcu++ are looked for in include/cccl."""
    kit = patient.adopt("13.0.0")
    patient.env["CUDA_HOME"] = str(kit)
    for name in ("nv/target", "thrust/device_vector.h", "cuda/std/utility"):
        pasted = f"/x/cuda_fp16.hpp:65:10: fatal error: {name}: No such file or directory"
        found = patient.told(pasted)
        assert f"; `{kit}` has no {name}" in found["cause"]
        assert found["fix"].startswith("cudaswitch install 13.0 --from pypi --force && ")
        (kit / "include/cccl" / name).parent.mkdir(parents=True)
        assert patient.told(pasted)["fix"] == f"export CPATH={kit}/include/cccl"


@pytest.mark.parametrize(
    ("pasted", "code", "fix"),
    [
        ("nvcc fatal   : Value 'c++20' is not defined for option 'std'", "CS178", "env 12.4.131 "),
        ("nvcc fatal   : Value 'gnu++17' is not defined for option 'std'", "CS178", "env 12.4.131"),
        ("nvcc fatal   : Value 'c++23' is not defined for option 'std'", "CS178", "compat"),
        ("Couldn't invoke ptxas --version", "CS171", "env 12.4.131 "),
        ("CMake Error:\n    CUDA::nvToolsExt\n\n  but the target", "CS167", "install 12.8 && "),
        ("/usr/bin/ld: cannot find -lnvToolsExt: No such file", "CS167", "install 12.8 && "),
        ("meson.build:1:0: ERROR: Unknown compiler(s): [['nvcc']]", "CS141", "env 12.4.131 "),
        ('ERROR: Dependency "cuda" not found, tried system', "CS115", "env 12.4.131 "),
        ('ccache: error: Could not find compiler "nvcc" in PATH', "CS141", "env 12.4.131 "),
        ("Unable to find nvcc compiler. Please set CUDA_HOME", "CS115", "env 12.4.131 "),
        ("-- The CUDA compiler identification is unknown", "CS158", "env 12.4.131 "),
        ("The cuSPARSE library was not found.", "CS102", ""),
        (
            "FindCUDA says CUDA version is 11.8 (usually determined by nvcc), but the\n"
            "  CUDA headers say the version is 12.4.  This often occurs when",
            "CS168",
            "env 12.4 ",
        ),
        (
            "nvlink fatal   : Input file 'x.o' newer than toolkit (124 vs 118)",
            "CS175",
            "env 12.4 ",
        ),
    ],
)
def test_what_else_asks_for_a_toolkit(patient: Patient, pasted: str, code: str, fix: str) -> None:
    """Other messages need a toolkit with nvcc, too, while the newest here is a runtime alone."""
    for version, nvcc in (("11.8.89", True), ("12.4.131", True), ("12.6.3", False)):
        patient.adopt(version, nvcc=nvcc)
    found = patient.told(pasted)
    assert (found["code"], fix in found["fix"]) == (code, True), found


@pytest.mark.parametrize(
    ("standard", "fix"),
    [("c++20", "install 12.0 "), ("c++17", "env 11.8.89 "), ("c++14", "env 11.8.89 ")],
)
def test_the_first_nvcc_that_knows_a_standard(patient: Patient, standard: str, fix: str) -> None:
    patient.adopt("11.8.89")
    found = patient.told(f"nvcc fatal   : Value '{standard}' is not defined for option 'std'")
    assert fix in found["fix"]


def test_other_flags_of_nvcc_stay(patient: Patient) -> None:
    patient.env["NVCC_PREPEND_FLAGS"] = "-ccbin=/usr/bin/gcc-10"
    pasted = 'amxtileintrin.h(42): error: identifier "__builtin_ia32_ldtilecfg" is undefined'
    kept = "-ccbin=/usr/bin/gcc-10 -D_AMXTILEINTRIN_H_INCLUDED"
    patient.program(patient.work / "gcc")
    assert patient.told(pasted)["fix"] == f"export NVCC_PREPEND_FLAGS='{kept}'"


def test_the_nvcc_on_path_alone_is_run(patient: Patient) -> None:
    """Only the nvcc on PATH is run: lists and variables may name folders that anybody filled."""
    kit, ran = patient.toolkit(patient.work / "kit"), patient.work / "ran"
    (kit / "version.json").unlink()
    patient.program(kit / "bin/nvcc", f"#!/bin/sh\necho run > '{ran}'\n")
    patient.env |= {
        "LD_LIBRARY_PATH": f"{kit}/lib64",
        "CUDA_HOME": str(kit),
        "CUDACXX": f"{kit}/bin/nvcc",
    }
    patient.home.run("doctor", **patient.env)
    assert not ran.exists()
    patient.on_path(kit / "bin")
    patient.home.run("doctor", **patient.env)
    assert ran.exists()


def redist(folder: Path) -> str:
    """Lay out NVIDIA's index of 12.4.1 with two pieces, and return its URL."""
    library = builders.elf_library(folder / "made.so", "libcudart.so.12", {"a": 1}).read_bytes()
    nvcc = b"#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n"
    pieces: dict[str, dict[str, Content]] = {
        "cuda_nvcc-linux-x86_64-12.4.131-archive": {"bin/nvcc": File(nvcc, executable=True)},
        "cuda_cudart-linux-x86_64-12.4.127-archive": {"lib/libcudart.so.12": library},
    }
    archives = [
        builders.tar_archive(folder / f"{top}.tar.xz", top, tree) for top, tree in pieces.items()
    ]
    redist_index(folder / "nvidia", "cuda", "12.4.1", archives)
    return (folder / "nvidia").as_uri()


@pytest.mark.skipif(current_platform() != "linux-64", reason="its pieces are for linux-64")
@pytest.mark.parametrize("whence", ["index", "file"])
def test_what_is_told_brings_nvcc_at_once(patient: Patient, whence: str) -> None:
    """The printed command brings nvcc, into the same release or beside a toolkit of pieces."""
    patient.env["CUDASWITCH_NVIDIA_URL"] = redist(patient.work / "made")
    piece = patient.work / "made/cuda_cudart-linux-x86_64-12.4.127-archive.tar.xz"
    only = ("12.4", "--from", "nvidia", "--components", "cudart")
    patient.run("install", *(only if whence == "index" else (piece,)))
    env = OwnEnv(patient.work / "env")
    env.torch("2.4.0+cu124", "12.4")
    patient.activate(env)
    fix = patient.told(NO_NVCC[0])["fix"]
    assert ("--force" in fix) == (whence == "index")
    done = subprocess.run(
        ["bash", "-c", f"{fix} && nvcc --version"],
        env=patient.home.env | patient.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert succeeded(done)[-1] == "Cuda compilation tools, release 12.4, V12.4.131"


@pytest.mark.parametrize(
    ("version", "told"), [("13.0.88", "13.0"), ("12.4.99", ""), ("", "another toolkit")]
)
def test_another_nvcc_beside_a_toolkit_without(patient: Patient, version: str, told: str) -> None:
    """An nvcc of the toolkit's release serves; one of another or an unknown release does not."""
    kit, other = patient.work / "kit", patient.work / "other"
    patient.toolkit(kit, "12.4.1", nvcc=False)
    if version:
        patient.toolkit(other, version)
    else:
        patient.program(other / "bin/nvcc")
    patient.env["CUDA_HOME"] = str(kit)
    patient.on_path(other / "bin")
    patient.in_shell("none")
    found = {one["code"]: one for one in patient.findings(1)}
    assert set(found) == ({"CS034"} if told else set())
    if told:
        assert found["CS034"]["evidence"].endswith(f"`nvcc` is `{other}/bin/nvcc` of {told}")
        assert found["CS034"]["fix"].startswith("cudaswitch install 12.4 && ")


@pytest.mark.parametrize(("built", "release"), [("13.0", "13.0"), ("12.1", "12.4")])
def test_an_nvcc_that_pytorch_takes(patient: Patient, built: str, release: str) -> None:
    """Where the toolkit lacks nvcc, one of its release is no help to a PyTorch of another major."""
    env = patient.virtualenv()
    env.torch(f"2.9.0+cu{built.replace('.', '')}", built)
    patient.activate(env)
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", "12.4.1", nvcc=False))
    patient.on_path(patient.toolkit(patient.work / "other", "11.8.89") / "bin")
    pasted = "error: nvcc not found at '/x/bin/nvcc'. Ensure CUDA path '/x' is correct."
    told = patient.told(pasted)
    assert "CS034: " in told["evidence"]
    assert told["evidence"].endswith("is for CUDA 13.0") == (release == "13.0")
    assert told["fix"].startswith(f"cudaswitch install {release} ")


def test_a_toolkit_that_is_left_out_of_the_path(patient: Patient) -> None:
    """Where an unused wheel of CUDA keeps a toolkit out of the path, the command puts it there."""
    env = patient.virtualenv()
    env.dist("tensorflow", "2.3.0")
    env.file("nvidia/cuda_runtime/lib/libcudart.so.12")
    patient.activate(env)
    packages = patient.work / "packages"
    both = builders.cudatoolkit_10_1(packages), builders.cudnn_7_6_5(packages)
    pasted = "ImportError: libcublas.so.10: cannot open shared object file: No such file"
    told = patient.told(pasted)["fix"]
    assert told.startswith("cudaswitch install auto && ") and "auto --libraries always" in told
    patient.run("install", *both)
    assert patient.told(pasted)["fix"] == told.partition(" && ")[2]
    patient.in_shell("CS041")
    assert "CS041" in patient.codes(1) and "CS041" not in patient.codes(2)
    assert "left alone for `" in next(
        one["evidence"] for one in patient.findings(1) if one["code"] == "CS041"
    )
