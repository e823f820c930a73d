"""Environments as installers leave them, era by era: what is found, and what follows from it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cudaswitch.resolver.explain import explain
from handmade import toolkit
from made_environments import Env


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


@pytest.mark.parametrize(
    ("version", "found"), [("1.18.1", False), ("1.19.2", True), ("1.20.2", False)]
)
def test_onnx_runtime_1_19_finds_what_torch_has_loaded(env, version, found):
    env.dist("onnxruntime-gpu", version)
    env.dist("nvidia-cuda-runtime-cu12", "12.1.105")
    env.dist("nvidia-cudnn-cu12", "9.1.0.70")
    assert env.resolve().bundled is False
    env.torch("2.4.1+cpu", None)
    assert env.resolve().bundled is False
    env.torch("2.4.1+cu121", "12.1")
    answer = env.resolve()
    first = "which it finds once `import torch` has loaded them"
    assert answer.bundled is found
    assert any(it.text.endswith(first) for it in answer.reasons) is found


def test_a_release_that_is_not_known_counts_as_a_newer_one(env):
    """An unknown release is newer than those of rules for old ones, as of ONNX Runtime 1.19."""
    env.dist("onnxruntime-gpu", "unknown")
    env.dist("nvidia-cuda-runtime-cu12", "12.1.105")
    env.dist("nvidia-cudnn-cu12", "9.1.0.70")
    env.file("onnxruntime/capi/build_and_package_info.py", "cuda_version = '12.4'\n")
    assert any("`onnxruntime.preload_dlls()`" in it.text for it in env.resolve().reasons)


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


def test_a_jax_on_the_cuda_of_conda_misses_no_wheel(env):
    env.dist("jax-cuda12-plugin", "0.6.0", "nvidia-cudnn-cu12<10.0,>=9.8; extra == 'with-cuda'")
    env.conda("cuda-cudart", "12.9.79", "h5888daf_0")
    env.conda("cudnn", "9.10.1.4", "h7646684_1")
    answer = env.resolve()
    assert (answer.bundled, answer.caution) == (True, None)


def test_a_name_that_only_begins_alike_is_another_name(env):
    env.dist("torch", "2.1.2")
    env.file("torch/version.py", "cuda_compiler = '9.0'\ncuda = '12.1'\n")
    assert env.resolve().cuda == "12.1"


def test_a_pin_counts_before_a_bound(env):
    env.torch("2.99.0+cu121", "12.1", "nvidia-cudnn-cu12 (>=8.0,==8.9.2.26)")
    assert env.resolve().cudnn == "8.9.2.26"


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
    assert any("not a valid library" in it.text for it in answer.reasons)


def test_a_prefix_with_cuda_and_no_framework_says_what_it_brings(env):
    env.conda("cudatoolkit", "10.1.243", "h6bb024c_0")
    answer = env.resolve()
    assert (answer.cuda, answer.frameworks) == (None, ())
    assert any("cudatoolkit 10.1.243" in it.text for it in answer.reasons)


@pytest.mark.parametrize(
    ("dists", "kit", "wanted", "library"),
    [
        (("tensorflow 2.11.0", "jaxlib 0.4.13+cuda11.cudnn86"), "11.8.89+cudnn8.6.0", "11", "8"),
        (("tensorflow 2.15.1", "jax-cuda12-plugin 0.4.25"), "12.3.101+cudnn8.9.7", "12", "8.9"),
        (("tensorflow 2.9", "jaxlib 0.3.8+cuda11.cudnn805"), "11.2.152+cudnn8.1.1", "11.2", "8.1"),
        (("tensorflow 2.10", "cupy-cuda11x 12.3.0"), "11.2.152+cudnn8.1.1", "11.2", "8.1"),
    ],
)
def test_what_two_frameworks_ask_for_together_serves_them(env, dists, kit, wanted, library):
    """One names CUDA 11.2, the other any 11 from 11.8 on: 11.2 is none that both take."""
    for dist in dists:
        env.dist(*dist.split())
    kits = [toolkit("11.1.105+cudnn8.1.1"), toolkit("12.2.140+cudnn8.9.7"), toolkit(kit)]
    answer = env.resolve(kits)
    assert (answer.toolkit, answer.cuda) == (kit, wanted)
    assert env.resolve(kits[:2]).hint == f"cudaswitch install {wanted} --cudnn {library}"
