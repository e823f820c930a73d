"""Shells without a row in the driver: the hook files and `env --shell sh` work there too.

busybox is what Alpine and initial ramdisks have, yash is the strictest of them. Old releases
of bash are tested if a build of that name is on PATH: `bash-3.2` is what macOS ships.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from checks import refused
from cudaswitch.shells import quote_posix
from shells.conda import Emulator, conda_prefix
from shells.driver import BASH, DASH, Shell, run_shell
from shells.hostile import BYTES, NAMED, pairs
from shells.kits import STATE, Person, foreign, switched
from shells.pinned import Session
from shells.venvs import activate, assert_as_before, assert_on, with_venv

BUSYBOX = replace(DASH, name="busybox", options=("sh",))
MKSH = replace(DASH, name="mksh", options=())
KSH93 = replace(DASH, name="ksh93", options=())
YASH = replace(DASH, name="yash", options=("--norc", "--noprofile"))
OLD = [
    replace(BASH, name=f"bash-{version}")
    for version in ("3.2", "4.4", "5.0", "5.3")
    if shutil.which(f"bash-{version}")
]
KSHES = [MKSH, *([KSH93] if shutil.which("ksh93") else [])]

other = pytest.mark.parametrize("shell", [BUSYBOX, YASH, *OLD], ids=str)


def text_of(person: Person, request: str) -> str:
    done = person.home.run("env", request, "--shell", "sh")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@other
def test_use_there_and_back(shell: Shell, person: Person) -> None:
    own = {"LD_LIBRARY_PATH": "/own lib:$x", "CUDA_HOME": "/own'$x", "CUDA_PATH": ""}
    steps = [text_of(person, request) for request in ("10.1", "12.4", "11.8", "system")]
    bare = Person(person.home, person.kits, {})
    result = bare.play(shell, *steps, options=("-eu",), **own).check()
    before = result.snaps["0"]
    for number, kit in (("1", 0), ("2", 2), ("3", 1)):
        assert foreign(result.snaps[number]) == switched(before, person.kits[kit])
    assert foreign(result.snaps["4"]) == foreign(before)


@other
def test_hooks_of_a_virtualenv(shell: Shell, person: Person, tmp_path: Path) -> None:
    with_venv(tmp_path / "a v")
    person.pin("10.1", tmp_path / "a v")
    bare = Person(person.home, person.kits, {})
    enter = activate(shell, tmp_path / "a v")
    result = bare.play(shell, enter, enter, "deactivate").check()
    for number in (1, 2):
        assert_on(result, number, tmp_path / "a v", person.kits[0])
    assert_as_before(result, 3)


@other
def test_hooks_of_conda_environments(shell: Shell, person: Person, tmp_path: Path) -> None:
    conda = Emulator()
    for name, request in (("a", "10.1"), ("c", "11.8")):
        person.pin(request, conda_prefix(tmp_path / name))
    conda_prefix(tmp_path / "b")
    session = Session(person, tmp_path, shell, conda)
    result = session.play(*session.steps("a c again b +a out out out out out")).check()
    homes = [result.snaps[str(number)].get("CUDA_HOME") for number in range(2, 12)]
    kits = {str(kit.home): name for kit, name in zip(person.kits, "ac", strict=False)}
    assert "".join(kits.get(home or "", "-") for home in homes) == "acc-a-ca--"
    last = result.snaps["11"]
    assert (last["PATH"], [name for name in last if name.startswith(STATE)]) == (
        conda.base_path,
        [],
    )


@other
def test_quoted_values_arrive(shell: Shell, tmp_path: Path) -> None:
    # yash decodes its scripts, so not every byte can be in them.
    values = [*(NAMED | ({} if shell is YASH else BYTES)).values(), *pairs()]
    lines = [f"\\export V{number}={quote_posix(text)}" for number, text in enumerate(values)]
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    result = run_shell(shell, "\n".join([*lines, "snap here"]), env, cwd=tmp_path).check()
    seen = {text: result.snaps["here"].get(f"V{number}") for number, text in enumerate(values)}
    assert {text: got for text, got in seen.items() if got != text} == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", OLD, ids=str)
def test_the_integration_in_old_bash(shell: Shell, person: Person, tmp_path: Path) -> None:
    (tmp_path / ".cuda-version").write_text("cuda = 10.1 # a\n")
    steps = [f"cd {shell.quote(str(tmp_path))}", "__cudaswitch_prompt"]
    steps += ["cudaswitch use 11.8", "cudaswitch use -", "cudaswitch use 12", "cudaswitch off"]
    steps += ["cd /\n__cudaswitch_prompt"]
    loaded = Person(person.home, person.kits, {shell.name: person.init["bash"]})
    result = loaded.play(shell, *steps).check()
    homes = [result.snaps[str(number)].get("CUDA_HOME") for number in range(1, 8)]
    one, two, three = (str(kit.home) for kit in person.kits)
    assert homes == [None, one, two, one, three, one, None]
    assert foreign(result.snaps["7"]) == foreign(result.snaps["0"]) | {
        "PWD": "/",
        "OLDPWD": str(tmp_path),
    }


@pytest.mark.parametrize("shell", KSHES, ids=str)
def test_hooks_do_nothing_where_functions_cannot_have_variables(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """In a ksh, where virtualenvs work and conda does not, hooks print and change nothing."""
    with_venv(tmp_path / "v")
    person.pin("10.1", tmp_path / "v")
    bare = Person(person.home, person.kits, {})
    result = bare.play(shell, activate(shell, tmp_path / "v"), "deactivate").check()
    inside = result.snaps["1"]
    assert inside["VIRTUAL_ENV"] == str(tmp_path / "v")
    assert [name for name in inside if name.startswith((STATE, "CUDA_", "LD_"))] == []
    assert_as_before(result, 2)


@pytest.mark.parametrize("name", ["ksh", "mksh"])
def test_a_ksh_is_told_so(person: Person, name: str) -> None:
    told = {
        ("env", ">=10", "--shell", name): "'>=10'",
        ("env", "10.1"): "10.1",
        ("use", "10.1"): "10.1",
        ("use", "-"): "VERSION",
        ("init", name): "VERSION",
    }
    for arguments, request in told.items():
        done = person.home.run(*arguments, SHELL=f"/bin/{name}")
        message = "ksh cannot be switched"
        refused(done, message, code=2, hint=f"cudaswitch exec {request} -- ksh")
    asked = person.home.run("env", "10.1", "--format", "dotenv", SHELL=f"/bin/{name}")
    assert asked.returncode == 0


@pytest.mark.parametrize("shell", KSHES, ids=str)
@pytest.mark.parametrize("name", ["sh", "bash", "zsh"])
def test_the_text_of_another_shell_does_nothing_in_a_ksh(
    shell: Shell, person: Person, name: str
) -> None:
    bare = Person(person.home, person.kits, {})
    step = f'eval "$(cudaswitch env {{}} --shell {name})"; echo "rc $?"'
    result = bare.play(shell, step.format("10.1"), step.format("system"))
    assert result.stdout.splitlines() == ["rc 1"] * 2
    said = [line for line in result.stderr.splitlines() if line]
    assert [line.partition(" ")[0] for line in said] == ["cudaswitch:", "hint:"] * 2
    assert "ksh cannot be switched" in said[0]
    assert_as_before(result, 2)


NOT_IN_BASH_3_2 = {
    "associative array": r"\b(declare|local|typeset)\s+-\w*A",
    "global from a function": r"\b(declare|typeset)\s+-\w*g",
    "name reference": r"\b(declare|local|typeset)\s+-\w*n",
    "change of case": r"\$\{\w+(\^\^?|,,?)",
    "transformation": r"\$\{\w+(\[[^]]*\])?@[QEPAaKkUuL]\}",
    "both streams appended": r"&>>",
    "both streams piped": r"\|&",
    "falling through": r";;?&",
    "mapfile": r"\b(mapfile|readarray|coproc)\b",
    "negative index": r"\$\{\w+\[-\d|\$\{\w+:\s+-\d",
    "is it set": r"\[\[ -v\b|\btest -v\b|\[ -v\b",
    "time by printf": r"printf -v \w+ ['\"]?%\(",
    "time of day": r"\$\{?(EPOCH(SECONDS|REALTIME)|BASHPID)\b",
    "sequence with a step": r"\{\w+\.\.\w+\.\.\w+\}",
    "array by printf": r"printf -v \w+\[",
}
"""What later releases brought → how it is written. Transformations come after a version check,
and what only zsh has after another."""
CHECKS = ("BASH_VERSINFO", "${ZSH_VERSION-} in ?*)", "*a*z)")


@pytest.mark.parametrize("what", NOT_IN_BASH_3_2)
def test_bash_is_written_for_3_2(what: str, person: Person) -> None:
    text = person.init["bash"].read_text()
    used = [line for line in text.splitlines() if re.search(NOT_IN_BASH_3_2[what], line)]
    assert [line for line in used if not any(check in line for check in CHECKS)] == []
