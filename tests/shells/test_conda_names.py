"""Paths of conda environments that conda itself reads wrongly: they get no hooks."""

from __future__ import annotations

import os
import string
import subprocess
from pathlib import Path

import pytest

from checks import refused, snapshot, succeeded
from cudaswitch import hooks, pins
from cudaswitch.environments import Environment, environment_at
from cudaswitch.versions import Request
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
"""Why → a folder's name."""
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
    """Tell whether a shell reads `. "TEXT/file"`, as conda writes it, for the file that it is."""
    command = f'printf %s "{text}/file"'
    done = subprocess.run(
        [require(shell), "-c", command], env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        capture_output=True, check=False,
    )  # fmt: skip
    return done.stdout.decode(errors="replace") == f"{text}/file"


def is_misread(text: str) -> bool:
    return hooks.misread(Environment(f"/{text}", "C")) is not None


@pytest.mark.parametrize("lead", ["", "$", "\\"], ids=["nothing", "dollar", "backslash"])
def test_just_what_a_shell_reads_wrongly_is_refused(lead: str) -> None:
    for char in [*string.printable, "é"]:
        text = f"x{lead}{char}y"
        # In a name on the disk there is none.
        if char != "/":
            assert is_misread(text) != all(kept_by(shell, text) for shell in SHELLS), repr(text)


@pytest.mark.parametrize("why", MISREAD)
def test_such_an_environment_is_not_pinned(stocked: Home, tmp_path: Path, why: str) -> None:
    prefix = conda_prefix(tmp_path / MISREAD[why])
    before = snapshot(stocked.store), snapshot(prefix)
    done = stocked.run("pin", "10.1", "-p", prefix)
    said = refused(done, "cannot hold hooks", "which conda would misread", hint="--dir")
    assert repr(MISREAD[why][1]) in said or why not in {"double quote", "backtick"}
    assert (snapshot(stocked.store), snapshot(prefix)) == before
    # Also where it is the active one, or below such a folder.
    below = conda_prefix(prefix / "envs" / "plain")
    refused(stocked.run("pin", "10.1", CONDA_PREFIX=str(below)), "cannot hold hooks", hint="--dir")
    succeeded(stocked.run("pin", "10.1", "--dir", prefix))


@pytest.mark.parametrize("name", READ)
def test_what_conda_reads_is_pinned(stocked: Home, tmp_path: Path, name: str) -> None:
    prefix = conda_prefix(tmp_path / name)
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    assert (prefix / "etc/conda/activate.d/~~cudaswitch.sh").is_file()


def test_a_virtualenv_has_its_own_way(stocked: Home, tmp_path: Path) -> None:
    prefix = tmp_path / 'a"b`c`$d'
    (prefix / "bin").mkdir(parents=True)
    (prefix / "pyvenv.cfg").touch()
    succeeded(stocked.run("pin", "10.1", "-p", prefix))


@pytest.fixture
def earlier(stocked: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that an earlier cudaswitch has pinned, whose hooks are not of now."""
    prefix = conda_prefix(tmp_path / MISREAD["backtick"])
    monkeypatch.setenv("CUDASWITCH_HOME", str(stocked.store))
    with monkeypatch.context() as patched:
        patched.setattr(hooks, "misread", lambda _: None)
        pins.pin_environment(environment_at(prefix), Request("10.1"))
    (prefix / "etc/cudaswitch/want").write_text("elsewhere\n")
    return prefix


def test_what_an_earlier_one_has_pinned_is_told_of_and_unpinned(
    stocked: Home, earlier: Path
) -> None:
    before = snapshot(earlier)
    # Whatever changes the store writes hooks anew.
    done = stocked.run("remove", "10.1.243+cudnn7.6.5", "--force")
    succeeded(done)
    assert f"`{earlier}` cannot hold hooks" in done.stderr
    assert snapshot(earlier) == before
    done = stocked.run("doctor")
    assert "cannot hold hooks" in done.stdout
    assert "cudaswitch unpin -p " in done.stdout
    assert stocked.run("doctor", "--fix", "--yes").returncode < 2
    assert snapshot(earlier) == before
    succeeded(stocked.run("unpin", "-p", earlier))
    # conda would misread the other half too.
    assert not list(earlier.glob("etc/conda/*/*.sh"))
    assert "cannot hold hooks" not in stocked.run("doctor").stdout
