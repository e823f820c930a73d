"""Locales of another encoding than UTF-8, in which Python decodes names in another way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import builders
from checks import refused, succeeded
from homes import Home, make_home
from shells.conda import conda_prefix
from stock import BARE
from tools import console_script

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
STARTS = {
    "launcher": [console_script()],
    "isolated": [sys.executable, "-I", console_script()],
    "module": [sys.executable, "-m", "cudaswitch"],
}


@pytest.fixture
def foreign(tmp_path: Path) -> Home:
    """A home with a path that ASCII lacks, 10.1.243, and an environment pinned to it."""
    home = make_home(tmp_path / "hömé")
    succeeded(home.run("install", builders.cudatoolkit_10_1(tmp_path)))
    succeeded(home.run("pin", "10.1", "-p", conda_prefix(home.path / "env")))
    return home


def test_what_is_written_in_utf_8_is_read(foreign: Home) -> None:
    prefix = str(foreign.path / "env")
    [line] = succeeded(foreign.run("list", **ASCII))
    assert line.endswith(f"pinned by {prefix}")
    refused(foreign.run("remove", BARE, **ASCII), f"pinned by {prefix}", hint="--force")


def test_what_is_written_is_the_same(foreign: Home) -> None:
    """Hooks, answers and the startup file have the same bytes as in a UTF-8 session."""
    found = []
    for variables in ({}, ASCII):
        succeeded(foreign.run("pin", "10.1", "-p", foreign.path / "env", **variables))
        succeeded(foreign.run("init", "--install", "bash", "--yes", **variables))
        files = (foreign.store / "requests/10.1", foreign.store / "init/bash")
        hook = foreign.path / "env/etc/conda/activate.d/~~cudaswitch.sh"
        found.append([at.read_bytes() for at in (*files, hook, foreign.path / ".bashrc")])
        succeeded(foreign.run("init", "--remove", "bash", "--yes", **variables))
    assert found[0] == found[1]


@pytest.mark.parametrize("command", ["list", "check", "doctor"])
def test_answers_are_the_same(foreign: Home, command: str) -> None:
    prefix = {"CONDA_PREFIX": str(foreign.path / "env"), "CONDA_SHLVL": "1"}
    here, there = (foreign.run(command, "--json", **prefix, **more) for more in ({}, ASCII))
    assert (there.stdout, there.returncode) == (here.stdout, here.returncode)
    assert here.stdout


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- 2>&-"])
def test_it_starts_in_every_way(foreign: Home, start: str, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *STARTS[start], "list"],
        env=foreign.env | ASCII, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(f"pinned by {foreign.path}/env") == (closed != ">&-")


def test_who_insists_on_another_encoding_is_not_started_for_ever(foreign: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "cudaswitch", "--version"],
        env=foreign.env | ASCII, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert succeeded(done)


def test_programs_that_it_starts_keep_the_locale(foreign: Home) -> None:
    told = "import sys; print(sys.getfilesystemencoding(), sys.orig_argv[1:])"
    done = foreign.run("exec", "10.1", "--", sys.executable, "-c", told, "é", **ASCII)
    assert succeeded(done) == [f"ascii {['-c', told, 'é']}".replace("é", r"\udcc3\udca9")]
