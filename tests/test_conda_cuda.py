"""The CUDA that conda puts beside a framework: what serves, and where there is none."""

from __future__ import annotations

import pytest


@pytest.fixture
def cupy_core(env):
    """CuPy from conda, which can be installed there without CUDA."""
    env.conda("cupy-core", "14.1.1", "py38h1_0", "cuda-pathfinder >=1.3.4,<2.0a0")
    env.dist("cupy", "14.1.1")
    env.file("cupy/.data/_wheel.json", '{"cuda": "12.x", "packaging": "conda"}')
    return env


@pytest.mark.parametrize(
    ("package", "own"),
    [("cuda-version 12.9", False), ("cuda-cudart 12.9.79", True), ("libcublas 12.9.1.4", True)],
)
def test_a_cupy_that_asks_conda_for_no_cuda(cupy_core, package, own):
    cupy_core.conda(*package.split(), "h1_0")
    assert cupy_core.resolve().bundled is own


def test_a_cupy_that_finds_condas_cuda_of_another_major_finds_no_toolkit(env):
    env.dist("cupy-cuda12x", "14.2.0")
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    assert "CuPy 14.2.0 does not find the toolkit" in env.resolve().caution


def test_a_cupy_of_conda_finds_the_wheels_beside_it(cupy_core):
    cupy_core.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    answer = cupy_core.resolve()
    assert answer.bundled
    assert any("brings nvidia-cuda-runtime-cu12" in reason.text for reason in answer.reasons)


@pytest.fixture
def tensorflow(env):
    env.conda(
        "tensorflow-base", "2.18.0", "cuda128py38h1_203", "cuda-version >=12.8,<13",
        "libcudnn >=9.8.0.87,<10.0a0",
    )  # fmt: skip
    return env


@pytest.mark.parametrize(
    ("cuda", "cudnn", "own", "once"),
    [
        ("12.9.79", "9.10.1.4", "CUDA 12.9.79 and cuDNN 9.10.1.4", None),
        ("12.9.79", "9.20.0.48", "CUDA 12.9.79 and cuDNN 9.20.0.48", "libcudnn is older than 9.11"),
        ("12.9.79", None, None, None),  # it may be inside the package, as in the channel `pytorch`
        ("11.8.89", "9.10.1.4", None, None),
    ],
)
def test_what_conda_has_put_beside_a_framework_serves_it(tensorflow, cuda, cudnn, own, once):
    tensorflow.conda("cuda-cudart", cuda, "h1_0")
    if cudnn:
        tensorflow.conda("libcudnn", cudnn, "h1_0")
    answer = tensorflow.resolve(cc="7.0")
    assert (answer.bundled, answer.cudnn, answer.own) == (True, "9.8.0.87", own)
    assert answer.proviso == (once and f"once {once}")
    assert bool(once) is ('"libcudnn>=9.8,<9.11"' in (answer.hint or ""))


@pytest.fixture
def numba(env):
    """Numba in a prefix where another package, such as NCCL, asks for a release of CUDA."""
    env.conda("numba", "0.61.2", "py38h1_1")
    env.conda("cuda-version", "12.9", "h1_3")
    return env


def test_a_package_that_only_pins_the_cuda_is_no_cuda(numba):
    answer = numba.resolve()
    assert (answer.cuda, answer.bundled) == ("12.9", False)
    assert any("by cuda-version it takes a toolkit 12.9" in it.text for it in answer.reasons)
    numba.conda("cuda-cudart", "12.9.79", "h1_0")
    answer = numba.resolve()
    assert (answer.cuda, answer.bundled) == ("12.9", True)


def test_a_package_that_only_pins_the_cuda_decides_nothing_beside_a_framework(numba):
    numba.torch("2.5.1+cu124", "12.4")
    answer = numba.resolve()
    assert (answer.cuda, answer.bundled) == ("12.4", True)


def test_a_package_that_pins_a_cuda_which_numba_does_not_take_tells_it_nothing(env):
    env.conda("numba", "0.61.2", "py38h1_1")
    env.conda("cuda-version", "13.0", "h1_3")
    answer = env.resolve()
    assert (answer.cuda, "from 11.2 to 12" in answer.hint) == (None, True)
