"""A hint that sets a variable, or unsets one, is spelled for the shell that asks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from homes import Home
from shells.conda import conda_prefix
from stock import FULL, kit, toolkit
from tools import console_script, require

SPELLED = {
    "bash": ("unset {}", "export CUDA_VISIBLE_DEVICES=0"),
    "zsh": ("unset {}", "export CUDA_VISIBLE_DEVICES=0"),
    "fish": ("set -e {}", "set -gx CUDA_VISIBLE_DEVICES 0"),
    "tcsh": ("unsetenv {}", "setenv CUDA_VISIBLE_DEVICES 0"),
    "xonsh": ("del ${}", "$CUDA_VISIBLE_DEVICES = '0'"),
    "nu": ("hide-env {}", '$env.CUDA_VISIBLE_DEVICES = "0"'),
    "pwsh": ("Remove-Item Env:{}", "$env:CUDA_VISIBLE_DEVICES = '0'"),
}
"""Shell → what unsets a variable, and what sets one."""


@pytest.mark.parametrize("shell", SPELLED)
def test_each_is_typed_as_it_is_told(stocked: Home, tmp_path: Path, shell: str) -> None:
    away, put = SPELLED[shell]

    def told(*words: str | Path, **variables: str) -> str:
        done = stocked.run(*words, cwd=tmp_path, SHELL=f"/bin/{shell}", **variables)
        return done.stderr.splitlines()[-1].removeprefix("hint: ")

    package, many = toolkit(tmp_path, "12.4.127"), "CUDASWITCH_MAX_MEMBERS"
    assert told("pin", FULL, CUDASWITCH_VERSION="system") == away.format("CUDASWITCH_VERSION")
    assert told("config", "get", "jobs", CUDASWITCH_JOBS="x") == away.format("CUDASWITCH_JOBS")
    offline = away.format("CUDASWITCH_OFFLINE")
    assert told("install", "12.1", CUDASWITCH_OFFLINE="1").endswith(offline)
    wrong = f"{away.format(many)}, or set it to a number"
    assert told("install", package, CUDASWITCH_MAX_MEMBERS="x") == wrong
    trusted = f"if you trust its publisher, {away.format(many)}; nothing was installed"
    assert told("install", package, CUDASWITCH_MAX_MEMBERS="1") == trusted
    assert told("pin", "system", "--gpus", "0") == put


@pytest.mark.parametrize(
    ("shell", "unexported", "typed"),
    [
        ("bash", "CUDASWITCH_VERSION=10.1", "export CUDASWITCH_VERSION=$CUDASWITCH_VERSION"),
        (
            "fish",
            "set -g CUDASWITCH_VERSION 10.1",
            "set -gx CUDASWITCH_VERSION $CUDASWITCH_VERSION",
        ),
        ("tcsh", "set CUDASWITCH_VERSION=10.1", "setenv CUDASWITCH_VERSION $CUDASWITCH_VERSION"),
    ],
)
def test_exporting_what_the_shell_alone_has(
    stocked: Home, shell: str, unexported: str, typed: str
) -> None:
    path = f"{console_script().parent}:{stocked.env['PATH']}"
    state = dict.fromkeys(("_CUDASWITCH_X", "_CUDASWITCH_ON", "CUDA_HOME"), str(kit(stocked)))
    variables = stocked.env | state | {"PATH": path}

    def asked(*lines: str) -> str:
        text = "\n".join((unexported, *lines, "cudaswitch current", ""))
        command = [require(shell), *(["-f"] if shell == "tcsh" else [])]
        done = subprocess.run(
            command, input=text, env=variables, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    assert f"hint: {typed}\n" in asked()
    assert f"{FULL} (asked for by CUDASWITCH_VERSION)" in asked(typed)


@pytest.mark.parametrize(
    ("shell", "typed"),
    [
        ("dash", 'eval "$(cudaswitch env {} --shell sh)"'),
        ("ksh", "cudaswitch exec {} -- ksh"),
        ("bash", "cudaswitch use {}"),
    ],
)
def test_what_resolve_chooses_is_used_in_the_way_of_the_shell(
    stocked: Home, tmp_path: Path, shell: str, typed: str
) -> None:
    program = require(shell)
    prefix = conda_prefix(tmp_path / "env")
    info = prefix / "lib/python3.7/site-packages/tensorflow_gpu-2.3.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorflow-gpu\nVersion: 2.3.0\n")
    asked = f"{console_script()} resolve -p {prefix} --driver 450.80.02"

    def told(command: str) -> str:
        words = [program, "-c", f"{command}; :"]
        done = subprocess.run(words, env=stocked.env, capture_output=True, text=True, check=True)
        return done.stdout

    assert f"\nnext: {typed.format(FULL)}\n" in told(asked)
    assert json.loads(told(f"{asked} --json"))["hint"] == typed.format(FULL)
