"""Pipes where files should be: nobody writes into them, and a command that opened one would hang.

An archive, an environment or a project may have brought them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adoptable import toolkit
from checks import succeeded
from homes import Home
from shells.conda import conda_prefix

SECONDS = 60
"""The time that each command has; it takes one or two."""


def planted(path: Path) -> Path:
    """Put a pipe in the place of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


@pytest.fixture
def env(stocked: Home, tmp_path: Path) -> Path:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    return prefix


@pytest.mark.parametrize(
    "file",
    ["version.json", "version.txt", "include/cuda.h", "include/cudnn_version.h", "include/cudnn.h",
     "include/crt/host_config.h", "lib64/libcudnn.so"],
)  # fmt: skip
def test_in_a_toolkit(home: Home, tmp_path: Path, file: str) -> None:
    kit = toolkit(tmp_path / "cuda")
    planted(kit / file)
    assert succeeded(home.run("adopt", kit, timeout=SECONDS))[0].split()[0] == "11.2.152"
    for words in (["check", "11.2"], ["which", "libcudnn.so"], ["doctor"], ["exec", "11", "true"]):
        done = home.run(*words, timeout=SECONDS)
        assert "internal error" not in done.stderr


def _hook(env: Path) -> Path:
    return env / "etc/conda/activate.d/~~cudaswitch.sh"


IN_ENVIRONMENTS: dict[str, Callable[[Path], Path]] = {
    "the want": lambda env: env / "etc/cudaswitch/want",
    "the pin": lambda env: env / "etc/cudaswitch/pin",
    "a hook": _hook,
    "the core": lambda env: env / "etc/cudaswitch/core.sh",
    "a record": lambda env: env / "conda-meta/strange-1.0-0.json",
    "a script": lambda env: env / "etc/conda/activate.d/theirs.sh",
}


@pytest.mark.parametrize("what", IN_ENVIRONMENTS)
def test_in_an_environment(stocked: Home, env: Path, what: str) -> None:
    planted(IN_ENVIRONMENTS[what](env))
    script = env / "etc/conda/activate.d/mine.sh"
    script.write_text("exit 1\n")
    for words in (
        ["list"],
        ["current"],
        ["exec", "10.1", "--", "true"],
        ["doctor"],
        ["adopt", "--scan"],
        ["pin", "10.1", "-p", env],
        ["unpin", "-p", env],
    ):
        done = stocked.run(*words, timeout=SECONDS, CONDA_PREFIX=str(env))
        assert "internal error" not in done.stderr


def test_in_a_virtualenv(stocked: Home, tmp_path: Path) -> None:
    env = tmp_path / "env"
    for name in ("pyvenv.cfg", "bin/activate"):
        planted(env / name)
    (env / "bin/activate_this.py").touch()
    for words in (["pin", "10.1", "-p", env], ["exec", "--", "true"], ["doctor"], ["resolve"]):
        done = stocked.run(*words, timeout=SECONDS, VIRTUAL_ENV=str(env))
        assert "internal error" not in done.stderr


IN_A_HOME = {
    ".conda/environments.txt": ["list"],
    ".zshenv": ["init", "--install", "zsh"],
    ".bashrc": ["doctor"],
    ".profile": ["init", "--install", "bash"],
    "cuda.lock": ["sync"],
    ".cuda-version": ["current"],
    ".env": ["doctor"],
    ".condarc": ["search", "12.4", "--from", "conda", "--offline"],
}


@pytest.mark.parametrize("file", IN_A_HOME)
def test_in_a_home(home: Home, file: str) -> None:
    project = home.path / "project"
    (project / ".vscode").mkdir(parents=True)
    for folder in (home.path, project):
        planted(folder / file)
    done = home.run(*IN_A_HOME[file], timeout=SECONDS, cwd=project, SHELL="/bin/bash", ZDOTDIR=None)
    assert "internal error" not in done.stderr
