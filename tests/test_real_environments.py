"""Environments that pip, venv and an independent conda engine have made from real packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import builders
from builders import conda_package, local_channel
from checks import succeeded
from cudaswitch.bundled import bundles_cuda
from cudaswitch.detect.facts import facts_of
from cudaswitch.resolver import resolve
from homes import Home
from rattler_install import rattler_install
from shells.venvs import with_venv
from tools import executable

LOAD = "import ctypes, glob, sys; ctypes.CDLL(glob.glob(sys.prefix + '/{}')[0]); print('loaded')"
CUSPARSE = LOAD.format("lib/python*/site-packages/nvidia/cusparse/lib/libcusparse.so.12")


def pip_install(python: Path, *arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps"]
    subprocess.run([*command, "--no-compile", *arguments], check=True, timeout=900)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtualenv with real CUDA libraries of 12.4, of which cuSPARSE needs nvJitLink 12.4."""
    env = with_venv(tmp_path_factory.mktemp("wheels") / "env")
    pip_install(
        env / "bin/python",
        "nvidia-cuda-runtime-cu12==12.4.127",
        "nvidia-cusparse-cu12==12.3.1.170",
        "nvidia-nvjitlink-cu12==12.4.127",
    )
    return env


@pytest.fixture(scope="module")
def older_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real nvJitLink of CUDA 12.1, as a toolkit of that release holds it."""
    folder = tmp_path_factory.mktemp("older")
    options = ["--target", folder, "nvidia-nvjitlink-cu12==12.1.105"]
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", *options]
    subprocess.run(command, check=True, timeout=900)
    return folder / "nvidia/nvjitlink/lib/libnvJitLink.so.12"


def older_toolkit(home: Home, library: Path) -> None:
    """Put a toolkit 12.1 with that library into the store."""
    kit = home.path / "cuda-12.1"
    said = "Cuda compilation tools, release 12.1, V12.1.105"
    executable(kit / "bin/nvcc", f"#!/bin/sh\necho '{said}'\n")
    builders.elf_library(
        kit / "lib64/libcudart.so.12", "libcudart.so.12", {"cudaRuntimeGetVersion": 12010}
    )
    (kit / "lib64/libnvJitLink.so.12").symlink_to(library)
    (kit / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "12.1.1"}}')
    (kit / "include").mkdir()
    succeeded(home.run("adopt", kit))


def in_environment(home: Home, env: Path, code: str) -> subprocess.CompletedProcess[str]:
    script = f". '{env}/bin/activate' && exec python -c \"$0\""
    return subprocess.run(
        ["bash", "-c", script, code], env=home.env, capture_output=True, text=True, check=False
    )


@pytest.mark.network
@pytest.mark.slow
def test_a_toolkit_forced_ahead_breaks_real_wheels_and_ours_does_not(
    home: Home, wheels: Path, older_library: Path
) -> None:
    older_toolkit(home, older_library)
    done = home.run("pin", "12.1", "-p", wheels)
    succeeded(done)
    assert "LD_LIBRARY_PATH is left alone" in done.stderr
    told = in_environment(home, wheels, "import os; print(os.environ['CUDA_HOME'])")
    assert told.stdout.strip().endswith("/cuda-12.1"), told.stderr
    assert in_environment(home, wheels, CUSPARSE).stdout.strip() == "loaded"

    done = home.run("pin", "12.1", "--libraries", "always", "-p", wheels)
    succeeded(done)
    assert "may then fail to load with an undefined symbol" in done.stderr
    assert "hint: --libraries auto" in done.stderr
    broken = in_environment(home, wheels, CUSPARSE)
    assert broken.returncode == 1
    assert "undefined symbol: __nvJitLinkComplete_12_4" in broken.stderr

    python = wheels / "bin/python"
    active = {"VIRTUAL_ENV": str(wheels)}
    done = home.run("exec", "12.1", "--libraries", "always", "--", python, "-c", CUSPARSE, **active)
    assert (done.returncode, "undefined symbol" in done.stderr) == (1, True)
    assert done.stderr.index("before those that the environment") < done.stderr.index("Traceback")
    assert succeeded(home.run("exec", "12.1", "--", python, "-c", CUSPARSE, **active)) == ["loaded"]
    succeeded(home.run("unpin", "-p", wheels))


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("forced", [False, True])
def test_which_tells_what_real_wheels_load(
    home: Home, wheels: Path, older_library: Path, forced: bool
) -> None:
    """`which` names the nvJitLink that cuSPARSE gets in a process that has preloaded nothing."""
    [cusparse] = wheels.glob("lib/python*/site-packages/nvidia/cusparse/lib/libcusparse.so.12")
    paths = {"LD_LIBRARY_PATH": str(older_library.parent)} if forced else {}
    active = {"VIRTUAL_ENV": str(wheels), **paths}
    for consumer in (cusparse, "nvidia"):
        done = home.run("which", "libnvJitLink.so.12", "--from", consumer, "--json", **active)
        told = json.loads("\n".join(succeeded(done)))
        traced = subprocess.run(
            [wheels / "bin/python", "-c", f"import ctypes; ctypes.CDLL({str(cusparse)!r})"],
            env=home.env | active | {"LD_DEBUG": "libs"},
            capture_output=True,
            text=True,
            check=False,
        )
        tried = re.findall(r"trying file=(.*/libnvJitLink.so.12)$", traced.stderr, re.MULTILINE)
        assert told["path"] == os.path.realpath(tried[-1])
        assert (told["path"] == str(older_library)) == forced
        inside = str(cusparse.parents[2] / "nvjitlink/lib/libnvJitLink.so.12")
        assert (inside in told["shadows"]) == forced


@pytest.mark.network
@pytest.mark.slow
def test_real_wheels_are_seen(wheels: Path) -> None:
    facts = facts_of(wheels, driver="550.54.15")
    assert [(it.component, it.name, it.cuda) for it in facts.carried] == [
        ("cuda", "nvidia-cuda-runtime-cu12", "12.4.127"),
        ("cusparse", "nvidia-cusparse-cu12", "12"),
        ("nvJitLink", "nvidia-nvjitlink-cu12", "12.4.127"),
    ]
    assert bundles_cuda(wheels)
    assert facts.notes == ()


@pytest.mark.network
@pytest.mark.slow
def test_a_real_torch_without_cuda(tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    pip_install(env / "bin/python", "torch==2.13.0")
    version = next(env.glob("lib/python*/site-packages/torch/version.py")).read_text()
    answer = resolve(facts_of(env, driver="390.1"), [])
    if "+cpu" in version:
        assert (answer.cuda, answer.runs, answer.bundled) == (None, True, False)
    else:  # what the public index gives on Linux
        assert (answer.cuda, answer.runs, answer.bundled) == ("13.0", False, True)
    assert [framework.name for framework in answer.frameworks] == ["torch"]


@pytest.mark.parametrize(
    ("packages", "wanted", "cuda", "cudnn"),
    [
        (
            [
                ("pytorch", "1.7.1", "py3.8_cuda10.1.243_cudnn7.6.3_0", []),
                ("cudatoolkit", "10.1.243", "h6bb024c_0", []),
            ],
            "pytorch",
            "10.1.243",
            "7.6.3",
        ),
        (
            [
                ("tensorflow-gpu", "2.4.1", "h30adc30_0", ["tensorflow 2.4.1"]),
                ("tensorflow", "2.4.1", "gpu_py38h8a7d6ce_0", ["tensorflow-base 2.4.1"]),
                ("tensorflow-base", "2.4.1", "gpu_py38h29c2da4_0", ["cudatoolkit 10.1.*", "cudnn"]),
                ("cudatoolkit", "10.1.243", "h6bb024c_0", []),
                ("cudnn", "7.6.5", "cuda10.1_0", ["cudatoolkit 10.1.*"]),
            ],
            "tensorflow-gpu",
            "10.1",
            "7.6.5",
        ),
        ([("pytorch", "2.0.0", "py3.8_cpu_0", [])], "pytorch", None, None),
    ],
)
def test_records_of_an_independent_conda_engine(tmp_path, packages, wanted, cuda, cudnn):
    built = [
        conda_package(
            tmp_path / "built",
            name,
            version,
            build,
            "linux-64",
            {f"share/{name}": b"x"},
            depends=depends,
        )
        for name, version, build, depends in packages
    ]
    channel = local_channel(tmp_path / "channel", built)
    prefix = tmp_path / "an env"
    rattler_install(channel, prefix, tmp_path / "cache", wanted)
    answer = resolve(facts_of(prefix, driver="580.65.06"), [])
    assert (answer.cuda, answer.cudnn, answer.bundled) == (cuda, cudnn, cuda is not None)
    assert answer.frameworks[0].source.startswith("conda-meta/")
    record = json.loads((prefix / answer.frameworks[0].source).read_text())
    assert record["version"] == answer.frameworks[0].version
