"""Toolkits composed on another one whose folder disappears: an older one takes their place."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import builders
from checks import refused, succeeded
from made_environments import Env
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, NU, TCSH, XONSH, ZSH, Shell, ShellResult
from shells.frameworks import entered, left
from shells.kits import Kit, Person
from shells.moving import cd
from shells.venvs import with_venv
from tools import executable

OLDER, NEWER = "12.4.1+cudnn8.9.7", "12.8.93+cudnn8.9.7"
INTEGRATED = (BASH, ZSH, FISH, TCSH, XONSH, NU)


@pytest.fixture
def base(tmp_path: Path) -> Kit:
    return Kit(tmp_path / "cuda-12.8", "12.8.93", ("lib64",))


def combined(folder: Path, base: Kit, *integrated: str) -> Person:
    """Make a person who has a cuDNN over the toolkit `base`, and over an older one."""
    person = make_person(folder, integrated)
    person.adopt(base.build())
    cudnn = builders.cudnn_archive(folder, "8.8+", "8.9.7.29", "12")
    assert set(succeeded(person.home.run("install", cudnn))) == {OLDER, NEWER}
    return person


def names(result: ShellResult, *snaps: int) -> list[str]:
    return [Path(result.snaps[str(at)].get("CUDA_HOME", "/none")).name for at in snaps]


@pytest.mark.parametrize("shell", INTEGRATED, ids=str)
def test_it_is_taken_up_no_more(shell: Shell, base: Kit, tmp_path: Path) -> None:
    person = combined(tmp_path / "account", base, shell.name)
    tree, venv = tmp_path / "tree", with_venv(tmp_path / "v")
    tree.mkdir()
    (tree / ".cuda-version").write_text("12\n")
    person.pin("12", venv)
    enter = f"{shell.set('VIRTUAL_ENV', str(venv))}\n{shell.prompt}"
    leave = f"{shell.unset('VIRTUAL_ENV')}\n{shell.prompt}"
    steps = ["cudaswitch use 12", "cudaswitch off", cd(shell, tree), cd(shell, tmp_path)]
    for expected in (NEWER, OLDER):
        result = person.play(shell, *steps, enter, leave).check()
        assert names(result, 1, 3, 5) == [expected] * 3
        assert names(result, 0, 2, 4, 6) == ["none"] * 4
        shutil.rmtree(base.home, ignore_errors=True)


@pytest.mark.parametrize("shell", INTEGRATED, ids=str)
def test_what_was_answered_is_asked_anew(shell: Shell, base: Kit, tmp_path: Path) -> None:
    """Kept answers for a version file and for frameworks are asked again once the base is gone."""
    person = combined(tmp_path / "account", base, shell.name)
    tree, env = tmp_path / "tree", Env(tmp_path / "v")
    tree.mkdir()
    # The file says something other than the settings, so no ready answer fits.
    (tree / ".cuda-version").write_text("12\nlibraries never\n")
    succeeded(person.home.run("config", "set", "libraries", "always"))
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.dist("cupy-cuda12x", "12.3.0")
    enter, visit = [entered(shell, env), left(shell)], [cd(shell, tree), cd(shell, tmp_path)]
    gone = f"mv {shell.quote(str(base.home))} {shell.quote(str(tmp_path / 'moved'))}"
    # A shell keeps the last answer that it asked for.
    result = person.play(shell, *enter, *visit, gone, *visit, *enter).check()
    assert names(result, 1, 3, 6, 8) == [NEWER, NEWER, OLDER, OLDER]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_what_a_shared_store_has_answered_is_gone(shell: Shell, base: Kit, tmp_path: Path) -> None:
    """A shared store's kept answer goes with its toolkit, though that store has not changed."""
    person, lender = (make_person(tmp_path / name, (shell.name,)) for name in ("us", "them"))
    lender.adopt(base.build())
    succeeded(
        lender.home.run("install", builders.cudnn_archive(tmp_path, "8.8+", "8.9.7.29", "12"))
    )
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("12.8\n")
    visits = [cd(shell, tree), cd(shell, tmp_path)]
    for expected in (NEWER, "none"):
        result = person.play(shell, *visits, CUDASWITCH_STORES=str(lender.home.store))
        assert names(result, 1) == [expected]
        assert (person.home.store / "lent/12.8").exists()
        shutil.rmtree(base.home, ignore_errors=True)


@pytest.mark.parametrize("shell", INTEGRATED, ids=str)
def test_the_choice_before_may_be_gone(shell: Shell, base: Kit, tmp_path: Path) -> None:
    person = combined(tmp_path / "account", base, shell.name)
    gone = f"mv {shell.quote(str(base.home))} {shell.quote(str(tmp_path / 'moved'))}"
    steps = ["cudaswitch use 12", "cudaswitch off", gone, shell.hush("cudaswitch use -")]
    if shell is NU:
        steps[3] = "try { cudaswitch use - }"
    result = person.play(shell, *steps)
    assert names(result, 1, 2) == [NEWER, "none"]
    assert NEWER not in names(result, *range(3, len(result.snaps)))


@pytest.mark.parametrize("shell", (BASH, ZSH, DASH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("has_nvcc", [True, False])
def test_its_hook_alone_changes_nothing(
    shell: Shell, base: Kit, tmp_path: Path, has_nvcc: bool
) -> None:
    person = combined(tmp_path / "account", replace(base, has_nvcc=has_nvcc))
    venv = with_venv(tmp_path / "v")
    person.pin("12", venv)
    suffix = "" if shell.suffix == "sh" else f".{shell.suffix}"
    enter = shell.source(venv / "bin" / f"activate{suffix}")
    for expected in (NEWER, "none"):
        assert names(person.play(shell, enter).check(), 1) == [expected]
        shutil.rmtree(base.home, ignore_errors=True)


@pytest.mark.parametrize("shell", (BASH, ZSH, DASH, TCSH), ids=str)
def test_the_variable_leads_to_it_no_more(shell: Shell, base: Kit, tmp_path: Path) -> None:
    """A hook alone asks nobody: without a ready answer for CUDASWITCH_VERSION, the pin counts."""
    person = combined(tmp_path / "account", base)
    venv = with_venv(tmp_path / "v")
    person.pin(OLDER, venv)
    suffix = ".csh" if shell is TCSH else ""
    enter = shell.source(venv / "bin" / f"activate{suffix}")
    for expected in (NEWER, OLDER):
        result = person.play(shell, enter, CUDASWITCH_VERSION="12").check()
        assert names(result, 1) == [expected]
        shutil.rmtree(base.home, ignore_errors=True)


def test_a_shim_takes_the_older_one(base: Kit, tmp_path: Path) -> None:
    person = combined(tmp_path / "account", base)
    executable(person.home.store / "toolkits" / OLDER / "bin/nvcc", "#!/bin/sh\necho older\n")
    succeeded(person.home.run("shims", "install"))
    shutil.rmtree(base.home)
    env = {**person.home.env, "CUDASWITCH_VERSION": "12"}
    shim = person.home.store / "shims/nvcc"
    assert subprocess.run([shim], env=env, capture_output=True, check=True).stdout == b"older\n"


def test_current_leads_to_one_that_is_there(base: Kit, tmp_path: Path) -> None:
    person = combined(tmp_path / "account", base, "bash")
    shutil.rmtree(base.home)
    home = str(person.home.store / "toolkits" / NEWER)
    done = person.home.run("current", _CUDASWITCH_U=home, _CUDASWITCH_ON=home, CUDA_HOME=home)
    assert "that is gone" in done.stderr
    refused(person.home.run("env", NEWER), f"`{base.home}` is gone", hint="remove")
