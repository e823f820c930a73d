"""What a machine allows: its driver, its GPUs, its host compiler."""

from __future__ import annotations

import pytest

from cudaswitch.resolver import Carried, resolve
from handmade import ARCHS, facts, found, tensorflow, toolkit, torch

# The driver's hard bound and its recommendation.

DRIVERS = [
    # framework, platform, driver, runs
    (tensorflow("2.1.0", "10.1", "7"), "linux-64", "418.39", True),
    (tensorflow("2.1.0", "10.1", "7"), "linux-64", "418.38", False),
    (tensorflow("2.1.0", "10.1", "7"), "win-64", "418.96", True),
    (tensorflow("2.1.0", "10.1", "7"), "win-64", "418.39", False),
    (tensorflow("1.12.0", dist="tensorflow-gpu"), "linux-64", "384.81", True),
    (tensorflow("1.12.0", dist="tensorflow-gpu"), "linux-64", "375.26", False),
    (torch("1.12.1", "10.2"), "linux-64", "440.33", True),
    (torch("1.12.1", "10.2"), "linux-64", "418.39", False),
    (torch("1.7.1", "9.2.148"), "linux-64", "396.26", False),
    (torch("1.7.1", "9.2"), "linux-64", "396.26", True),
    (torch("2.0.1", "11.8"), "linux-64", "450.80.02", True),
    (torch("2.0.1", "11.8"), "linux-64", "450.80.01", False),
    (torch("2.0.1", "11.8"), "linux-64", "440.33", False),
    (torch("2.0.1", "11.8"), "win-64", "452.39", True),
    (torch("2.0.1", "11.8"), "win-64", "452.38", False),
    (torch("2.1.2", "12.1"), "linux-64", "525.60.13", True),
    (torch("2.1.2", "12.1"), "linux-64", "520.61.05", False),
    (torch("2.1.2", "12.1"), "win-64", "527.41", True),
    (torch("2.13.0", "13.0"), "linux-64", "580.65.06", True),
    (torch("2.13.0", "13.0"), "linux-64", "575.57.08", False),
    (torch("2.13.0", "13.2"), "linux-64", "580.65.06", True),
    (torch("2.13.0", "13.0"), "win-64", "576.57", False),
    (torch("2.13.0", "13.0"), "linux-64", None, True),
    (torch("2.13.0+cpu", gpu="cpu"), "linux-64", "304.1", True),
]


@pytest.mark.parametrize("case", DRIVERS, ids=lambda c: f"{c[0].version}-{c[1]}-{c[2]}")
def test_the_driver_bound(case):
    framework, platform, driver, runs = case
    answer = resolve(facts(framework, platform=platform, driver=driver), [])
    assert answer.runs is runs
    assert answer.frameworks[0].runs is runs


def test_the_corresponding_driver_is_only_recommended():
    answer = resolve(facts(torch("2.5.1", "12.4"), driver="535.104.05"), [])
    assert answer.runs
    advice = [it for it in answer.reasons if "recommended" in it.text]
    assert len(advice) == 1
    assert "550.54.14" in advice[0].text
    assert "Release Notes" in advice[0].source
    newer = resolve(facts(torch("2.5.1", "12.4"), driver="550.54.14"), [])
    assert not [it for it in newer.reasons if "recommended" in it.text]


def test_the_number_in_nvidia_smi_is_explained():
    answer = resolve(facts(torch("2.5.1", "12.4"), driver="470.57.02"), [])
    assert any("shows CUDA 11.4 for driver" in reason.text for reason in answer.reasons)


def test_without_a_driver_the_bound_is_told():
    answer = resolve(facts(torch("2.5.1", "12.4"), driver=None), [])
    assert any("no NVIDIA driver" in it.text and "525.60.13" in it.text for it in answer.reasons)


# The GPU.

GPUS = [
    (torch("2.13.0", "13.0"), "7.0", False),
    (torch("2.13.0", "12.6"), "7.0", True),
    (torch("2.13.0", "13.0"), "7.5", True),
    (torch("2.13.0", "13.0"), "12.1", True),
    (torch("2.13.0", "12.6"), "12.0", False),
    (torch("2.13.0", "12.6"), "8.9", True),
    (torch("2.11.0", "12.8"), "7.0", False),  # its cuDNN 9.17 no longer lists Volta
    (torch("2.10.0", "12.8"), "7.0", True),
    (torch("1.12.1", "10.2"), "8.0", False),
    (torch("1.12.1", "11.6"), "8.6", True),
    (torch("1.12.1", "10.2"), "2.1", False),
    (torch("2.1.2", "12.1"), "3.5", False),
    (tensorflow("2.10.1", "11.2", "8", archs=ARCHS), "8.9", True),
    (tensorflow("2.10.1", "11.2", "8", archs=ARCHS), "9.0", True),  # by PTX
    (tensorflow("2.10.1", "11.2", "8", archs=ARCHS), "3.0", False),
    (tensorflow("2.18.1", "12.5.1", "9", archs="sm_60 sm_70 sm_80 sm_89 compute_90"), "5.2", False),
    (tensorflow("2.18.1", "12.5.1", "9", archs="sm_60 sm_70 sm_80 sm_89 compute_90"), "12.0", True),
    (found("cupy", "14.2.0", "13", dist="cupy-cuda13x"), "7.0", False),
    (found("cupy", "14.2.0", "12", dist="cupy-cuda12x"), "12.0", True),
    (found("paddle", "2.9.0", "12.3", "9"), "7.0", True),  # of a major, any release will do
    (found("paddle", "2.9.0", "12.3", "9"), "3.5", False),
    (found("cupy", "99.0", "19", dist="cupy-cuda19x"), "7.0", False),  # newer than the table
    (found("cupy", "99.0", "19", dist="cupy-cuda19x"), "12.0", True),
    (torch("9.9.0+cu139", "13.9"), "7.0", False),
    (torch("9.9.0+cu127", "12.7"), "7.0", True),  # not in it either, and older than its newest
]


@pytest.mark.parametrize("case", GPUS, ids=lambda c: f"{c[0].name}{c[0].version}-{c[1]}")
def test_the_gpu(case):
    framework, cc, runs = case
    assert resolve(facts(framework, cc=(cc,)), []).runs is runs


def test_no_cudnn_is_proposed_where_none_that_is_new_enough_serves():
    wheels = (
        Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.8.90", "12", "record"),
        Carried("cudnn", "dist", "nvidia-cudnn-cu12", "9.17.1.4", "12", "record"),
    )
    need = tensorflow("9.9.0", "12.8", "9.17.0", archs="sm_70")
    answer = resolve(facts(need, carried=wheels, cc=("7.0",)), [])
    assert (answer.bundled, answer.runs, answer.caution) == (True, False, None)


def test_a_release_that_does_not_look_for_wheels_has_condas():
    libraries = (
        Carried("cuda", "conda", "cuda-cudart", "12.3.101", "12", "record", "/env/lib", led=True),
        Carried("cudnn", "conda", "cudnn", "8.9.7", "12", "record", "/env/lib", led=True),
    )
    need = tensorflow("2.16.1", "12.3", "8")
    answer = resolve(facts(need, carried=libraries), [])
    assert (answer.bundled, answer.caution) == (True, None)


def test_code_of_builds_for_x86_says_nothing_of_others():
    need = torch("2.13.0", "13.0")
    assert not resolve(facts(need, cc=("11.0",)), []).runs
    assert resolve(facts(need, cc=("11.0",), platform="linux-aarch64"), []).runs
    assert not resolve(facts(need, cc=("7.0",), platform="linux-aarch64"), []).runs


@pytest.mark.parametrize(
    ("installed", "cc", "below"),
    [
        ("9.17.1.4", "7.0", "9.11"),
        ("9.17.1.4", "7.5", None),
        ("9.17.1.4", "8.0 7.0", None),  # one of them is served
        ("9.10.2.21", "7.0", None),
        ("9.1.0.70", "7.0", "9.11"),  # too old as well: what is newer has to serve, too
        ("9.1.0.70", "8.0", "10"),
    ],
)
def test_the_cudnn_that_pip_chose_has_to_serve_the_gpu(installed, cc, below):
    need = tensorflow("2.18.1", "12.5.1", "9", archs="sm_60 sm_70 sm_80")
    wheels = (
        Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.5.82", "12", "record"),
        Carried("cudnn", "dist", "nvidia-cudnn-cu12", installed, "12", "record"),
    )
    answer = resolve(facts(need, carried=wheels, cc=tuple(cc.split())), [])
    assert (answer.runs, answer.caution is None) == (True, below is None)
    if below:
        assert answer.hint == f'`pip install "nvidia-cudnn-cu12>=9.3,<{below}"`'


def test_one_gpu_that_serves_is_enough_and_the_other_is_told():
    answer = resolve(facts(torch("2.13.0", "13.0"), cc=("8.6", "6.1")), [])
    assert answer.runs
    assert any("6.1" in reason.text and "GTX 1080" in reason.text for reason in answer.reasons)


@pytest.mark.parametrize(
    ("framework", "gpus", "installed", "chosen"),
    [
        (tensorflow("2.18.1", "12.5.1", "9.3"), ["12.0"], ["9.3.0", "9.10.2"], "9.10.2"),
        (tensorflow("2.18.1", "12.5.1", "9.3"), ["9.0"], ["9.3.0", "9.10.2"], "9.3.0"),
        (found("jax", "0.7.1", "12", "9.8"), ["7.0", "9.0"], ["9.10.2", "9.17.0"], "9.10.2"),
        (found("jax", "0.7.1", "12", "9.8"), ["9.0"], ["9.10.2", "9.17.0"], "9.17.0"),
    ],
)
def test_a_cudnn_that_lists_the_gpus_goes_before_others(framework, gpus, installed, chosen):
    kits = [toolkit(f"12.8.1+cudnn{cudnn}") for cudnn in installed]
    assert resolve(facts(framework, cc=tuple(gpus)), kits).toolkit == f"12.8.1+cudnn{chosen}"


@pytest.mark.parametrize(
    ("framework", "cc", "request_for"),
    [
        (found("onnxruntime", "1.22.0", dist="onnxruntime-gpu"), "7.0", ("12.2", "9.10")),
        (found("onnxruntime", "1.22.0", dist="onnxruntime-gpu"), "8.0", ("12.2", "9")),
        (tensorflow("2.18.1", "12.5.1", "9.3"), "8.0", ("12.5", "9.3")),
        (tensorflow("2.18.1", "12.5.1", "9.3"), "12.0", ("12.5", "9")),
        (found("mxnet", "1.9.1", "10.2", "8", dist="mxnet-cu102"), "7.0", ("10.2", "8")),
        (torch("2.6.0", "12.6"), "8.0", ("12.6", None)),
    ],
)
def test_what_is_asked_for_serves_the_gpu_and_can_be_had(framework, cc, request_for):
    """`install auto` and the hint ask for the same CUDA and cuDNN, which serve the GPU."""
    answer = resolve(facts(framework, cc=(cc,)), [])
    assert answer.request == request_for
    cuda, cudnn = request_for
    library = f" --cudnn {cudnn}" if cudnn else ""
    assert answer.hint == f"cudaswitch install {cuda}{library}"


@pytest.mark.parametrize(("cc", "says"), [("8.0", "has code for 8.0"), ("9.0", "compiles its PTX")])
def test_what_tensorflow_calls_compute_is_code_and_ptx(cc, says):
    answer = resolve(facts(tensorflow("2.10.1", "11.2", "8", archs=ARCHS), cc=(cc,)), [])
    assert [says in it.text for it in answer.reasons if "this build has code" in it.text] == [True]


def test_a_gpu_served_by_ptx_is_told():
    framework = tensorflow("2.10.1", "11.2", "8", archs=ARCHS)
    answer = resolve(facts(framework, cc=("9.0",)), [])
    assert any("PTX" in reason.text for reason in answer.reasons)


# What would run here instead.

jax13 = found("jax", "0.8.0", "13", "9.12.0.46", dist="jax-cuda13-plugin")
cupy13 = found("cupy", "14.2.0", "13", dist="cupy-cuda13x")


@pytest.mark.parametrize(
    ("framework", "machine", "hint"),
    [
        (torch("2.13.0", "13.0"), {"cc": ("7.0",)}, "torch==2.13.0+cu126"),
        (torch("2.13.0", "13.0"), {"driver": "535.1"}, "torch==2.13.0+cu126"),
        (torch("1.12.1", "10.2"), {"cc": ("8.0",)}, "torch==1.12.1+cu116"),
        (torch("2.5.1", "12.4"), {"driver": "470.57.02"}, "torch==2.5.1+cu118"),
        (torch("2.8.0", "12.8"), {"driver": "470.57.02"}, "torch==2.7.1+cu118"),
        (tensorflow("2.15.0", "12.2"), {"driver": "470.57.02"}, "TensorFlow 2.14 (CUDA 11.8)"),
        (tensorflow("2.4.0", "11.0"), {"driver": "418.39"}, "TensorFlow 2.3 (CUDA 10.1)"),
        (jax13, {"driver": "535.104.05"}, 'JAX 0.8.0 (`pip install "jax[cuda12]==0.8.0"`)'),
        (jax13, {"cc": ("7.0",)}, 'JAX 0.8.0 (`pip install "jax[cuda12]==0.8.0"`)'),
        (found("jax", "0.6.0", "12", "9.8"), {"driver": "470.57.02"}, "JAX 0.4.25 (CUDA 11)"),
        (cupy13, {"driver": "535.104.05"}, "`cupy-cuda12x` 14.2.0 runs here"),
        (found("cupy", "13.0.0", "12"), {"driver": "470.57.02"}, "`cupy-cuda11x` 13.0.0"),
        (found("cupy", "14.0.0", "12"), {"driver": "470.57.02"}, "`cupy-cuda11x` 13 runs"),
        (found("mxnet", "1.9.1", "11.2"), {"driver": "440.33.01"}, "(`mxnet-cu102`)"),
        (found("mxnet", "1.7.0", "10.1"), {"driver": "396.26"}, "1.7 for CUDA 9.2 (`mxnet-cu92`)"),
        (found("mxnet", "1.7.0", "10.1"), {"driver": "390.46"}, "1.6 for CUDA 9.0 (`mxnet-cu90`)"),
        (found("mxnet", "1.6.0", "10.1"), {"driver": "410.48"}, "1.6 for CUDA 9.2 (`mxnet-cu92`)"),
        (found("onnxruntime", "1.27.0", "13.0"), {"driver": "535.1"}, "ONNX Runtime 1.26"),
        (found("cntk", "2.7", "10.0"), {"driver": "400.1"}, "CNTK 2.6 (CUDA 9.0)"),
        (found("cntk", "2.5", "9.0"), {"driver": "340.1"}, "NVIDIA driver 384.81 or newer"),
        (found("cntk", "2.7", "10.0"), {"cc": ("9.0",)}, "no known build of CNTK"),
        (
            found("cntk", "2.5", "9.0"),
            {"driver": "340.1", "cc": ("9.0",)},
            "no known build of CNTK",
        ),
        (found("ctranslate2", "4.8.5"), {"driver": "470.57.02"}, "CTranslate2 3.24 (CUDA 11)"),
    ],
)
def test_what_cannot_run_here_names_the_nearest_that_can(framework, machine, hint):
    answer = resolve(facts(framework, **machine), [])
    assert not answer.runs
    assert hint in answer.hint


# Host compiler and C library.


@pytest.mark.parametrize(
    ("gcc", "says"),
    [
        ((12, 8), "gcc 8 is compatible"),
        ((12,), "no compatible one is installed"),
        ((8, 12), None),
        ((), None),
    ],
)
def test_a_host_compiler_that_nvcc_refuses(gcc, says):
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7"), gcc=gcc), [])
    texts = [reason.text for reason in answer.reasons if "gcc" in reason.text]
    assert [says in text for text in texts] == ([True] if says else [])
    assert answer.runs


def test_the_compiler_is_held_against_the_toolkit_chosen():
    store = [toolkit("12.8.1")]
    need = found("cupy", "14.2.0", "12", dist="cupy-cuda12x")
    answer = resolve(facts(need, gcc=(15,), glibc="2.41"), store)
    texts = " ".join(reason.text for reason in answer.reasons)
    assert "nvcc 12.8 compiles with gcc up to 14, the default is 15" in texts
    assert "glibc 2.41" in texts
