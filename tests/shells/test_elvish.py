"""Elvish can evaluate the rendered change and its undoing, whatever the values are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from checks import refused
from shells.conda import conda_prefix
from shells.hostile import CANARY, NAMED
from shells.kits import Person, foreign, read_env, switched
from tools import console_script, require


def play(person: Person, folder: Path, *lines: str, **variables: str) -> list[dict[str, str]]:
    """Run lines, and return the environment before them and after each."""
    snap = f"{require('env')} -0 > {folder}/seen."
    text = "".join(f"{line}\n{snap}{number}\n" for number, line in enumerate(("nop", *lines)))
    script = folder / "script.elv"
    script.write_text(text)
    env = {**person.home.env, **variables}
    path = f"{console_script().parent}:{env['PATH']}"
    done = subprocess.run(
        [require("elvish"), "-norc", script],
        env=env | {"PATH": path}, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return [read_env(folder / f"seen.{number}") for number in range(len(lines) + 1)]


def use(request: str) -> str:
    return f"eval (cudaswitch env {request} --shell elvish | slurp)"


HOSTILE = ["", "a\\", *(":".join([*NAMED.values()][n::8]) for n in range(8))]


@pytest.mark.parametrize("value", HOSTILE, ids=range(10))
def test_there_and_back(person: Person, tmp_path: Path, value: str) -> None:
    had = {"LD_LIBRARY_PATH": value, "CUDA_HOME": value}
    before, *others = play(person, tmp_path, use("10.1"), use("12.4"), use("system"), **had)
    for kit, seen in zip((person.kits[0], person.kits[2]), others, strict=False):
        libraries = ":".join([*kit.lib, *filter(None, [value])])
        assert foreign(seen) == switched(before, kit) | {"LD_LIBRARY_PATH": libraries}
    assert foreign(others[2]) == before
    assert not (tmp_path / CANARY).exists()


def test_an_environment_that_brings_its_own(person: Person, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    (prefix / "lib/python3.11/site-packages/nvidia/cublas/lib").mkdir(parents=True)
    before, inside, after = play(
        person, tmp_path, use("10.1"), use("system"), CONDA_PREFIX=str(prefix)
    )
    assert foreign(inside) == switched(before, person.kits[0], libraries=False)
    assert foreign(after) == before


def test_the_shell_of_the_person_is_the_default(person: Person) -> None:
    done = person.home.run("env", "10.1", SHELL="/usr/bin/elvish")
    assert done.stdout.startswith("set-env ")


def test_bytes_that_are_no_text(person: Person) -> None:
    odd = person.home.run("env", "10.1", "--shell", "elvish", LD_LIBRARY_PATH="/a\udcff")
    refused(odd, "LD_LIBRARY_PATH", "not UTF-8", hint="another shell")
