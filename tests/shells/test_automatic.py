"""What frameworks need, at activation: asked once, kept, and asked anew when packages change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from homes import HOSTILE_FOLDER
from made_environments import Env
from shells.conftest import make_person
from shells.driver import BASH, FISH, SHELLS, ZSH, Shell
from shells.kits import Person
from shells.terminal import Terminal
from shells.test_directory import cd, homes

integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
hooked = pytest.mark.parametrize(
    "shell", [it for it in SHELLS if it.suffix in {"sh", "fish"}], ids=str
)
NEW = ("cupy-cuda11x", "11.0.0")
"""A framework for CUDA 11, where OLD is for 10.1; neither brings its own."""
OLD = ("cupy-cuda101", "7.8.0")


@pytest.fixture
def someone(tmp_path: Path) -> Person:
    """A person for one test alone: answers are kept in the store."""
    return make_person(tmp_path / HOSTILE_FOLDER)


@pytest.fixture
def env(tmp_path: Path) -> Env:
    made = Env(tmp_path / "an env [x]")
    made.write("pyvenv.cfg", "home = /usr/bin\n")
    (made.prefix / "bin").mkdir()
    made.dist(*OLD)
    return made


@pytest.fixture
def spy(tmp_path: Path) -> Path:
    """Stand in front of the command and count its calls in `count`."""
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/count\nexec cudaswitch "$@"\n')
    program.chmod(0o755)
    return program


def calls(spy: Path) -> int:
    count = spy.parent / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


def entered(shell: Shell, env: Env) -> str:
    path = shell.prepend("PATH", str(env.prefix / "bin"))
    return f"{shell.set('VIRTUAL_ENV', str(env.prefix))}\n{path}\n{shell.prompt}"


def left(shell: Shell) -> str:
    return f"{shell.unset('VIRTUAL_ENV')}\n{shell.prompt}"


def later(env: Env, *dist: str) -> str:
    """Put another framework in the place of OLD, as a line for a shell."""
    made = env.dist(*dist).parent
    away = env.prefix.parent / made.name
    shutil.rmtree(away, ignore_errors=True)
    made.rename(away)
    site = env.prefix / env.site
    old = site / f"{OLD[0].replace('-', '_')}-{OLD[1]}.dist-info"
    return f"sleep 0.02; rm -r '{old}'; mv '{away}' '{site}'"


@integrated
def test_an_environment_without_a_pin_gets_what_it_needs(
    shell: Shell, someone: Person, env: Env, spy: Path
) -> None:
    watched = shell.set("_cudaswitch_program", str(spy))
    steps = [watched, entered(shell, env), left(shell), entered(shell, env), cd(shell, Path("/"))]
    result = someone.play(shell, *steps).check()
    assert homes(someone, result) == "--1-11"
    assert calls(spy) == 1
    # Another shell finds the answer ready.
    assert homes(someone, someone.play(shell, watched, entered(shell, env)).check()) == "--1"
    assert calls(spy) == 1


@integrated
def test_changed_packages_are_seen_at_the_next_activation(
    shell: Shell, someone: Person, env: Env, spy: Path
) -> None:
    steps = [shell.set("_cudaswitch_program", str(spy)), entered(shell, env)]
    steps += [later(env, *NEW), left(shell), entered(shell, env), left(shell), entered(shell, env)]
    assert homes(someone, someone.play(shell, *steps).check()) == "--11-2-2"
    assert calls(spy) == 2


@integrated
def test_who_is_stronger_and_who_is_weaker(
    shell: Shell, someone: Person, env: Env, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("11.8\n")
    assert someone.home.run("pin", "12.4", "--global").returncode == 0
    steps = [entered(shell, env), cd(shell, tree), cd(shell, tmp_path), left(shell)]
    assert homes(someone, someone.play(shell, *steps).check()) == "31213"
    someone.pin("12.4", env.prefix)
    assert (
        homes(someone, someone.play(shell, entered(shell, env), cd(shell, tree)).check()) == "333"
    )


@integrated
def test_what_is_not_installed_is_said_once(shell: Shell, someone: Person, env: Env) -> None:
    replace = later(env, "cupy-cuda92", "8.6.0")
    steps = [replace, entered(shell, env), left(shell), entered(shell, env), cd(shell, Path("/"))]
    result = someone.play(shell, *steps)
    assert result.rc == 0
    assert homes(someone, result) == "------"
    said = [line for line in result.stderr.splitlines() if "not installed" in line]
    assert said == [f"cudaswitch: `{env.prefix}` needs CUDA 9.2, which is not installed"]


@integrated
def test_other_toolkits_ask_the_question_anew(
    shell: Shell, someone: Person, env: Env, tmp_path: Path
) -> None:
    (env.prefix / env.site / "pip-24.0.dist-info").mkdir()
    assert homes(someone, someone.play(shell, entered(shell, env)).check()) == "-1"
    assert someone.home.run("remove", "10.1.243").returncode == 0
    result = someone.play(shell, entered(shell, env))
    assert homes(someone, result) == "--"
    assert "needs CUDA 10.1, which is not installed" in result.stderr


@integrated
def test_current_exec_and_shims_agree(shell: Shell, someone: Person, env: Env) -> None:
    assert someone.home.run("shims", "install").returncode == 0
    shim = Path(someone.home.env["CUDASWITCH_HOME"]) / "shims" / "nvcc"
    told = f"cudaswitch current; cudaswitch exec -- nvcc; {shell.quote(str(shim))}"
    result = someone.play(shell, entered(shell, env), told).check()
    kit = someone.kits[0]
    assert result.stdout.splitlines() == [
        f"{kit.version} (asked for by {env.prefix} (its frameworks))",
        str(kit.home),
        *[f"nvcc of {kit.version}"] * 2,
    ]


@hooked
def test_a_hook_alone_keeps_what_it_was_given(shell: Shell, someone: Person, env: Env) -> None:
    """Without integration there is nobody to ask, and output that is no terminal stays clean."""
    env.write("bin/activate", "")
    someone.pin("auto", env.prefix)
    hook = env.prefix / "etc" / "cudaswitch" / f"on.{shell.suffix}"
    enter = f"{shell.set('VIRTUAL_ENV', str(env.prefix))}\n{shell.source(hook)}"
    bare = Person(someone.home, someone.kits, {})
    result = bare.play(shell, later(env, *NEW), enter).check()
    assert homes(someone, result) == "--1"


@integrated
def test_a_pin_to_auto_is_written_anew(shell: Shell, someone: Person, env: Env, spy: Path) -> None:
    steps = [shell.set("_cudaswitch_program", str(spy)), entered(shell, env), later(env, *NEW)]
    steps += [left(shell), entered(shell, env), left(shell), entered(shell, env)]
    someone.pin("auto", env.prefix)
    assert homes(someone, someone.play(shell, *steps).check()) == "--11-2-2"
    assert calls(spy) == 1


@integrated
def test_a_terminal_is_told_of_changed_packages(
    shell: Shell, someone: Person, env: Env, tmp_path: Path
) -> None:
    someone.pin("auto", env.prefix)
    bare = Person(someone.home, someone.kits, {shell.name: Path("/dev/null")})
    terminal = Terminal(shell, bare, tmp_path, "")
    try:
        terminal.say(later(env, *NEW))
        terminal.say(shell.set("VIRTUAL_ENV", str(env.prefix)))
        hook = env.prefix / "etc" / "cudaswitch" / f"on.{shell.suffix}"
        said = terminal.say(shell.source(hook)).replace("\r\n", "")
    finally:
        terminal.child.close(force=True)
    assert "has other packages than when it was pinned" in said
    assert "hint: cudaswitch pin auto" in said


@integrated
def test_a_version_file_that_is_edited_is_seen_at_the_next_prompt(
    shell: Shell, someone: Person, tmp_path: Path
) -> None:
    tree = tmp_path / "tree [é]"
    (tree / "deep").mkdir(parents=True)
    (tree / ".cuda-version").write_text("10.1\n")
    edits = ["echo 11.8 >../.cuda-version", "echo 12.4 >.cuda-version", "rm .cuda-version"]
    edits += ["rm ../.cuda-version", "echo 10.1 >.cuda-version"]
    steps = [f"{edit}\n{shell.prompt}" for edit in edits]
    result = someone.play(shell, cd(shell, tree / "deep"), *steps).check()
    assert homes(someone, result) == "-1232-1"


@hooked
def test_a_conda_environment_without_python(shell: Shell, someone: Person, tmp_path: Path) -> None:
    """Its patterns match nothing, which zsh takes for an error."""
    prefix = tmp_path / "bare"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "bin").mkdir()
    someone.pin("auto", prefix)
    hook = prefix / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
    enter = f"{shell.set('CONDA_PREFIX', str(prefix))}\n{shell.source(hook)}"
    result = Person(someone.home, someone.kits, {}).play(shell, enter).check()
    assert homes(someone, result) == "--"
