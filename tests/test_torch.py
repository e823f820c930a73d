"""PyTorch: what its wheels say about themselves, and the cuDNN inside or beside it."""

from __future__ import annotations

import pytest

from cudaswitch.resolver.explain import explain
from made_environments import WINDOWS_SITE, Env, cudnn_pin


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


def test_a_cudnn_inside_torch_asks_for_none_beside_it(env):
    env.torch("2.0.1+cu118", "11.8")
    env.file("torch/lib/libcudnn.so.8")
    env.dist("nvidia-cudnn-cu11", "8.5.0.96")
    assert env.resolve().caution is None


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


def test_torch_with_some_cudnn_8_inside_runs_on_a_gpu_that_the_newest_8_gave_up(env):
    env.torch("1.7.1+cu110", "11.0")
    env.file("torch/lib/libcudnn.so.8")
    answer = env.resolve(driver="470.82.01", cc="3.7")
    assert (answer.cudnn, answer.runs) == ("8", True)


def test_the_runtime_of_every_cuda_11_has_the_name_of_11_0(env):
    env.dist("torch", "1.13.1a0+git49444c3")
    env.file("torch/lib/libcudart-e409450e.so.11.0")
    assert env.resolve().cuda == "11"
    env.file("torch/version.py", "cuda = '11.7'\n")
    answer = env.resolve()
    assert answer.cuda == "11.7"
    assert not any("is stated too" in reason.text for reason in answer.reasons)
