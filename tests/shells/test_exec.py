"""A child that `exec` starts has the environment of a shell after `use`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checks import refused, succeeded
from made_environments import Env
from shells.conda import conda_prefix
from shells.driver import BASH, ZSH, Shell
from shells.kits import STATE, Person, foreign, read_env
from tools import executable

bash_and_zsh = pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)


@bash_and_zsh
@pytest.mark.parametrize("libraries", [None, "", "/own:", "/x::/y"], ids=repr)
def test_as_after_use(shell: Shell, person: Person, tmp_path: Path, libraries: str | None) -> None:
    kit = person.kits[0]
    own = {"LD_LIBRARY_PATH": libraries, "CUDA_HOME": "/own"}
    path = f"{kit.bin}:{person.home.env['PATH']}"
    first, steps = person.use(shell, "12.4"), [person.use(shell, "10.1")]
    steps.append(f"cudaswitch exec 10.1 -- env -0 >{tmp_path}/before")
    steps = [steps[1], first, steps[1].replace("before", "after"), steps[0]]
    result = person.play(shell, *steps, PATH=path, **own).check()
    used = result.snaps["4"]
    for name in ("before", "after"):
        started = read_env(tmp_path / name)
        for env in (started, used):
            for shells_own in ("SHLVL", "_", f"{STATE}PREVIOUS"):
                env.pop(shells_own, None)
        assert started == used


@bash_and_zsh
def test_its_shell_can_undo(shell: Shell, person: Person, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"{person.load(shell)}\ncudaswitch off\nenv -0 >{tmp_path}/env\n")
    call = [shell.name, *shell.options, str(script)]
    child = f"cudaswitch exec 10.1 -- {' '.join(map(shell.quote, call))}"
    result = person.play(shell, child, LD_LIBRARY_PATH="/own:", CUDA_PATH="/own").check()
    seen, before = read_env(tmp_path / "env"), result.snaps["0"]
    for env in (seen, before):
        for shells_own in ("SHLVL", "_"):
            env.pop(shells_own, None)
    assert foreign(seen) == foreign(before)


class Named:
    """An environment whose programs are called by path, and a tree that asks for 12.4."""

    def __init__(self, person: Person, folder: Path, kind: str) -> None:
        self.person, self.env, self.tree = person, Env(folder / "an env [x]"), folder / "tree"
        self.program = executable(self.env.prefix / "bin/tell", TELL)
        if kind == "conda":
            conda_prefix(self.env.prefix)
        else:
            self.env.write("pyvenv.cfg", "home = /usr/bin\n")
        self.tree.mkdir()
        (self.tree / ".cuda-version").write_text("12.4\n")

    def told(
        self, *line: str | Path, cwd: Path | None = None, **variables: str | None
    ) -> list[str]:
        line = line or ("--", self.program)
        return succeeded(self.person.home.run("exec", *line, cwd=cwd, **variables))

    def told_in_tree(self, *line: str | Path, **variables: str | None) -> list[str]:
        return self.told(*line, cwd=self.tree, **variables)

    @property
    def on_path(self) -> str:
        return f"{self.env.prefix}/bin{os.pathsep}{self.person.home.env['PATH']}"


TELL = """#!/bin/sh
printf '%s\\n' "${CUDA_HOME-}" "${LD_LIBRARY_PATH-}" "${VIRTUAL_ENV-}" "${CONDA_PREFIX-}"
"""
NOTHING = [""] * 4


@pytest.fixture(params=["venv", "conda"])
def named(person: Person, tmp_path: Path, request: pytest.FixtureRequest) -> Named:
    return Named(person, tmp_path, request.param)


def test_a_program_of_an_environment_has_its_pin(named: Named) -> None:
    """A program called by path, as by cron, gets its environment's pin, but no VIRTUAL_ENV."""
    old, _, new = named.person.kits
    named.person.pin("10.1", named.env.prefix)
    tree = [str(new.home), *new.lib, "", ""]
    pinned = [str(old.home), ":".join(old.lib), "", ""]
    assert named.told() == named.told_in_tree() == pinned
    assert named.told_in_tree("--", os.path.relpath(named.program, named.tree)) == pinned
    assert named.told_in_tree("--", "tell", PATH=named.on_path) == pinned
    assert named.told_in_tree("12.4", "--", named.program) == tree
    assert named.told_in_tree(CUDASWITCH_VERSION="12.4") == tree
    assert named.told_in_tree("--", "sh", named.program) == tree
    (named.tree / "tell").symlink_to(named.program)
    # A link to a program is not in the environment; Python sees it the same way.
    assert named.told_in_tree("--", "./tell") == tree


def test_a_program_of_an_environment_has_what_its_frameworks_need(named: Named) -> None:
    old, _, new = named.person.kits
    named.env.dist("cupy-cuda101", "7.8.0")
    needed = [str(old.home), ":".join(old.lib), "", ""]
    assert named.told() == named.told("auto", "--", named.program) == needed
    assert named.told(CUDASWITCH_VERSION="auto") == needed
    assert named.told("--", "tell", PATH=named.on_path) == needed
    assert named.told_in_tree()[0] == str(new.home)
    (named.tree / ".cuda-version").write_text("auto\n")
    assert named.told_in_tree() == needed


def test_a_program_of_an_environment_that_brings_its_cuda(named: Named) -> None:
    new = named.person.kits[2]
    named.env.file("nvidia/cublas/lib/libcublas.so.12")
    assert named.told_in_tree() == [str(new.home), "", "", ""]
    assert named.told("12.4", "--", named.program) == [str(new.home), "", "", ""]
    assert named.told() == NOTHING


def entered(named: Named, active: Env) -> dict[str, str]:
    """Pin the environment to 10.1 and `active` to 11.8; return the variables that activate it."""
    active.write("pyvenv.cfg", "home = /usr/bin\n")
    named.person.pin("10.1", named.env.prefix)
    named.person.pin("11.8", active.prefix)
    path = f"{active.prefix}/bin{os.pathsep}{named.on_path}"
    return {"VIRTUAL_ENV": str(active.prefix), "PATH": path}


def test_a_program_below_the_active_environment(named: Named, tmp_path: Path) -> None:
    """A tool found on PATH follows the active environment; one given by path follows its own.

    A launcher in an environment that needs nothing, like conda in its base, follows the active one.
    """
    old, middle, _ = named.person.kits
    variables = entered(named, Env(tmp_path / "active"))
    assert named.told(**variables)[0] == str(old.home)
    assert named.told("--", "tell", **variables)[0] == str(middle.home)
    assert named.person.home.run("unpin", "-p", str(named.env.prefix)).returncode == 0
    assert named.told(**variables)[0] == str(middle.home)


@pytest.mark.parametrize("named", ["conda"], indirect=True)
def test_a_program_of_conda_s_environment_below_the_active_virtualenv(
    named: Named, tmp_path: Path
) -> None:
    old, middle, _ = named.person.kits
    variables = entered(named, Env(tmp_path / "active"))
    variables["CONDA_PREFIX"] = str(named.env.prefix)
    assert named.told("--", "tell", **variables)[0] == str(middle.home)
    assert named.told(**variables)[0] == str(old.home)


@pytest.mark.parametrize("named", ["venv"], indirect=True)
def test_a_program_of_no_environment(named: Named) -> None:
    (named.env.prefix / "pyvenv.cfg").unlink()
    assert named.told() == NOTHING
    done = named.person.home.run("exec", "auto", "--", named.program)
    refused(done, "needs an active environment", hint="activate one")
