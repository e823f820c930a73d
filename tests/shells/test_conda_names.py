"""Paths of environments that conda itself misreads: `pin` warns about them."""

from __future__ import annotations

import os
import string
import subprocess
from pathlib import Path

import pytest

from checks import succeeded
from cudaswitch import hooks
from cudaswitch.environments import Environment
from homes import Home
from shells.conda import conda_prefix
from tools import require

SHELLS = ("bash", "dash", "zsh")
MISREAD = {
    "double quote": 'a"b',
    "backtick": "b`touch BANG`c",
    "variable": "a$b",
    "braces": "a${b",
    "command": "a$(touch BANG)b",
    "parameter": "a$1",
    "backslashes": "a\\\\b",
    "backslash and dollar": "a\\$",
    "line that goes on": "a\\\nb",
}
"""Reason → a folder name that conda misreads."""
READ = (
    "a b;c&d|e",
    "[x]*",
    "~t",
    "=e",
    "èрт🚒中片",
    "-n",
    "a\tb",
    "a\\b",
    "a$",
    "a$.b",
    "a\nb",
    "a'b",
)


def kept_by(shell: str, text: str) -> bool:
    """Tell whether a shell reads the path in `. "TEXT/file"`, as conda writes it, unchanged."""
    command = f'printf %s "{text}/file"'
    done = subprocess.run(
        [require(shell), "-c", command], env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        capture_output=True, check=False,
    )  # fmt: skip
    return done.stdout.decode(errors="replace") == f"{text}/file"


def is_misread(text: str) -> bool:
    return hooks.misread(Environment(f"/{text}", "C")) != []


@pytest.mark.parametrize("lead", ["", "$", "\\"], ids=["nothing", "dollar", "backslash"])
def test_just_what_a_shell_reads_wrongly_is_told_of(lead: str) -> None:
    for char in [*string.printable, "é"]:
        text = f"x{lead}{char}y"
        # A file name cannot contain it.
        if char != "/":
            assert is_misread(text) != all(kept_by(shell, text) for shell in SHELLS), repr(text)


@pytest.mark.parametrize("why", MISREAD)
def test_a_pin_of_such_an_environment_says_so(stocked: Home, tmp_path: Path, why: str) -> None:
    prefix = conda_prefix(tmp_path / MISREAD[why])
    done = stocked.run("pin", "10.1", "-p", prefix)
    succeeded(done)
    assert "conda misreads its path (" in done.stderr
    assert "hint: move it to a folder without these" in done.stderr
    assert (prefix / "etc/conda/activate.d/~~cudaswitch.sh").is_file()


@pytest.mark.parametrize("name", READ)
def test_what_conda_reads_is_pinned(stocked: Home, tmp_path: Path, name: str) -> None:
    prefix = conda_prefix(tmp_path / name)
    done = stocked.run("pin", "10.1", "-p", prefix)
    succeeded(done)
    assert "misreads" not in done.stderr


def test_a_virtualenv_has_its_own_way(stocked: Home, tmp_path: Path) -> None:
    prefix = tmp_path / 'a"b`c`$d'
    (prefix / "bin").mkdir(parents=True)
    (prefix / "pyvenv.cfg").touch()
    done = stocked.run("pin", "10.1", "-p", prefix)
    succeeded(done)
    assert "misreads" not in done.stderr
