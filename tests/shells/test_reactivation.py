"""Reactivation, which ends a `conda install`: the environment's scripts undo what is applied."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells.conda import CONDAS, Conda, conda_prefix, write_hook
from shells.driver import BASH, DASH, FISH, ZSH, Shell
from shells.kits import Person, foreign
from shells.package_scripts import KEEPING, KEEPING_IN_FISH, KEEPS_WHAT_IS_SET
from shells.pinned import Session

every = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make environments without a pin: `a` has scripts that bring back what they saw, `b` none."""
    for name in "ab":
        conda_prefix(tmp_path / name)
    for suffix, scripts in (("sh", KEEPING), ("fish", KEEPING_IN_FISH)):
        for kind, text in scripts.items():
            write_hook(tmp_path / "a", kind, f"env_vars.{suffix}", text)
    (tmp_path / ".cuda-version").write_text("10.1\n")
    return tmp_path


@every_conda
@every
@pytest.mark.parametrize("asked", ["the shell", "the shell, before", "a directory"])
def test_the_toolkit_comes_back(
    shell: Shell, conda: Conda, asked: str, person: Person, place: Path
) -> None:
    kit = person.kits[0]
    session = Session(person, place, shell, conda)
    asks = f"cd {shell.quote(str(place))}" if asked == "a directory" else "cudaswitch use 10.1"
    first = session.steps("a")
    first = [asks, *first] if asked == "the shell, before" else [*first, asks]
    steps = [*first, *session.steps("again again out"), "cd /", "cudaswitch off"]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    own = {"LD_LIBRARY_PATH": "/own/lib", "CUDA_HOME": "/own"}
    result = session.play("cd /", *steps, load=True, **own).check()
    for step in "4567":
        seen = result.snaps[step]
        libraries = [*kit.lib, *([f"{place}/a/kept"] if step != "7" else [])]
        assert seen["CUDA_HOME"] == str(kit.home), step
        assert seen["PATH"].split(":")[0] == kit.bin
        assert seen["PATH"].split(":").count(kit.bin) == 1
        assert seen["LD_LIBRARY_PATH"].split(":") == [*libraries, "/own/lib"], step
    after = result.snaps["9"]
    assert {name: after.get(name) for name in own} == own
    # What conda and these scripts do to PATH is their own.
    assert kit.bin not in after["PATH"].split(":")


@every_conda
@every
def test_what_is_still_there_is_left_as_it_is(
    shell: Shell, conda: Conda, person: Person, place: Path
) -> None:
    """Reactivation leaves a toolkit that is still there behind the person's own folders."""
    session = Session(person, place, shell, conda)
    mine = [shell.prepend("PATH", "/mine"), shell.prepend("LD_LIBRARY_PATH", "/mine/lib")]
    steps = [*session.steps("b"), "cudaswitch use 10.1", *mine, *session.steps("again")]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play(*steps, load=True).check()
    assert result.snaps["6"]["PATH"].startswith(f"/mine:{person.kits[0].bin}:")
    assert result.snaps["6"]["LD_LIBRARY_PATH"].startswith(f"/mine/lib:{person.kits[0].lib[0]}:")


@every_conda
@every
@pytest.mark.parametrize("name", ["PATH", "CUDA_HOME", "LD_LIBRARY_PATH"])
def test_each_that_is_gone_comes_back(
    shell: Shell, conda: Conda, name: str, person: Person, place: Path
) -> None:
    kit = person.kits[0]
    session = Session(person, place, shell, conda)
    away = shell.set("PATH", conda.base_path) if name == "PATH" else shell.unset(name)
    write_hook(place / "b", "activate", f"own.{shell.suffix}", f"{away}\n")
    steps = [*session.steps("b"), "cudaswitch use 10.1", *session.steps("again")]
    result = session.play(*(f"{step}\n{shell.prompt}" for step in steps), load=True).check()
    seen = result.snaps["4"]
    first = {"PATH": kit.bin, "CUDA_HOME": str(kit.home), "LD_LIBRARY_PATH": kit.lib[0]}
    assert {each: seen[each].split(":")[0] for each in first} == first


@every_conda
@every
def test_nor_is_anything_put_on_where_none_is(
    shell: Shell, conda: Conda, person: Person, place: Path
) -> None:
    session = Session(person, place, shell, conda)
    steps = [*session.steps("a"), "cudaswitch use 10.1", "cudaswitch use system"]
    steps = [*steps, *session.steps("again"), "cudaswitch off", *session.steps("again")]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play("cd /", *steps, load=True).check()
    for step in "68":
        assert str(person.kits[0].home) not in str(foreign(result.snaps[step]))


@every_conda
@pytest.mark.parametrize("shell", [BASH, ZSH], ids=str)
def test_nothing_of_ours_is_exported_that_need_not_be(
    shell: Shell, conda: Conda, person: Person, place: Path
) -> None:
    """Reactivation exports no internal variable of ours, even under `set -a`."""
    session = Session(person, place, shell, conda)
    steps = [*session.steps("a"), "cudaswitch use 10.1", "set -a", *session.steps("again")]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play(*steps, load=True).check()
    assert {name for name in result.snaps["5"] if name.startswith("_cudaswitch")} == set()
    assert result.snaps["5"]["CUDA_HOME"] == str(person.kits[0].home)


@every_conda
@every
def test_a_version_that_cannot_be_had_is_told_of_once(
    shell: Shell, conda: Conda, person: Person, place: Path
) -> None:
    session = Session(person, place, shell, conda)
    said = shell.set("CUDASWITCH_VERSION", "9.9")
    steps = [said, *session.steps("b again again a again out out")]
    result = session.play(*(f"{step}\n{shell.prompt}" for step in steps), load=True)
    assert result.rc == 0
    assert result.stderr.count("9.9 is not installed") == 1


@every_conda
@pytest.mark.parametrize("shell", [BASH, ZSH], ids=str)
@pytest.mark.parametrize("known", [True, False], ids=["conda", "no conda"])
def test_no_variable_is_left_by_a_look(
    shell: Shell, conda: Conda, known: bool, person: Person, place: Path
) -> None:
    """A look leaves no variables, even with an inherited environment and without conda."""
    session = Session(person, place, shell, conda)
    away = "" if known else "unset -f __conda_hashr"
    entered = shell.set("CONDA_PREFIX", str(place / "b"))
    steps = [away, entered, shell.prompt, "cudaswitch use 10.1", *session.steps("again")]
    result = session.play("set -u", *steps[: 5 if known else 4], "set | grep ^_csw_", load=True)
    assert (result.stdout, result.stderr) == ("", "")


NVCC_LIKE = (
    'export ${CUDA_HOME+CUDA_HOME_CONDA_NVCC_BACKUP="$CUDA_HOME"} CUDA_HOME="$CONDA_PREFIX"\n',
    "unset CUDA_HOME\n"
    'export HOME ${CUDA_HOME_CONDA_NVCC_BACKUP+CUDA_HOME="$CUDA_HOME_CONDA_NVCC_BACKUP"}\n'
    "unset CUDA_HOME_CONDA_NVCC_BACKUP\n",
)
"""Scripts that save CUDA_HOME if it is set, under the name that conda-forge's nvcc uses."""


@every_conda
@pytest.mark.parametrize(
    ("shell", "scripts"),
    [
        *((shell, KEEPS_WHAT_IS_SET[shell.suffix]) for shell in (BASH, ZSH, DASH, FISH)),
        *((shell, NVCC_LIKE) for shell in (BASH, ZSH, DASH)),
    ],
    ids=lambda it: str(it) if isinstance(it, Shell) else "",
)
@pytest.mark.parametrize("asked", ["_CUDASWITCH_U", "_CUDASWITCH_D"])
def test_a_script_keeps_the_toolkit_that_it_was_started_with(
    shell: Shell,
    scripts: tuple[str, str],
    conda: Conda,
    asked: str,
    person: Person,
    place: Path,
) -> None:
    """Without integration, a script's saved copy of an inherited toolkit survives a pin above."""
    kit = person.kits[0]
    for half, text in zip(("activate", "deactivate"), scripts, strict=True):
        write_hook(place / "b", half, f"own.{shell.suffix}", text)
    person.pin("11.8", conda_prefix(place / "c"))
    session = Session(person, place, shell, conda)
    on = person.home.run("env", "10.1", "--shell", shell.name).stdout
    started = on.replace("_CUDASWITCH_U", asked)
    steps = [started, *session.steps("b c out out")]
    result = session.play(*steps, LD_LIBRARY_PATH="/own").check()
    before, after = (foreign(result.snaps[at]) for at in "26")
    assert after["CUDA_HOME"] == str(kit.home)
    # What conda sets of its own may stay, and be empty.
    assert {name: after[name] for name in after if name in before or after[name]} == before
