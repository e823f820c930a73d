"""TensorFlow: what its wheels say of themselves, and what was built and tested with a release."""

from __future__ import annotations

import pytest

from cudaswitch.resolver.explain import explain
from made_environments import DICT, ORDERED, PLAIN, WINDOWS_SITE, Env, build_info

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


def test_a_cudnn_range_is_never_empty(env):
    """Which GPUs cuDNN lists is not known of each release: of 8.5 it is, and of 8.9."""
    env.dist("tensorflow", "2.14.1", "nvidia-cudnn-cu11==8.7.0.84; extra == 'and-cuda'")
    env.file("tensorflow/python/platform/build_info.py", build_info(DICT, "11.8", "8"))
    env.dist("nvidia-cuda-runtime-cu11", "11.8.89")
    env.dist("nvidia-cudnn-cu11", "8.6.0.163")
    answer = env.resolve(cc="3.7")
    assert answer.hint == '`pip install "nvidia-cudnn-cu11>=8.7,<9"`'


@pytest.mark.parametrize(("version", "finds"), [("2.16.1", False), ("2.16.2", True)])
def test_a_release_that_does_not_find_its_wheels(env, version, finds):
    env.dist("tensorflow", version)
    env.dist("nvidia-cuda-runtime-cu12", "12.3.101")
    env.dist("nvidia-cudnn-cu12", "8.9.7.29")
    answer = env.resolve()
    assert (answer.bundled, answer.caution is None) == (True, finds)
    if not finds:
        assert answer.hint == '`pip install "tensorflow==2.16.2"`'
        assert "once it is 2.16.2;" in explain(answer).splitlines()[0]


def test_a_cudnn_of_a_newer_minor_serves(env):
    env.dist("tensorflow", "2.18.0")
    env.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    env.dist("nvidia-cudnn-cu12", "9.10.2.21")
    answer = env.resolve()
    assert (answer.caution, answer.cuda, answer.cudnn) == (None, "12.5", "9.3")
    assert explain(answer).startswith("runs on its own CUDA 12.9.79 and cuDNN 9.10.2.21;")
