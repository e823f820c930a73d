"""What `auto` says about an environment that it serves only in part, or does not know."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

import adoptable
import builders
from builders.redist import redist_index
from checks import refused, succeeded
from homes import Home
from made_environments import Env
from tools import console_script, executable, only_linux_64

KIT = "10.1.243+cudnn7.6.5"
TELL = ("sh", "-c", 'echo "$CUDA_HOME:$LD_LIBRARY_PATH"')


@pytest.fixture
def env(tmp_path: Path) -> Env:
    made = Env(tmp_path / "an env")
    made.write("pyvenv.cfg", "home = /usr/bin\n")
    made.write("bin/activate", "")
    return made


@pytest.fixture
def mixed(env: Env) -> Env:
    """An environment with a package that needs a toolkit, and one that brings its own CUDA."""
    env.dist("cupy-cuda101", "7.8.0")
    env.dist("torch", "2.6.0+cu124")
    env.file("torch/lib/libtorch_cuda.so")
    return env


ALONE = (
    "the environment brings CUDA, so LD_LIBRARY_PATH is left alone,"
    " and CuPy 7.8.0 does not find the toolkit there"
)
ADVICE = (
    "give CuPy 7.8.0 an environment of its own, or take `--libraries always`:"
    " then PyTorch 2.6.0+cu124 may load the toolkit's libraries, and fail"
)


def test_a_toolkit_that_is_left_out_of_the_path_is_told(stocked: Home, mixed: Env) -> None:
    toolkit = stocked.store / "toolkits" / KIT
    active = {"VIRTUAL_ENV": str(mixed.prefix)}
    done = stocked.run("exec", "auto", "--", *TELL, **active)
    assert succeeded(done) == [f"{toolkit}:"]
    assert done.stderr == f"cudaswitch: {ALONE}\nhint: {ADVICE}\n"
    pinned = stocked.run("pin", "auto", "-p", mixed.prefix)
    assert pinned.stderr.endswith(
        f"is pinned to auto (now {KIT})\ncudaswitch: {ALONE}\nhint: {ADVICE}\n"
    )
    first, *rest = succeeded(stocked.run("resolve", "-p", mixed.prefix))
    assert first == f"needs CUDA 10.1: {KIT}, but LD_LIBRARY_PATH is left alone"
    assert any(ALONE in line for line in rest)
    assert f"hint: {ADVICE}" in rest


def test_who_overrules_that_is_not_told(stocked: Home, mixed: Env) -> None:
    active = {"VIRTUAL_ENV": str(mixed.prefix)}
    done = stocked.run("exec", "auto", "--libraries", "always", "--", *TELL, **active)
    assert f"{stocked.store}/toolkits/{KIT}/lib64" in succeeded(done)[0].partition(":")[2]
    assert ALONE not in done.stderr
    done = stocked.run("exec", "auto", "--libraries", "never", "--", *TELL, **active)
    assert (succeeded(done), done.stderr) == (
        [f"{stocked.store}/toolkits/{KIT}:"],
        "",
    )


def test_who_asks_where_no_environment_is_active(stocked: Home, tmp_path: Path) -> None:
    file = tmp_path / ".cuda-version"
    file.write_text("# ours\nauto\n")
    for request, asked in (([], " (asked for by ./.cuda-version:2)"), (["auto"], "")):
        message = refused(stocked.run("exec", *request, "--", "true", cwd=tmp_path), "`auto`")
        assert message.endswith(f"needs an active environment{asked}")


def test_a_pin_of_one_s_own_tells_what_an_environment_lacks(stocked: Home, env: Env) -> None:
    """A missing toolkit that frameworks need stops `exec` only if the user has pinned `auto`."""
    env.dist("cupy-cuda11x", "11.0.0")
    active = {"VIRTUAL_ENV": str(env.prefix)}
    assert succeeded(stocked.run("exec", "--", "echo", "runs", **active)) == ["runs"]
    succeeded(stocked.run("pin", "auto", "--global"))
    done = stocked.run("exec", "--", "echo", "runs", **active)
    refused(done, "is not installed", hint="cudaswitch install 11")
    assert succeeded(stocked.run("exec", "--", "echo", "runs")) == ["runs"]


def test_a_refusal_tells_only_what_is_to_be_installed(home: Home, env: Env) -> None:
    """No cuDNN that is inside a wheel."""
    active = {"VIRTUAL_ENV": str(env.prefix)}
    env.dist("mxnet-cu101", "1.5.1")
    done = home.run("exec", "auto", "--", "true", **active)
    refused(done, "needs CUDA 10.1, which")
    assert done.stderr.endswith("\nhint: cudaswitch install 10.1\n")
    env.dist("onnxruntime-gpu", "1.2.0")
    done = home.run("exec", "auto", "--", "true", **active)
    refused(done, "needs CUDA 10.1 with cuDNN 7", hint="cudaswitch install 10.1 --cudnn 7")


def test_what_explains_a_refusal_names_the_environment(home: Home, env: Env) -> None:
    env.dist("cupy-cuda101", "7.8.0")
    active = {"VIRTUAL_ENV": str(env.prefix), "CUDASWITCH_DRIVER": "384.81"}
    done = home.run("exec", "auto", "--", "true", **active)
    refused(done, f"cannot run here: `cudaswitch resolve -p '{env.prefix}'` explains why")


def test_a_cudnn_that_is_named_goes_with_the_cuda_that_is_needed(stocked: Home, env: Env) -> None:
    env.dist("cupy-cuda101", "7.8.0")
    active = {"VIRTUAL_ENV": str(env.prefix)}
    for cudnn, name in (("none", "10.1.243"), ("7.6", KIT)):
        done = stocked.run("exec", "auto", "--cudnn", cudnn, "--gpus", "1", "--", *TELL, **active)
        assert succeeded(done)[0].startswith(f"{stocked.store}/toolkits/{name}:")
    done = stocked.run("pin", "auto", "--cudnn", "none", "-p", env.prefix)
    assert "is pinned to auto without cuDNN (now 10.1.243)\n" in done.stderr
    done = stocked.run("exec", "auto", "--cudnn", "8", "--", "true", **active)
    refused(done, "CUDA 10.1.243 with cuDNN 8 is not installed", hint="--cudnn 8")


def test_wheels_that_nothing_there_uses(stocked: Home, env: Env) -> None:
    env.dist("cupy-cuda101", "7.8.0")
    env.file("nvidia/cublas/lib/libcublas.so.12")
    lines = succeeded(stocked.run("resolve", "-p", env.prefix))
    assert f"next: cudaswitch use {KIT} --libraries always" in lines


def test_what_shows_that_an_environment_brings_cuda_drives_no_terminal(
    stocked: Home, tmp_path: Path
) -> None:
    env = Env(tmp_path / "conda")
    env.dist("cupy-cuda101", "7.8.0")
    env.conda("cudatoolkit", "10.1\x1b[2J", "h1_0")
    active = {"CONDA_PREFIX": str(env.prefix)}
    done = stocked.run("exec", "10.1", "--libraries", "always", "--", *TELL, **active)
    assert "cudatoolkit-10.1\\x1b[2J-h1_0.json" in done.stderr
    for words in (["resolve"], ["doctor"], ["env", "10.1", "--shell", "bash"]):
        done = stocked.run(*words, **active)
        assert "\x1b" not in done.stdout + done.stderr


def test_condas_cuda_that_no_path_leads_to(stocked: Home, tmp_path: Path) -> None:
    env = Env(tmp_path / "conda")
    env.dist("tensorflow", "2.10.0")
    env.conda("cudatoolkit", "11.2.2", "h1_0")
    env.conda("cudnn", "8.1.0.77", "h1_0")
    lib = env.prefix / "lib"
    hint = f"hint: `conda env config vars set -p {env.prefix} LD_LIBRARY_PATH={lib}`, then activate"
    done = stocked.run("exec", "auto", "--", *TELL, CONDA_PREFIX=str(env.prefix))
    assert succeeded(done) == [":"]
    assert f"TensorFlow 2.10.0: it looks in `{lib}` only by LD_LIBRARY_PATH" in done.stderr
    assert hint in done.stderr
    assert hint in stocked.run("pin", "auto", "-p", env.prefix).stderr
    assert any(hint in line for line in succeeded(stocked.run("resolve", "-p", env.prefix)))


def test_what_nobody_knows_is_not_taken_for_nothing(stocked: Home, env: Env) -> None:
    env.dist("cupy", "13.6.0")
    done = stocked.run("exec", "auto", "--", *TELL, VIRTUAL_ENV=str(env.prefix))
    assert succeeded(done) == [":"]
    said, hint = done.stderr.splitlines()
    assert said == f"cudaswitch: cannot tell which CUDA `{env.prefix}` needs"
    assert hint.startswith("hint: name the CUDA yourself")
    pinned = stocked.run("pin", "auto", "-p", env.prefix).stderr
    assert "is pinned to `auto`\n" in pinned
    assert said in pinned
    assert "needs a toolkit" not in pinned


def test_conda_s_own_nvcc_is_left_alone(stocked: Home, tmp_path: Path) -> None:
    """No toolkit goes before the nvcc that conda brought, unless its version is asked for."""
    env = Env(tmp_path / "conda")
    env.conda("pytorch", "1.7.1", "py3.8_cuda10.1.243_cudnn7.6.3_0")
    env.conda("cudatoolkit", "10.1.243", "h1_0")
    env.conda("cudatoolkit-dev", "10.1.243", "h1_0")
    active = {"CONDA_PREFIX": str(env.prefix)}
    home = f"{stocked.store}/toolkits/{KIT}"
    assert succeeded(stocked.run("current", **active))[1] == home
    nvcc = executable(env.prefix / "bin/nvcc")
    # conda writes its records after the files that it installs.
    env.conda("cudatoolkit-dev", "10.1.243", "h1_1")
    for request in ([], ["auto"]):
        assert succeeded(stocked.run("exec", *request, "--", *TELL, **active)) == [":"]
    done = stocked.run("current", **active)
    assert succeeded(done) == ["none"]
    assert f"`{nvcc}` is the environment's own" in done.stderr
    told = succeeded(stocked.run("resolve", **active))
    assert "to build extensions: its own nvcc, of CUDA 10.1" in told[0]
    assert f"  - {KIT} would do, but the environment has an nvcc of its own" in told
    asked = stocked.run("exec", "10.1", "--", *TELL, **active)
    assert succeeded(asked) == [f"{home}:"]
    pinned = stocked.run("pin", "auto", "-p", env.prefix)
    assert pinned.stderr.startswith(f"cudaswitch: `{env.prefix}` is pinned to `auto`, and nothing")


def test_current_tells_why_there_is_none(stocked: Home, env: Env) -> None:
    """`current` says why there is no toolkit, even if another terminal was told already."""
    env.dist("cupy-cuda92", "8.6.0")
    active = {"VIRTUAL_ENV": str(env.prefix)}
    for _ in range(2):
        done = stocked.run("current", **active)
        assert succeeded(done) == ["none"]
        assert done.stderr == (
            f"cudaswitch: `{env.prefix}` needs CUDA 9.2, which is not installed\n"
            "hint: cudaswitch install 9.2\n"
        )
    succeeded(stocked.run("pin", "system", "--global"))
    assert stocked.run("current", **active).stderr == ""


@pytest.fixture
def any_12(env: Env) -> dict[str, str]:
    """The variables of an active environment for which any CUDA 12 will do."""
    env.dist("cupy-cuda12x", "13.0.0")
    return {"VIRTUAL_ENV": str(env.prefix)}


def test_a_refusal_goes_with_its_cause(home: Home, any_12: dict[str, str], tmp_path: Path) -> None:
    """A refusal ends with its cause: another driver, or a shared store that has the toolkit now."""
    new, old = {"CUDASWITCH_DRIVER": "550.54.14"}, {"CUDASWITCH_DRIVER": "450.80.02"}
    lab = home.path / "lab"
    shared = {"CUDASWITCH_STORES": str(lab)}
    assert succeeded(home.run("current", **any_12, **new, **shared)) == ["none"]
    kit = adoptable.toolkit(tmp_path / "cuda-12.4", "12.4.131")
    succeeded(home.run("adopt", kit, CUDASWITCH_HOME=str(lab)))
    assert succeeded(home.run("current", **any_12, **new, **shared))[1] == str(kit)
    succeeded(home.run("adopt", kit))
    done = home.run("current", **any_12, **old)
    assert succeeded(done) == ["none"]
    assert "cannot run here" in done.stderr
    assert succeeded(home.run("exec", "--", *TELL, **any_12, **new))[0].startswith(f"{kit}:")
    # Shells, which read the kept answer, get the same.
    [kept] = (home.store / "auto").glob("%*")
    assert kept.read_text().splitlines()[1].startswith(f"{kit}")


def test_what_is_installed_while_somebody_asks(
    home: Home, any_12: dict[str, str], tmp_path: Path
) -> None:
    """An answer is not kept if a toolkit was installed while it was worked out."""
    asked, go = tmp_path / "asked", tmp_path / "go"
    smi = f"#!/bin/sh\ntouch '{asked}'\nwhile ! [ -e '{go}' ]; do sleep 0.05; done\n"
    executable(tmp_path / "slow/nvidia-smi", f"{smi}echo 550.54.14, 8.0\n")
    path = f"{tmp_path}/slow:{home.env['PATH']}"
    succeeded(home.run("alias", "a", "12"))
    command = [console_script(), "want", "--environment", any_12["VIRTUAL_ENV"]]
    with subprocess.Popen(command, env=home.env | {"PATH": path}, cwd=tmp_path) as asking:
        while not asked.exists():
            assert asking.poll() is None
            time.sleep(0.05)
        kit = adoptable.toolkit(tmp_path / "cuda-12.4", "12.4.131")
        succeeded(home.run("adopt", kit))
        go.touch()
    assert list((home.store / "auto").glob("%*")) == []
    assert succeeded(home.run("current", **any_12, PATH=path))[1] == str(kit)


PIECES = {
    "cuda_cudart": ("12.4.127", "lib/libcudart.so.12"),
    "cuda_nvcc": ("12.4.131", "nvvm/lib64/libnvvm.so"),
    "cuda_nvrtc": ("12.4.127", "lib/libnvrtc.so.12"),
    "libnvjitlink": ("12.4.127", "lib/libnvJitLink.so.12"),
}
"""Pieces of CUDA 12.4.1, each with the library that numba-cuda takes from a toolkit."""


@pytest.fixture
def nvidia(tmp_path: Path) -> str:
    archives = []
    for name, (version, library) in PIECES.items():
        top = f"{name}-linux-x86_64-{version}-archive"
        tree = {library: builders.elf_bytes(Path(library).name, {"f": 1})}
        archives.append(builders.tar_archive(tmp_path / f"made/{top}.tar.xz", top, tree))
    redist_index(tmp_path / "nvidia", "cuda", "12.4.1", archives)
    return (tmp_path / "nvidia").as_uri()


@pytest.fixture
def numba(env: Env) -> Env:
    env.dist("numba-cuda", "0.30.4")
    env.dist("cuda-bindings", "12.9.4")
    return env


@only_linux_64
def test_a_toolkit_without_libraries_is_told_and_made_whole(
    home: Home, numba: Env, nvidia: str
) -> None:
    there = {"VIRTUAL_ENV": str(numba.prefix), "CUDASWITCH_NVIDIA_URL": nvidia}
    there["CUDASWITCH_DRIVER"] = "580.65.06"
    some = ("--from", "nvidia", "--components", "cudart,nvcc")
    assert succeeded(home.run("install", "12.4", *some, **there)) == ["12.4.1"]
    first, *rest = succeeded(home.run("resolve", **there))
    assert first == "needs CUDA 12: 12.4.1, which lacks libnvJitLink.so.12 and libnvrtc.so.12"
    told = "12.4.1 lacks libnvJitLink.so.12 and libnvrtc.so.12, which numba-cuda 0.30.4 can open"
    assert any(told in line for line in rest)
    assert "next: cudaswitch install 12 --force" in rest
    done = home.run("exec", "auto", "--", "true", **there)
    assert done.stderr == f"cudaswitch: {told}\nhint: cudaswitch install 12 --force\n"
    for _ in range(2):
        assert succeeded(home.run("install", "auto", "--from", "nvidia", **there)) == ["12.4.1"]
        assert succeeded(home.run("resolve", **there))[0] == "needs CUDA 12: 12.4.1"
    assert succeeded(home.run("verify")) == []


@only_linux_64
def test_an_adopted_toolkit_without_libraries_gives_way(
    home: Home, numba: Env, nvidia: str, tmp_path: Path
) -> None:
    there = {"VIRTUAL_ENV": str(numba.prefix), "CUDASWITCH_NVIDIA_URL": nvidia}
    there["CUDASWITCH_DRIVER"] = "580.65.06"
    adopted = adoptable.toolkit(tmp_path / "cuda-12.4", "12.4.1")
    (adopted / "lib64/libcudart.so.12").symlink_to("libcudart.so.11.2.152")
    succeeded(home.run("adopt", adopted, "--as", "12.4.1"))
    for _ in range(2):
        assert succeeded(home.run("install", "auto", "--from", "nvidia", **there)) == ["12.4.1"]
        assert succeeded(home.run("resolve", **there))[0] == "needs CUDA 12: 12.4.1"


@only_linux_64
def test_an_older_toolkit_that_is_whole_goes_before_a_newer_one(
    home: Home, numba: Env, nvidia: str, tmp_path: Path
) -> None:
    there = {"VIRTUAL_ENV": str(numba.prefix), "CUDASWITCH_NVIDIA_URL": nvidia}
    there["CUDASWITCH_DRIVER"] = "580.65.06"
    succeeded(home.run("install", "12.4", "--from", "nvidia", **there))
    newer = adoptable.toolkit(tmp_path / "cuda-12.9", "12.9.86")
    succeeded(home.run("adopt", newer))
    assert succeeded(home.run("resolve", **there))[0] == "needs CUDA 12: 12.9.86"
    # Once the runtime is where numba-cuda looks for it, the other libraries are missed.
    (newer / "lib64/libcudart.so.12").symlink_to("libcudart.so.11.2.152")
    first, *rest = succeeded(home.run("resolve", **there))
    assert first == "needs CUDA 12: 12.4.1"
    assert "  - 12.9.86 lacks libnvJitLink.so.12, libnvrtc.so.12 and libnvvm.so" in rest
    assert succeeded(home.run("install", "auto", "--from", "nvidia", **there)) == ["12.4.1"]
