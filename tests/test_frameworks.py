"""Environments as installers leave them, era by era: what is found, and what it comes to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cudaswitch.resolver import explain
from made_environments import WINDOWS_SITE, Env


@pytest.fixture
def env(tmp_path):
    return Env(tmp_path / "an env")


# What published wheels say of themselves, and what that release was built and tested with.
PLAIN, DICT, ORDERED = "plain", "dict", "ordered"
TENSORFLOW = [
    # dist, version, folder, shape, cuda and cudnn as written (None: no such line), answer
    ("tensorflow-gpu", "1.4.1", "tensorflow", PLAIN, None, None, "8.0", "6"),
    ("tensorflow-gpu", "1.5.1", "tensorflow", PLAIN, None, None, "9.0", "7"),
    ("tensorflow-gpu", "1.12.3", "tensorflow", PLAIN, None, None, "9.0", "7"),
    ("tensorflow-gpu", "1.13.2", "tensorflow", PLAIN, None, None, "10.0", "7.4"),
    ("tensorflow-gpu", "1.14.0", "tensorflow", PLAIN, "10", "7", "10.0", "7.4"),
    ("tensorflow-gpu", "1.15.5", "tensorflow_core", PLAIN, "10", "7", "10.0", "7.4"),
    ("tensorflow-gpu", "2.0.4", "tensorflow_core", PLAIN, "10", "7", "10.0", "7.4"),
    ("tensorflow", "2.1.4", "tensorflow_core", PLAIN, "10.1", "7", "10.1", "7.6"),
    ("tensorflow", "2.2.3", "tensorflow", PLAIN, "10", "7", "10.1", "7.6"),
    ("tensorflow", "2.3.4", "tensorflow", DICT, "10.1", "7", "10.1", "7.6"),
    ("tensorflow", "2.4.4", "tensorflow", ORDERED, "11.0", "8", "11.0", "8.0"),
    ("tensorflow", "2.5.2", "tensorflow", ORDERED, "11.2", "8", "11.2", "8.1"),
    ("tensorflow-gpu", "2.6.2", "tensorflow", ORDERED, "11.2", "8", "11.2", "8.1"),
    ("tensorflow", "2.10.1", "tensorflow", ORDERED, "11.2", "8", "11.2", "8.1"),
    ("tensorflow", "2.11.1", "tensorflow", ORDERED, "11.2", "8", "11.2", "8.1"),
    ("tensorflow", "2.12.1", "tensorflow", ORDERED, "11.8", "8", "11.8", "8.6"),
    ("tensorflow", "2.13.1", "tensorflow", ORDERED, "11.8", "8", "11.8", "8.6"),
    ("tensorflow", "2.14.1", "tensorflow", ORDERED, "11.8", "8", "11.8", "8.7"),
    ("tensorflow", "2.15.1", "tensorflow", ORDERED, "12.2", "8", "12.2", "8.9"),
    ("tensorflow", "2.16.2", "tensorflow", ORDERED, "12.3", "8", "12.3", "8.9"),
    ("tensorflow", "2.17.1", "tensorflow", ORDERED, "12.3", "8", "12.3", "8.9"),
    ("tensorflow", "2.18.1", "tensorflow", ORDERED, "12.5.1", "9", "12.5.1", "9.3"),
    ("tensorflow", "2.21.0", "tensorflow", ORDERED, "12.5.1", "9", "12.5.1", "9.3"),
]


def build_info(shape, cuda, cudnn, gpu=True):
    if shape == PLAIN:
        lines = ["# This file is generated", f"is_rocm_build = False\nis_cuda_build = {gpu}"]
        lines += [f"cuda_version_number = '{cuda}'"] * (cuda is not None)
        lines += [f"cudnn_version_number = '{cudnn}'"] * (cudnn is not None)
        return "\n".join([*lines, ""])
    pairs = {"is_cuda_build": gpu, "is_rocm_build": False}
    if cuda:
        archs = ["sm_35", "sm_50", "sm_60", "sm_70", "sm_75", "compute_80"]
        pairs |= {"cuda_version": cuda, "cudnn_version": cudnn, "cuda_compute_capabilities": archs}
    if shape == DICT:
        return f"build_info = {pairs!r}\n"
    return f"import collections\n\nbuild_info = collections.OrderedDict({list(pairs.items())!r})\n"


@pytest.mark.parametrize("case", TENSORFLOW, ids=lambda case: f"{case[0]}-{case[1]}")
def test_tensorflow_wheels(env, case):
    dist, version, folder, shape, says_cuda, says_cudnn, cuda, cudnn = case
    env.dist(dist, version)
    env.file(f"{folder}/python/platform/build_info.py", build_info(shape, says_cuda, says_cudnn))
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert (answer.runs, answer.bundled, answer.toolkit) == (True, False, None)
    assert answer.hint.startswith(f"cudaswitch install {'.'.join(cuda.split('.')[:2])} --cudnn ")


@pytest.mark.parametrize(
    ("dist", "version", "folder", "info"),
    [
        ("tensorflow", "1.15.5", "tensorflow_core", build_info(PLAIN, None, None, gpu=False)),
        ("tensorflow", "2.0.4", "tensorflow_core", build_info(PLAIN, None, None, gpu=False)),
        ("tensorflow", "1.12.0", "tensorflow", None),
        ("tensorflow-cpu", "2.9.0", "tensorflow", None),
        ("tensorflow-cpu", "2.9.0", "tensorflow", build_info(ORDERED, None, None, gpu=False)),
        ("tensorflow-intel", "2.12.0", "tensorflow", None),
        ("intel-tensorflow", "2.10.0", "tensorflow", None),
        ("intel-tensorflow-avx512", "2.10.0", "tensorflow", None),
        ("tensorflow-macos", "2.12.0", "tensorflow", None),
        ("tensorflow-rocm", "2.12.0", "tensorflow", build_info(ORDERED, None, None, gpu=False)),
    ],
)
def test_tensorflow_builds_without_cuda(env, dist, version, folder, info):
    env.dist(dist, version)
    if info:
        env.file(f"{folder}/python/platform/build_info.py", info)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.runs, answer.bundled) == (None, None, True, False)
    assert answer.hint is None


@pytest.mark.parametrize(
    ("dist", "version", "cuda", "cudnn"),
    [
        ("tensorflow-gpu", "1.0.1", "8.0", "5.1"),
        ("tensorflow-gpu", "1.3.0", "8.0", "6"),
        ("tensorflow-gpu", "1.15.0", "10.0", "7.4"),
        ("tensorflow", "2.1.0", "10.1", "7.6"),
        ("tensorflow", "2.4.1", "11.0", "8.0"),
        ("tensorflow", "2.15.0.post1", "12.2", "8.9"),
        ("tf-nightly", "2.18.0.dev20240901", "12.5", "9.3"),
        ("tf-nightly-gpu", "1.14.1.dev20190601", "10.0", "7.4"),
        ("tf-nightly-gpu", "2.1.0.dev20191105", "10.1", "7.6"),
        ("tf-nightly-gpu-2.0-preview", "2.0.0.dev20190801", "10.0", "7.4"),
        ("tensorflow-gpu", "2.0.0rc1", "10.0", "7.4"),
        ("tensorflow-gpu", "2.12.0", "11.8", "8.6"),
    ],
)
def test_a_release_without_build_file_is_answered_by_the_table(env, dist, version, cuda, cudnn):
    env.dist(dist, version)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert any("tensorflow/docs" in reason.source for reason in answer.reasons)


def test_tensorflow_on_windows(tmp_path):
    old = Env(tmp_path / "old", WINDOWS_SITE)
    old.dist("tensorflow", "2.10.1")
    old.file("tensorflow/python/platform/build_info.py", build_info(ORDERED, "64_112", "64_8"))
    answer = old.resolve(driver="531.14")
    assert (answer.cuda, answer.cudnn, answer.runs) == ("11.2", "8.1", True)
    assert answer.hint == "cudaswitch install 11.2 --cudnn 8.1 --platform win-64"
    new = Env(tmp_path / "new", WINDOWS_SITE)
    new.dist("tensorflow", "2.11.0")
    answer = new.resolve()
    assert (answer.cuda, answer.cudnn, answer.runs) == (None, None, True)
    assert "WSL2" in answer.hint


def test_asking_for_windows_overrules_what_the_linux_wheel_holds(env):
    env.dist("tensorflow", "2.11.1")
    env.file("tensorflow/python/platform/build_info.py", build_info(ORDERED, "11.2", "8"))
    assert env.resolve(platform="win-64").cuda is None
    assert env.resolve().cuda == "11.2"


NVIDIA = {
    "cu11": ["nvidia-cuda-runtime-cu11 11.8.89", "nvidia-cudnn-cu11 8.7.0.84"],
    "cu12": ["nvidia-cuda-runtime-cu12 12.2.140", "nvidia-cudnn-cu12 8.9.4.25"],
    "no cudnn": ["nvidia-cuda-runtime-cu12 12.2.140"],
}


@pytest.mark.parametrize(
    ("version", "cuda", "wheels", "bundled"),
    [
        ("2.14.1", "11.8", "cu11", True),
        ("2.14.1", "11.8", "cu12", False),
        ("2.15.1", "12.2", "cu12", True),
        ("2.15.1", "12.2", "no cudnn", False),
        ("2.13.1", "11.8", "cu11", False),  # looks for no wheels
    ],
)
def test_the_wheels_of_the_and_cuda_extra(env, version, cuda, wheels, bundled):
    pin = "nvidia-cudnn-cu12 (==8.9.4.25) ; extra == 'and-cuda'"
    env.dist("tensorflow", version, *[pin] * (version == "2.15.1"))
    env.file("tensorflow/python/platform/build_info.py", build_info(ORDERED, cuda, "8"))
    for wheel in NVIDIA[wheels]:
        env.dist(*wheel.split())
    answer = env.resolve()
    assert answer.bundled is bundled
    assert answer.cuda == cuda
    if version == "2.15.1":
        assert answer.cudnn == "8.9.4.25"


EXTRA = (
    'nvidia-cuda-runtime-cu12<13.0,>=12.5.82; extra == "and-cuda"',
    'nvidia-cudnn-cu12<10.0,>=9.10.2.21; extra == "and-cuda"',
)


def test_a_nightly_whose_build_file_names_no_cuda_is_answered_by_its_extra(env):
    env.dist("tf-nightly", "2.23.0.dev20261026", *EXTRA)
    file = "tensorflow/python/platform/build_info.py"
    env.file(file, build_info(ORDERED, None, None))
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12.5", "9.10.2.21", False)
    env.file(file, build_info(ORDERED, None, None, gpu=False))
    assert env.resolve().cuda is None


@pytest.mark.parametrize("dist", ["tensorflow-cpu", "tf-nightly-cpu"])
def test_the_extra_of_a_build_without_cuda_says_nothing(env, dist):
    env.dist(dist, "2.21.0", *EXTRA)
    assert (env.resolve().cuda, env.resolve().cudnn) == (None, None)


def test_a_cudnn_of_an_older_minor_is_refused_by_the_framework(env):
    env.dist("tensorflow", "2.18.0")
    env.dist("torch", "2.6.0+cu124")
    env.dist("nvidia-cuda-runtime-cu12", "12.4.127")
    env.dist("nvidia-cudnn-cu12", "9.1.0.70")
    answer = env.resolve()
    old = "nvidia-cudnn-cu12 9.1.0.70 is older than the 9.3 that it was built with"
    assert answer.caution == f"TensorFlow 2.18.0: {old}"
    assert [reason.text for reason in answer.reasons].count(answer.caution) == 1
    assert answer.hint == '`pip install "nvidia-cudnn-cu12>=9.3,<10"`'
    first = explain(answer).splitlines()[0]
    assert "CUDA 12.4.127 and cuDNN 9.1.0.70, once nvidia-cudnn-cu12 is 9.3 or newer;" in first
    assert any("runtime-cu12 12.4.127 is older than the 12.5" in it.text for it in answer.reasons)


@pytest.mark.parametrize(
    ("cudnn", "serves"), [("9.1.0.70", False), ("8.9.7.29", False), ("9.10.2.21", True)]
)
def test_a_torch_whose_cudnn_was_replaced_by_an_older_one(env, cudnn, serves):
    env.torch("2.9.1+cu128", "12.8", "nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'")
    env.dist("nvidia-cudnn-cu12", cudnn)
    answer = env.resolve()
    old = f"nvidia-cudnn-cu12 {cudnn} is older than the 9.10 that it was built with"
    assert answer.caution == (None if serves else f"PyTorch 2.9.1: {old}")
    if not serves:
        assert answer.hint == '`pip install "nvidia-cudnn-cu12>=9.10,<10"`'
        assert "once nvidia-cudnn-cu12 is 9.10 or newer" in explain(answer).splitlines()[0]


def test_onnx_runtime_is_told_to_have_its_wheels_loaded_first(env):
    env.dist("onnxruntime-gpu", "1.31.1")
    env.file("onnxruntime/capi/build_and_package_info.py", "cuda_version = '13.0'\n")
    first = "which it finds once `onnxruntime.preload_dlls()` or `import torch` has loaded them"
    assert not any(first in it.text for it in env.resolve().reasons)
    env.dist("nvidia-cuda-runtime", "13.0.96")
    env.dist("nvidia-cudnn-cu13", "9.24.0.43")
    answer = env.resolve()
    assert answer.bundled
    assert any(it.text.endswith(first) for it in answer.reasons)


def test_ctranslate2_beside_the_cublas_of_wheels(env):
    env.dist("ctranslate2", "4.8.5")
    env.dist("nvidia-cublas-cu11", "11.11.3.6")
    assert env.resolve().bundled is False
    env.dist("nvidia-cublas-cu12", "12.9.1.4")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12", None, True)
    assert explain(answer).startswith("runs on its own cuBLAS 12.9.1.4;")
    assert any("once `import torch`, or a `ctypes.CDLL`" in it.text for it in answer.reasons)


def test_a_row_that_holds_onward_says_so(env):
    env.dist("ctranslate2", "4.8.5")
    env.dist("onnxruntime-gpu", "1.30.0")
    said = [reason.text for reason in env.resolve().reasons]
    assert "CTranslate2 4.8.5: releases from 4.6.3 on are built for CUDA 12" in said
    assert "ONNX Runtime 1.30.0: release 1.30 is built for CUDA 13.0" in said


@pytest.mark.parametrize(("tag", "cuda"), [("x86_64", "12"), ("aarch64", None)])
def test_ctranslate2_has_cuda_on_x86_alone(env, tag, cuda):
    record = env.dist("ctranslate2", "4.8.5")
    text = f"Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_27_{tag}\n"
    (record.parent / "WHEEL").write_text(text)
    assert env.resolve().cuda == cuda


def test_wheels_that_lack_cudnn_are_told(env):
    env.dist("tensorflow", "2.15.1")
    env.dist("nvidia-cuda-runtime-cu12", "12.2.140")
    said = [reason.text for reason in env.resolve().reasons]
    lacking = "the environment brings nvidia-cuda-runtime-cu12 12.2.140, and no cuDNN 8 for it"
    assert f"TensorFlow 2.15.1: {lacking}" in said
    other = "the CUDA packages in the environment are not the ones that it looks for"
    assert f"TensorFlow 2.15.1: {other}" not in said


def test_a_torch_without_the_wheels_that_it_pins(env):
    env.torch("2.9.1+cu128", "12.8", "nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'")
    answer = env.resolve()
    assert (
        answer.caution == "PyTorch 2.9.1: nvidia-cudnn-cu12, which it takes cuDNN from, is missing"
    )
    assert answer.hint == "`pip install torch==2.9.1`, which brings what is missing"
    assert "once nvidia-cudnn-cu12 is there;" in explain(answer).splitlines()[0]
    env.file("torch/lib/libcudnn.so.9")
    assert env.resolve().caution is None
    (env.prefix / env.site / "torch/lib/libcudnn.so.9").unlink()
    env.dist("nvidia-cudnn-cu12", "9.10.2.21")
    assert env.resolve().caution is None


def test_a_jax_on_the_cuda_of_conda_misses_no_wheel(env):
    env.dist("jax-cuda12-plugin", "0.6.0", "nvidia-cudnn-cu12<10.0,>=9.8; extra == 'with-cuda'")
    env.conda("cuda-cudart", "12.9.79", "h5888daf_0")
    env.conda("cudnn", "9.10.1.4", "h7646684_1")
    answer = env.resolve()
    assert (answer.bundled, answer.caution) == (True, None)


def test_a_cudnn_inside_torch_asks_for_none_beside_it(env):
    env.torch("2.0.1+cu118", "11.8")
    env.file("torch/lib/libcudnn.so.8")
    env.dist("nvidia-cudnn-cu11", "8.5.0.96")
    assert env.resolve().caution is None


def test_a_cudnn_of_a_newer_minor_serves(env):
    env.dist("tensorflow", "2.18.0")
    env.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    env.dist("nvidia-cudnn-cu12", "9.10.2.21")
    answer = env.resolve()
    assert (answer.caution, answer.cuda, answer.cudnn) == (None, "12.5", "9.3")
    assert explain(answer).startswith("runs on its own CUDA 12.9.79 and cuDNN 9.10.2.21;")


def test_an_older_cudnn_of_conda(env):
    env.dist("tensorflow", "2.6.0")
    env.conda("cudatoolkit", "11.2.2", "hbe64b41_10")
    env.conda("cudnn", "8.0.5.39", "h1_0")
    assert env.resolve().hint == f"`conda install -p '{env.prefix}' \"cudnn>=8.1,<9\"`"


def cudnn_pin(cuda, version):
    return f'nvidia-cudnn-cu{cuda} (=={version}) ; platform_system == "Linux"'


TORCH = [
    # METADATA version, version.py: version and cuda, requirement, answer
    ("1.0.0", "1.0.0", "9.0.176", None, "9.0.176", None),
    ("1.2.0", "1.2.0", "10.0.130", None, "10.0.130", None),
    ("1.3.1", "1.3.1", "10.1.243", None, "10.1.243", None),
    ("1.4.0", "1.4.0", "10.1", None, "10.1", None),
    ("1.5.1", "1.5.1", "10.2", None, "10.2", None),
    ("1.7.1", "1.7.1+cu92", "9.2", None, "9.2", None),
    ("1.7.1", "1.7.1+cu110", "11.0", None, "11.0", None),
    ("1.8.1", "1.8.1+cu102", "10.2", None, "10.2", "7.6.5.32"),
    ("1.8.1", "1.8.1+cu101", "10.1", None, "10.1", "7.6.3.30"),
    ("1.10.2", "1.10.2+cu102", "10.2", None, "10.2", "7.6.5.32"),
    ("1.11.0", "1.11.0+cu113", "11.3", None, "11.3", "8.2.0.53"),
    ("1.12.1", "1.12.1+cu102", "10.2", None, "10.2", "7.6.5.32"),
    ("1.12.1", "1.12.1+cu116", "11.6", None, "11.6", "8.3.2.44"),
    ("1.13.1", "1.13.1+cu117", "11.7", cudnn_pin(11, "8.5.0.96"), "11.7", "8.5.0.96"),
    ("2.0.1", "2.0.1+cu118", "11.8", None, "11.8", "8.7.0.84"),
    ("2.1.2", "2.1.2+cu121", "12.1", cudnn_pin(12, "8.9.2.26"), "12.1", "8.9.2.26"),
    ("2.4.1", "2.4.1+cu124", "12.4", cudnn_pin(12, "9.1.0.70"), "12.4", "9.1.0.70"),
    ("2.6.0", "2.6.0+cu126", "12.6", None, "12.6", "9.5.1.17"),
    ("2.8.0", "2.8.0+cu128", "12.8", cudnn_pin(12, "9.10.2.21"), "12.8", "9.10.2.21"),
    # RELEASE.md says 9.17.1.4, the wheel itself pins another.
    ("2.11.0", "2.11.0+cu130", "13.0", cudnn_pin(13, "9.19.0.56"), "13.0", "9.19.0.56"),
    ("2.13.0", "2.13.0+cu130", "13.0", cudnn_pin(13, "9.20.0.48"), "13.0", "9.20.0.48"),
    ("2.14.1", "2.14.1+cu132", "13.2", None, "13.2", "9.24.0.43"),
    ("2.99.0", "2.99.0+cu140", "14.0", None, "14.0", None),  # newer than the table
    ("2.9.0", "2.9.0.dev20250801+cu128", "12.8", None, "12.8", "9.10.2.21"),  # nightlies
    ("2.16.0", "2.16.0.dev20261101+cu132", "13.2", None, "13.2", None),
    ("2.0.0", "2.0.0+cu117.with.pypi.cudnn", "11.7", None, "11.7", "8.5.0.96"),
]


@pytest.mark.parametrize("case", TORCH, ids=lambda case: case[1])
def test_torch_wheels(env, case):
    _, version, says, pin, cuda, cudnn = case
    env.torch(version, says, *[pin] * (pin is not None), typed=version >= "1.13")
    answer = env.resolve(driver="700.1")
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert (answer.runs, answer.bundled) == (True, True)


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn"),
    [
        ("1.12.1", "10.2", "7.6.5.32"),
        ("1.12.1+cu116", "11.6", "8.3.2.44"),
        ("1.7.1+cu92", "9.2", None),
        ("2.1.0", "12.1", "8.9.2.26"),
        ("2.10.0+cu130", "13.0", "9.15.1.9"),
        ("2.11.0", "13.0", "9.19.0.56"),
        ("2.1.0+cpu", None, None),
        ("2.1.0+rocm5.6", None, None),
        ("2.6.0+xpu", None, None),
        ("2.1.0+cpu.cxx11.abi", None, None),
        ("2.10.0.dev20251001+cu130", "13.0", "9.15.1.9"),
        ("1.13.1+cu117.with.pypi.cudnn", "11.7", "8.5.0.96"),
    ],
)
def test_torch_known_by_its_distribution_alone(env, version, cuda, cudnn):
    env.dist("torch", version)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert answer.bundled is (cuda is not None)


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("version", ["2.13.0+cpu", "1.4.0+cpu", "2.0.0"])
def test_torch_without_cuda_needs_nothing(env, version, typed):
    env.torch(version, None, typed=typed)
    answer = env.resolve(driver="390.1", cc="3.0")
    assert (answer.cuda, answer.cudnn, answer.runs, answer.bundled) == (None, None, True, False)
    assert answer.hint is None


def test_windows_torch_from_pypi_has_no_cuda(tmp_path):
    env = Env(tmp_path / "env", WINDOWS_SITE)
    env.dist("torch", "2.1.0", cudnn_pin(12, "8.9.2.26"))
    assert env.resolve().cuda is None
    env.torch("2.1.0+cu118", "11.8", cudnn_pin(12, "8.9.2.26"))
    answer = env.resolve(driver="531.14")
    assert (answer.cuda, answer.cudnn) == ("11.8", "8.7.0.84")


def test_torch_wheels_that_hold_their_libraries_tell_the_cudnn(env):
    env.torch("1.4.0", "10.1")
    env.file("torch/lib/libcudnn.so.7")
    env.file("torch/lib/libcudart-80664282.so.10.1")
    assert env.resolve().cudnn == "7"


CONDA = [
    # package, version, build, depends, answer
    ("pytorch", "1.7.1", "py3.8_cuda10.1.243_cudnn7.6.3_0", (), "10.1.243", "7.6.3"),
    ("pytorch", "1.7.1", "py3.8_cuda11.0.221_cudnn8.0.5_0", (), "11.0.221", "8.0.5"),
    ("pytorch", "1.8.1", "py3.8_cuda101_cudnn7_0", (), "10.1", "7.6.3.30"),
    ("pytorch", "1.7.0", "py3.8_cuda110_cudnn8_0", (), "11.0", "8"),
    ("pytorch", "2.1.0", "py3.10_cuda12.1_cudnn8.9.2_0", (), "12.1", "8.9.2"),
    ("pytorch", "2.5.1", "py3.12_cuda12.4_cudnn9.1.0_0", (), "12.4", "9.1.0"),
    ("pytorch", "2.0.0", "py3.10_cpu_0", (), None, None),
    ("pytorch", "1.10.0", "py39_0", (), None, None),  # says nothing; PyPI's default is no answer
    ("pytorch", "2.1.0", "cuda118_py39hbf661d7_301", (), "11.8", "8.7.0.84"),
    ("pytorch", "2.5.1", "cuda126_mkl_py312h30b5a27_300", (), "12.6", None),
    ("pytorch", "2.1.0", "cpu_mkl_py310h3ea73d3_100", (), None, None),
    ("pytorch", "1.13.0", "gpu_py_0", ("pytorch-cuda 11.7.*",), "11.7", "8.5.0.96"),
    ("tensorflow-base", "2.4.1", "gpu_py39h29c2da4_0",
     ("cudatoolkit 10.1.*", "cudnn 7.6.*"), "10.1", "7.6"),
    ("tensorflow-base", "2.10.0", "cuda112py310he87a039_0",
     ("cudatoolkit >=11.2,<12", "cudnn >=8.4.1.50,<9.0a0"), "11.2", "8.4.1.50"),
    ("tensorflow-base", "2.4.1", "mkl_py39h43e0292_0", (), None, None),
    ("tensorflow-base", "2.10.0", "eigen_py310hc96f1cb_0", (), None, None),
    ("tensorflow-base", "2.15.0", "cpu_py311hd3d7757_2", (), None, None),
    ("tensorflow-base", "2.14.0", "cuda118py310h676c1dd_0", (), "11.8", "8.7"),
    ("tensorflow-base", "2.15.0", "cuda120py311heb1bdc4_2", (), "12.0", None),
    ("pytorch", "1.0.0", "py3.7_cuda9.0.176_cudnn7.4.1_1", (), "9.0.176", "7.4.1"),
    ("pytorch", "0.3.1", "py36_cuda9.1.85_cudnn7.0.5_2", (), "9.1.85", "7.0.5"),
    ("pytorch", "0.4.1", "py37_cuda92_cudnn71_0", (), "9.2", "7.1"),
    ("pytorch", "2.3.0", "gpu_cuda118py311h8b6c3b5_101", (), "11.8", "8.7.0.84"),
    ("pytorch", "2.6.0", "cuda126_generic_py312_h1234567_200", (), "12.6", "9.5.1.17"),
    ("pytorch", "2.6.0", "cpu_generic_py312_h1234567_0", (), None, None),
    ("pytorch-gpu", "2.1.0", "cuda118py310h7b3a9c5_301", (), "11.8", "8.7.0.84"),
    ("jaxlib", "0.4.35", "cuda126py312hd27b167_203", (), "12.6", "9.1"),
    ("jaxlib", "0.4.23", "cpu_py311h46de68d_0", (), None, None),
    ("onnxruntime", "1.17.1", "py310h2494dd2_0_cpu", (), None, None),
    ("jaxlib", "0.4.14", "cuda112py310hf679b68_0", ("cudnn >=8.8,<9",), "11.2", "8.8"),
    ("jaxlib", "0.4.23", "cuda120py311h5a49573_202", (), "12.0", "8.9"),
    ("onnxruntime", "1.20.1", "gpu_cuda124py39h05d824c_0", (), "12.4", "9"),
    ("onnxruntime", "1.20.1", "py313h2494dd2_0_cuda",
     ("python", "cuda-version >=12.4,<13", "cudnn >=9.1,<10.0a0", "__cuda"), "12.4", "9.1"),
]  # fmt: skip


@pytest.mark.parametrize("case", CONDA, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def test_conda_packages(env, case):
    name, version, build, depends, cuda, cudnn = case
    env.conda(name, version, build, *depends)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert answer.bundled is (cuda is not None)
    assert f"conda-meta/{name}-{version}-{build}.json" in answer.frameworks[0].source


def test_a_conda_package_is_found_once_though_it_has_a_dist_info_too(env):
    env.conda("pytorch", "2.1.0", "py3.10_cuda12.1_cudnn8.9.2_0")
    env.torch("2.1.0", "12.1")
    answer = env.resolve()
    assert len(answer.frameworks) == 1
    assert (answer.cuda, answer.cudnn) == ("12.1", "8.9.2")


def test_a_package_of_conda_forge_has_its_build_in_its_version(env):
    env.conda(
        "pytorch",
        "2.0.0",
        "cuda118py310he342708_200",
        "cudatoolkit >=11.8,<12",
        "cudnn >=8.8.0.121",
    )
    env.dist("torch", "2.0.0.post200")
    env.file("torch/version.py", "__version__ = '2.0.0.post200'\ncuda = '11.8'\n")
    answer = env.resolve(cc="3.5")
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11.8", "8.8.0.121", True)
    assert any("as a conda package" in reason.text for reason in answer.reasons)


def test_another_post_release_over_conda_is_pip(env):
    env.conda("paddlepaddle-gpu", "2.4.2", "py38_gpu_cuda10.2_many_linux", "cudatoolkit 10.2.*")
    env.dist("paddlepaddle-gpu", "2.4.2.post112")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("11.2", False)


def test_of_two_records_of_a_conda_package_the_newer_counts_and_the_other_is_noted(env):
    env.conda("pytorch", "1.9.1", "py3.8_cuda10.2_cudnn7.6.5_0")
    env.conda("pytorch", "1.12.1", "py3.8_cuda11.3_cudnn8.3.2_0")
    env.conda("cudatoolkit", "9.2.148", "h1_0")
    env.conda("cudatoolkit", "11.3.1", "h2_0")
    answer = env.resolve()
    assert [(it.version, it.cuda) for it in answer.frameworks] == [("1.12.1", "11.3")]
    noted = {reason.source: reason.text for reason in answer.reasons if "second" in reason.text}
    assert noted == {
        "conda-meta/pytorch-1.9.1-py3.8_cuda10.2_cudnn7.6.5_0.json": "is a second record of"
        " pytorch, beside pytorch-1.12.1-py3.8_cuda11.3_cudnn8.3.2_0.json",
        "conda-meta/cudatoolkit-9.2.148-h1_0.json": "is a second record of cudatoolkit,"
        " beside cudatoolkit-11.3.1-h2_0.json",
    }


def test_pip_over_conda_is_pip(env):
    env.conda("pytorch", "2.0.0", "py3.10_cpu_0")
    env.torch("2.1.0+cu121", "12.1")
    assert env.resolve().cuda == "12.1"


def test_condas_record_of_another_release_does_not_make_pips_package_condas(env):
    env.conda("tensorflow-base", "2.4.1", "gpu_py39h29c2da4_0", "cudatoolkit 10.1.*")
    env.dist("tensorflow", "2.10.1")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("11.2", False)


def test_a_name_that_only_begins_alike_is_another_name(env):
    env.dist("torch", "2.1.2")
    env.file("torch/version.py", "cuda_compiler = '9.0'\ncuda = '12.1'\n")
    assert env.resolve().cuda == "12.1"


def test_a_pin_counts_before_a_bound(env):
    env.torch("2.99.0+cu121", "12.1", "nvidia-cudnn-cu12 (>=8.0,==8.9.2.26)")
    assert env.resolve().cudnn == "8.9.2.26"


def test_pip_tensorflow_in_a_prefix_with_condas_cuda(env):
    env.dist("tensorflow", "2.10.1")
    env.file("tensorflow/python/platform/build_info.py", build_info(ORDERED, "11.2", "8"))
    env.conda("cudatoolkit", "11.2.2", "hbe64b41_10")
    assert env.resolve().bundled is False
    env.conda("cudnn", "8.1.0.77", "h90431f1_0")
    answer = env.resolve()
    assert answer.bundled is True
    assert any("cudatoolkit 11.2.2 and cudnn 8.1.0.77" in it.text for it in answer.reasons)


def test_a_cupy_beside_conda_s_cuda_runs_without_the_cudnn_that_it_may_use(env):
    env.dist("cupy-cuda11x", "13.6.0")
    env.file("cupy/.data/_wheel.json", '{"cuda": "11.x", "cudnn": {"version": "8.8.1"}}')
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11", None, True)


@pytest.fixture
def beside_conda(env, monkeypatch):
    """TensorFlow by pip with the cudatoolkit of conda, as its guide had it up to 2.12."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env.dist("tensorflow", "2.10.0")
    env.conda("cudatoolkit", "11.2.2", "hbe64b41_10")
    env.conda("cudnn", "8.1.0.77", "h90431f1_0")
    return env


def test_pip_tensorflow_finds_condas_cuda_by_ld_library_path_alone(beside_conda):
    answer, lib = beside_conda.resolve(), f"{beside_conda.prefix}/lib"
    assert f"looks in `{lib}` only by LD_LIBRARY_PATH" in answer.caution
    assert any("tensorflow#52988" in reason.source for reason in answer.reasons)
    assert f"LD_LIBRARY_PATH='{lib}'" in answer.hint
    assert "cuDNN 8.1.0.77, once LD_LIBRARY_PATH leads there" in explain(answer).splitlines()[0]
    assert beside_conda.resolve(platform="win-64").caution is None


LEADING = {
    "etc/conda/activate.d/env_vars.sh": "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$CONDA_PREFIX/lib/",
    "etc/conda/activate.d/a.sh": 'export LD_LIBRARY_PATH="{at}/lib:$LD_LIBRARY_PATH"',
    "conda-meta/state": '{{"env_vars": {{"LD_LIBRARY_PATH": "/opt/lib:{at}/lib"}}}}',
}


@pytest.mark.parametrize("file", LEADING)
def test_what_leads_there(beside_conda, file):
    text = LEADING[file]
    beside_conda.write(file, text.format(at=beside_conda.prefix) if "{at}" in text else text)
    assert beside_conda.resolve().caution is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("etc/conda/activate.d/a.sh", "export LD_LIBRARY_PATH=$CONDA_PREFIX/library"),
        ("etc/conda/activate.d/a.sh", "export LD_LIBRARY_PATH=/opt/lib PATH=$CONDA/lib"),
        ("etc/conda/activate.d/a.txt", "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib"),
        ("conda-meta/state", '{"env_vars": {"LD_LIBRARY_PATH": ["lib"]}}'),
    ],
)
def test_what_does_not_lead_there(beside_conda, file, text):
    beside_conda.write(file, text)
    assert beside_conda.resolve().caution


def test_a_shell_that_has_it_already(beside_conda, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/lib:{beside_conda.prefix}/lib/")
    assert beside_conda.resolve().caution is None


def test_wheels_beside_it_and_releases_before_2_7_need_no_path(beside_conda, monkeypatch):
    beside_conda.dist("tensorflow-gpu", "2.6.2")
    assert beside_conda.resolve().caution is None
    beside_conda.dist("tensorflow-gpu", "2.14.1")
    beside_conda.conda("cudatoolkit", "11.8.0", "0")
    beside_conda.conda("cudnn", "8.9", "0")
    assert beside_conda.resolve().caution
    beside_conda.dist("nvidia-cuda-runtime-cu11", "11.8.89")
    beside_conda.dist("nvidia-cudnn-cu11", "8.7.0.84")
    assert beside_conda.resolve().caution is None


def test_an_old_framework_needs_its_own_release_of_condas_cuda(env):
    env.dist("tensorflow", "2.1.0")
    env.conda("cudatoolkit", "10.2.89", "hfd86e86_1")
    env.conda("cudnn", "7.6.5", "cuda10.2_0")
    assert env.resolve().bundled is False


OTHERS = [
    # dists, files, answer
    (["jaxlib 0.4.13+cuda12.cudnn89"], {}, "12", "8.9"),
    (["jaxlib 0.4.13+cuda11.cudnn86"], {}, "11", "8.6"),
    (["jaxlib 0.1.73+cuda11.cudnn805"], {}, "11", "8.0.5"),
    (["jaxlib 0.1.67+cuda111"], {}, "11.1", None),
    (["jaxlib 0.1.60+cuda101"], {}, "10.1", "7"),
    (["jaxlib 0.1.40+cuda92"], {}, "9.2", None),
    (["jaxlib 0.4.30"], {}, None, None),
    (["jaxlib 0.6.0", "jax-cuda12-plugin 0.6.0"], {}, "12", "9.8"),
    (["jaxlib 0.8.0", "jax-cuda13-plugin 0.8.0"], {}, "13", "9.12.0.46"),
    (["cupy-cuda101 9.6.0"], {}, "10.1", None),
    (["cupy-cuda80 7.8.0"], {}, "8.0", None),
    (["cupy-cuda12x 14.2.0"], {}, "12", None),
    (
        ["cupy-cuda102 12.3.0"],
        {"cupy/.data/_wheel.json": '{"cuda": "10.2", "cudnn": {"version": "8.7.0"}}'},
        "10.2",
        None,
    ),
    (
        ["cupy-cuda13x 14.2.0"],
        {"cupy/.data/_wheel.json": '{"cuda": "13.x", "nccl": {"version": "2.27.7"}}'},
        "13",
        None,
    ),
    (["cupy-rocm-5-0 12.0.0"], {}, None, None),
    (["mxnet-cu101 1.5.1"], {}, "10.1", "7.6.0.64"),
    (["mxnet-cu112 1.9.1"], {}, "11.2", "8.1.1.33"),
    (["mxnet-cu80mkl 1.5.0"], {}, "8.0", "7.2.1.38"),
    (["mxnet 1.9.1"], {}, None, None),
    (["mxnet-cu92mkl 1.6.0"], {}, "9.2", "7.6.0.64"),
    (["cupy-cuda117 10.6.0"], {}, "11.7", None),
    (["jaxlib 0.3.25+cuda11.cudnn82"], {}, "11", "8.2"),
    (["jaxlib 0.4.28+cuda12.cudnn89"], {}, "12", "8.9"),
    (["paddlepaddle-gpu 2.0.0.post101"], {}, "10.1", None),
    (["paddlepaddle-gpu 2.6.1.post120"], {}, "12.0", "8.9.1"),
    (["onnxruntime-training 1.16.1+cu118"], {}, "11.8", "8.2.4"),
    (["ort-nightly-gpu 1.19.0.dev20240601001"], {}, "12", "9"),
    (["paddlepaddle-gpu 2.1.3.post101"], {}, "10.1", "7.6.5"),
    (["paddlepaddle-gpu 1.8.5.post107"], {}, "10", "7"),
    (["paddlepaddle-gpu 2.4.2"], {}, "10.2", "7.6.5"),
    (
        ["paddlepaddle-gpu 2.6.2"],
        {"paddle/version/__init__.py": "cuda_version = '11.8'\ncudnn_version = '8.6.0'\n"},
        "11.8",
        "8.6.0",
    ),
    (["paddlepaddle 2.6.2"], {"paddle/version/__init__.py": "cuda_version = 'False'"}, None, None),
    (["onnxruntime-gpu 1.4.0"], {}, "10.1", "7.6.5"),
    (["onnxruntime-gpu 1.10.0"], {}, "11.4", "8.2.4"),
    (["onnxruntime-gpu 1.16.3"], {}, "11.8", "8.2.4"),
    (["onnxruntime-gpu 1.20.2"], {}, "12", "9"),
    (
        ["onnxruntime-gpu 1.31.1", "onnxruntime 1.31.1"],
        {"onnxruntime/capi/build_and_package_info.py": "cuda_version = '13.0'\n"},
        "13.0",
        "9",
    ),
    (["onnxruntime 1.31.1"], {"onnxruntime/capi/build_and_package_info.py": ""}, None, None),
    (
        ["cntk-gpu 2.7.post2"],
        {"cntk/libs/libcudart.so.10.0": "", "cntk/libs/libcudnn.so.7": ""},
        "10.0",
        "7",
    ),
]


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case[0][-1])
def test_other_frameworks(env, case):
    dists, files, cuda, cudnn = case
    for dist in dists:
        env.dist(*dist.split())
    for path, text in files.items():
        env.file(path, text)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, len(answer.frameworks)) == (cuda, cudnn, 1)


def test_a_jax_plugin_with_its_wheels_runs_on_its_own(env):
    requires = "nvidia-cudnn-cu12<10.0,>=9.8; extra == 'with-cuda'"
    env.dist("jax-cuda12-plugin", "0.6.0", requires)
    assert env.resolve().bundled is False
    env.dist("nvidia-cuda-runtime-cu12", "12.8.90")
    env.dist("nvidia-cudnn-cu12", "9.8.0.87")
    assert env.resolve().bundled is True


def test_an_egg_info_counts_as_well(env):
    env.file("torch-1.3.1-py3.7.egg-info/PKG-INFO", "Name: torch\nVersion: 1.3.1\n")
    answer = env.resolve()
    assert (answer.frameworks[0].version, answer.cuda) == ("1.3.1", "10.1")


def test_any_python_in_the_environment_is_read(tmp_path):
    env = Env(tmp_path / "env", "lib64/python3.13/site-packages")
    env.dist("torch", "2.6.0+cu126")
    assert env.resolve().cuda == "12.6"


def test_lib64_that_is_a_link_is_read_once(env):
    (env.prefix / "lib64").symlink_to("lib")
    env.dist("torch", "2.6.0+cu126")
    assert len(env.resolve().frameworks) == 1


def library_needing(library: Path, *sonames: str) -> None:
    """Link a shared library whose dynamic section names these, as a published one does."""
    stubs = library.parent / "stubs"
    stubs.mkdir()
    command = ["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null"]
    for soname in sonames:
        subprocess.run([*command, f"-Wl,-soname,{soname}", "-o", stubs / soname], check=True)
    linked = ["-x", "none", "-Wl,--no-as-needed", *(stubs / soname for soname in sonames)]
    subprocess.run([*command, *linked, "-o", library], check=True)


CUDA_11 = ("libcublasLt.so.11", "libcublas.so.11", "libcudnn.so.8", "libcudart.so.11.0")
CUDA_12 = ("libcublasLt.so.12", "libcublas.so.12", "libcudart.so.12")


@pytest.mark.parametrize(
    ("version", "needed", "cuda", "cudnn"),
    [
        ("1.17.1", CUDA_11, "11.8", "8"),  # as read in the wheel on PyPI
        ("1.17.1", (*CUDA_12, "libcudnn.so.8"), "12", "8"),
        ("1.18.1", CUDA_11, "11.8", "8"),
        ("1.18.0", (*CUDA_12, "libcudnn.so.8"), "12", "8"),
        ("1.18.1", (*CUDA_12, "libcudnn.so.9"), "12", "9"),
        ("1.20.1", CUDA_11, "11.8", "8"),
        ("1.99.0", (*CUDA_12, "libcudnn.so.9"), "12", "9"),
    ],
)
def test_builds_of_one_version_are_told_apart_by_what_their_library_needs(
    env, version, needed, cuda, cudnn
):
    env.dist("onnxruntime-gpu", version)
    library_needing(env.file("onnxruntime/capi/libonnxruntime_providers_cuda.so"), *needed)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert any("libonnxruntime_providers_cuda.so" in it.source for it in answer.reasons)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"not a library" * 99])
def test_a_library_that_is_none_leaves_a_note(env, content):
    env.dist("onnxruntime-gpu", "1.18.1")
    env.file("onnxruntime/capi/libonnxruntime_providers_cuda.so").write_bytes(content)
    answer = env.resolve()
    assert answer.cuda == "11.8"
    assert any("no library that can be read" in it.text for it in answer.reasons)


def test_a_prefix_with_cuda_and_no_framework_says_what_it_brings(env):
    env.conda("cudatoolkit", "10.1.243", "h6bb024c_0")
    answer = env.resolve()
    assert (answer.cuda, answer.frameworks) == (None, ())
    assert any("cudatoolkit 10.1.243" in it.text for it in answer.reasons)
