"""What a person does a hundred times a day starts no process, as strace sees it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from made_environments import Env
from shells.conda import conda_prefix
from shells.driver import BASH, FISH, ZSH, Shell
from shells.kits import Person
from shells.pinned import Session, pinned_environments
from shells.quick_conda import QuickConda
from shells.venvs import activate, with_venv
from tools import require

_TRACED = "clone,clone3,fork,vfork,execve,newfstatat,stat,statx,faccessat,faccessat2,access"
_STARTED = re.compile(r"\b(?:clone3?|v?fork|execve)\((?!.*CLONE_THREAD)")
_MARK = re.compile(r'"/nowhere/cudaswitch/(\d+)"')
PROMPT = "__cudaswitch_prompt"


def started(shell: Shell, person: Person, commands: list[str]) -> dict[str, list[str]]:
    """Type commands with a prompt after each; map those that started a process to system calls."""
    lines = [f"test -e /nowhere/cudaswitch/{n}\n{one}\n{PROMPT}" for n, one in enumerate(commands)]
    script = person.home.path / f"script.{shell.suffix}"
    script.write_text("\n".join([*lines, "test -e /nowhere/cudaswitch/9999\n"]))
    log = person.home.path / "strace"
    strace = [require("strace"), "-f", "-qq", "-s", "200", "-o", log, "-e", f"trace={_TRACED}"]
    env = person.home.env | {"CUDASWITCH_QUIET": "1"}
    done = subprocess.run(
        [*strace, *shell.argv(), script], env=env, cwd=person.home.path, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) in {(0, ""), (1, "")}, done.stderr
    found: dict[str, list[str]] = {}
    at = ""
    for line in log.read_text(errors="replace").splitlines():
        if mark := _MARK.search(line):
            at = "" if mark[1] == "9999" else commands[int(mark[1])]
        elif at and _STARTED.search(line) and "ENOENT" not in line:
            found.setdefault(at, []).append(line)
    assert log.read_text(errors="replace").count("/nowhere/cudaswitch/") > len(commands)
    return found


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_nothing_is_started(shell: Shell, person: Person, tmp_path: Path) -> None:
    session = Session(person, pinned_environments(person, tmp_path / "e"), shell, QuickConda())
    conda_prefix(session.folder / "b")
    Env(conda_prefix(session.folder / "d")).dist("cupy-cuda101", "7.8.0")
    with_venv(tmp_path / "v")
    script = tmp_path / "v" / "bin" / "activate"
    # The activate script of Python 3.13 starts `uname` itself.
    script.write_text(script.read_text().replace("$(uname)", "Linux"))
    person.pin("11.8", tmp_path / "v")
    tree = tmp_path / "tree" / "in" / "it"
    tree.mkdir(parents=True)
    (tmp_path / "tree" / ".cuda-version").write_text("10.1\n")
    ranged = tmp_path / "ranged"
    ranged.mkdir()
    (ranged / ".cuda-version").write_text(">=10,<11\n")
    venv = [activate(shell, tmp_path / "v"), "deactivate"]
    switches = session.steps("a c b a b d c a c a c a again out out a out")
    directories = [f"cd {shell.quote(str(one))}" for one in (tree, tmp_path, tree, tmp_path)]
    words = [f"cudaswitch {one}" for one in ("use 10.1", "use 11.8", "use -", "off")]
    hot = [*switches, *venv, *directories, *words, PROMPT]
    loading = f"{person.load(shell)}\n{session.conda.init(shell)}"
    # Python is asked once what their frameworks need.
    asking = [f"{step}; {PROMPT}" for step in session.steps("b out d out")]
    # It is also asked once about a range, whichever unpinned environment is entered then.
    commands = [loading, *asking, *hot, f"cd {shell.quote(str(ranged))}", asking[0]]
    hot += [f"{step}  # in a range" for step in session.steps("d b d out b d")]
    hot.append("cudaswitch use auto")
    commands += hot[-7:]
    found = started(shell, person, commands)
    assert {command: calls for command, calls in found.items() if command in hot} == {}
