"""xonsh: virtualenvs by `vox` and by their own script, pipes and redirections, version files."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from made_environments import Env
from shells.conda import Conda, conda_prefix
from shells.driver import XONSH, ShellResult
from shells.frameworks import NEW, OLD, later
from shells.kits import Person, foreign, switched
from shells.moving import homes
from shells.pinned import Session
from shells.quick_conda import CONDAS
from shells.venvs import with_venv
from tools import console_script, executable


@pytest.fixture(scope="module")
def envs(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two virtualenvs, `v` pinned to the second toolkit and `w` not."""
    folder = tmp_path_factory.mktemp("xonsh")
    for name in "vw":
        with_venv(folder / name)
    person.pin("11.8", folder / "v")
    return folder


def play(person: Person, *steps: str, **variables: str | None) -> ShellResult:
    return person.play(XONSH, *steps, **variables)


def test_vox(person: Person, envs: Path, tmp_path: Path) -> None:
    """`vox deactivate` restores PATH with our folder in it, which must go later all the same."""
    if importlib.util.find_spec("xontrib.vox") is None:
        pytest.skip("needs `xontrib-vox`")
    (tmp_path / ".cuda-version").write_text("10.1\n")
    enter = f"cd {XONSH.quote(str(tmp_path))}"
    load = f"xontrib load vox\n{enter}"
    steps = [load, "vox activate v", "vox deactivate", "vox activate w", "vox deactivate"]
    result = play(person, *steps, "cd /", VIRTUALENV_HOME=str(envs))
    before, inside, after = (result.snaps[number] for number in "136")
    assert [folder for folder in inside["PATH"].split(":") if "toolkits" in folder] == [
        person.kits[0].bin
    ]
    assert homes(person, result)[1:4] == "121"
    assert after["PATH"] == result.snaps["0"]["PATH"]
    assert "LD_LIBRARY_PATH" not in after
    assert before["CUDA_HOME"] == str(person.kits[0].home)


def test_the_script_of_a_virtualenv(person: Person, envs: Path) -> None:
    script = XONSH.quote(str(envs / "v" / "bin" / "activate"))
    result = play(person, f"source-bash {script}", "events.on_pre_prompt.fire()")
    assert homes(person, result) == "-22"
    assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])


@pytest.mark.parametrize("shell", [" --shell xonsh", ""])
def test_the_change_for_evaluation(person: Person, shell: str) -> None:
    """`env` works there and back without integration, and knows that xonsh called it."""
    bare = replace(person, init={})
    use = f"execx($(cudaswitch env {{}}{shell}))"
    steps = [use.format("10.1"), use.format("12.4"), use.format("system")]
    result = bare.play(XONSH, *steps, LD_LIBRARY_PATH="", SHELL="/bin/bash").check()
    before = result.snaps["0"]
    assert foreign(result.snaps["1"]) == switched(before, person.kits[0])
    assert foreign(result.snaps["2"]) == switched(before, person.kits[2])
    assert foreign(result.snaps["3"]) == foreign(before)


def test_a_tilde_stays_one(person: Person) -> None:
    """A `~` on PATH is not replaced by what xonsh expands it to for children."""
    type_it = "$PATH = ['~/own', *$PATH]"
    show = "print(repr($PATH))"
    result = play(person, f"{type_it}\n{show}", "cudaswitch use 10.1", "cudaswitch off", show)
    first, last = result.check().stdout.splitlines()
    assert "'~/own'" in first
    assert first == last


def test_other_commands_are_plain_ones(person: Person, tmp_path: Path) -> None:
    """Pipes, captures and redirections work, and the exit status comes through."""
    out = XONSH.quote(str(tmp_path / "out"))
    result = play(
        person,
        f"cudaswitch list | cat > {out}",
        "print(len($(cudaswitch list)))",
        "cudaswitch use 99 e>/dev/null || echo caught",
        "cudaswitch nonsense e>/dev/null || echo caught",
    ).check()
    listed = (tmp_path / "out").read_text()
    assert "10.1.243" in listed
    assert result.stdout.splitlines() == [str(len(listed)), "caught", "caught"]


@pytest.mark.parametrize(
    ("command", "line"),
    [("use 10.1", "CUDA 10.1"), ("off", "CUDA 11.8"), ("pin 10.1 --dir .", "CUDA 10.1")],
)
def test_the_line_goes_where_the_command_sends_it(
    person: Person, tmp_path: Path, command: str, line: str
) -> None:
    (tmp_path / ".cuda-version").write_text("11.8\n")
    out = XONSH.quote(str(tmp_path / "out"))
    steps = [f"cd {XONSH.quote(str(tmp_path))}", "cudaswitch use 12.4" * (command == "off")]
    result = play(person, *steps, f"cudaswitch {command} e>{out}", CUDASWITCH_QUIET=None)
    said = (tmp_path / "out").read_text().splitlines()
    assert said[-1] == f"cudaswitch: {line}"
    assert said[-1] not in result.stderr.splitlines()


def test_python_is_asked_once_in_a_tree(person: Person, tmp_path: Path) -> None:
    """A range has no ready answer; the steps within its tree start no process."""
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / ".cuda-version").write_text(">=10,<11,!=9.8\n")
    count, spy, init = (tmp_path / name for name in ("count", "spy", "init.xsh"))
    program = Path(person.home.run("--version").args[0])
    executable(spy, f'#!/bin/sh\necho x >>{count}\nexec {program} "$@"\n')
    text = person.init["xonsh"].read_text()
    assert repr(str(program)) in text
    init.write_text(text.replace(repr(str(program)), repr(str(spy))))
    steps = [f"cd {XONSH.quote(str(tmp_path / at))}" for at in ("tree", "tree/deep", "tree", ".")]
    result = replace(person, init={"xonsh": init}).play(XONSH, *steps).check()
    assert homes(person, result) == "-111-"
    assert count.read_text() == "x\n"


@pytest.mark.parametrize("owner", ["choice", "pin"])
def test_what_conda_keeps_aside(person: Person, tmp_path: Path, owner: str) -> None:
    """Values of ours that conda saved for an environment's variables do not come back.

    conda runs our hooks in a bash of its own in between.
    """
    kit, prefix = person.kits[0], conda_prefix(tmp_path / "env")
    person.pin("10.1", prefix)
    ours = {"CUDA_HOME": str(kit.home), "LD_LIBRARY_PATH": ":".join([*kit.lib, "/own"])}
    keep = [XONSH.set(f"__CONDA_SHLVL_0_{name}", value) for name, value in ours.items()]
    theirs = [XONSH.set(name, "/vars") for name in ours]
    first, leave = ["cudaswitch use 10.1"], []
    if owner == "pin":
        first, leave = (
            [f"source-bash {XONSH.quote(str(prefix / 'etc/conda' / f'{half}.d/~~cudaswitch.sh'))}"]
            for half in ("activate", "deactivate")
        )
        first = [XONSH.set("CONDA_PREFIX", str(prefix)), *first, XONSH.prompt]
    away = [*keep, *leave, *theirs, XONSH.set("CONDA_PREFIX", "/nowhere"), XONSH.prompt]
    steps = ["\n".join(first), "\n".join(away), "cudaswitch off"]
    result = play(person, *steps, LD_LIBRARY_PATH="/own")
    assert result.snaps["1"]["CUDA_HOME"] == str(kit.home)
    after = result.snaps["3"]
    assert [after["CUDA_HOME"], after["LD_LIBRARY_PATH"]] == ["/vars", "/vars"]
    assert "__CONDA_SHLVL_0_CUDA_HOME" not in after
    assert after["__CONDA_SHLVL_0_LD_LIBRARY_PATH"] == "/own"


@pytest.mark.parametrize("variable", ["CONDA_PREFIX", "VIRTUAL_ENV"])
def test_unpinned_in_another_terminal(person: Person, tmp_path: Path, variable: str) -> None:
    prefix = conda_prefix(tmp_path / "env")
    if variable == "VIRTUAL_ENV":
        with_venv(prefix := tmp_path / "venv")
    person.pin("10.1", prefix)
    enter = f"{XONSH.set(variable, str(prefix))}\n{XONSH.prompt}"
    elsewhere = f"$[{console_script()} unpin -p @({str(prefix)!r}) err>/dev/null]"
    result = play(person, enter, elsewhere, f"cd /\n{XONSH.prompt}")
    assert homes(person, result) == "-11-"


def test_a_pin_to_auto_whose_hook_conda_has_run(person: Person, tmp_path: Path) -> None:
    """xonsh checks for new packages, as the bash that runs the hook for conda cannot ask."""
    env = Env(conda_prefix(tmp_path / "env"))
    env.dist(*OLD)
    person.pin("auto", env.prefix)
    folder = env.prefix / "etc/conda"
    enter, leave = (
        f"source-bash {XONSH.quote(str(folder / f'{half}.d/~~cudaswitch.sh'))}"
        for half in ("activate", "deactivate")
    )
    enter = f"{XONSH.set('CONDA_PREFIX', str(env.prefix))}\n{enter}\n{XONSH.prompt}"
    leave = f"{leave}\n{XONSH.unset('CONDA_PREFIX')}\n{XONSH.prompt}"
    result = play(person, enter, later(env, *NEW), leave, enter, leave)
    assert homes(person, result) == "-11-2-"


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("prompts", [True, False], ids=["prompts", "a script"])
def test_a_pin_is_back_where_the_variable_goes(
    person: Person, tmp_path: Path, conda: Conda, prompts: bool
) -> None:
    """The pin counts once the variable is unset, which the bash of conda's hook had followed."""
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    session = Session(person, tmp_path, XONSH, conda)
    (enter,) = session.steps("a")
    steps = [XONSH.set("CUDASWITCH_VERSION", "12.4"), enter, XONSH.unset("CUDASWITCH_VERSION")]
    then = XONSH.prompt if prompts else "cd /tmp\ncd /"
    result = session.play(*(f"{step}\n{then}" for step in steps), load=True).check()
    assert homes(person, result)[2:] == "331"


def test_values_that_are_no_text_come_back_as_they_were(person: Person) -> None:
    made = "$CUDA_HOME = p'/my/cuda'; $CUDA_VISIBLE_DEVICES = 0; $CUDACXX = ['ccache', 'nvcc']"
    show = "print(repr(($CUDA_HOME / 'bin', $CUDA_VISIBLE_DEVICES, $CUDACXX)))"
    uses = ["cudaswitch use 10.1 --gpus 1", "cudaswitch use 11.8 --gpus 0"]
    result = person.play(XONSH, f"{made}\n{show}", *uses, f"cudaswitch off\n{show}").check()
    first, last = result.stdout.splitlines()
    assert (first, "['ccache', 'nvcc']" in first) == (last, True)


@pytest.mark.parametrize("conda", CONDAS, ids=str)
def test_a_virtualenv_that_is_left_before_the_conda_environment_in_it(
    person: Person, tmp_path: Path, conda: Conda
) -> None:
    """To the hook, a PATH without the environment is one that conda will not bring back."""
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    conda_prefix(tmp_path / "b")
    session = Session(person, tmp_path, XONSH, conda)
    venv = tmp_path / "v"
    enter = f"$_OLD_VIRTUAL_PATH = list($PATH)\n{XONSH.prepend('PATH', f'{venv}/bin')}"
    enter += f"\n{XONSH.set('VIRTUAL_ENV', str(venv))}"
    leave = "$PATH = $_OLD_VIRTUAL_PATH\ndel $_OLD_VIRTUAL_PATH\ndel $VIRTUAL_ENV"
    first, *rest = session.steps("a b out out")
    steps = [f"{step}\n{XONSH.prompt}" for step in (enter, first, leave, *rest)]
    result = session.play(*steps, load=True).check()
    assert homes(person, result) == "---11-1-"
    for step in "567":
        ours = [one for one in result.snaps[step]["PATH"].split(":") if "toolkits" in one]
        assert ours == [person.kits[0].bin] * (step == "6"), step
