"""The one quiet line on what is active: when it comes, when it does not, how it is switched off."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from made_environments import Env
from shells.conda import conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.frameworks import entered, left
from shells.kits import Kit, Person, foreign
from shells.moving import cd
from shells.pinned import Session
from shells.quick_conda import CONDAS
from shells.terminal import Terminal
from shells.venvs import activate, with_venv

integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH), ids=str)
sourcing = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)

FIRST, SECOND, NONE = (
    "cudaswitch: CUDA 10.1",
    "cudaswitch: CUDA 11.8",
    "cudaswitch: no toolkit",
)


def lines(session: Session, words: str, **variables: str | None) -> list[str]:
    """Return what is printed with a prompt after each step, as at a terminal."""
    steps = [f"{step}\n{session.shell.prompt}" for step in session.steps(words)]
    return said(session, *steps, **variables)


def said(session: Session, *steps: str, **variables: str | None) -> list[str]:
    result = session.play(*steps, load=True, **{"CUDASWITCH_QUIET": None} | variables)
    assert (result.rc, result.stdout) == (0, "")
    return result.stderr.splitlines()


@integrated
@every_conda
def test_a_pinned_conda_environment(session: Session) -> None:
    assert lines(session, "b a again c b out out") == [FIRST, SECOND, NONE, SECOND, FIRST]
    assert lines(session, "b a c out out", CUDASWITCH_QUIET="1") == []


@integrated
@every_conda
def test_another_environment_with_the_same_toolkit(session: Session, tmp_path: Path) -> None:
    """Entering another environment with the same toolkit prints no line."""
    prefix = conda_prefix(tmp_path / "same")
    session.person.pin("10.1", prefix)
    enter = f"{session.conda.activate(session.shell, prefix)}\n{session.shell.prompt}"
    assert said(session, *session.steps("a"), session.shell.prompt, enter) == [FIRST]


@integrated
@every_conda
def test_a_pin_that_is_asked_anew(session: Session, tmp_path: Path) -> None:
    """If packages came since a pin to `auto`, the same prompt tells what is active then."""
    prefix = conda_prefix(tmp_path / "auto")
    env = Env(prefix)
    env.dist("cupy-cuda101", "7.8.0")
    session.person.pin("auto", prefix)
    time.sleep(0.02)
    env.dist("later", "1.0")
    enter = f"{session.conda.activate(session.shell, prefix)}\n{session.shell.prompt}"
    assert said(session, session.shell.prompt, enter) == [FIRST]


@integrated
@every_conda
def test_after_a_choice_of_ones_own(session: Session) -> None:
    (enter,) = session.steps("c")
    use = ["cudaswitch use 11.8", "cudaswitch use 10.1"]
    steps = [*use, f"{enter}\n{session.shell.prompt}", "cudaswitch off"]
    assert said(session, *steps) == [SECOND, FIRST, SECOND]


@integrated
def test_going_back_from_a_choice(shell: Shell, tmp_path: Path) -> None:
    """`off` prints the tree's toolkit again, which was printed before the choice."""
    person = make_person(tmp_path / "person", (shell.name,))
    # Between two toolkits of this layout the shell takes a short way.
    plain = Kit(tmp_path / "cuda-9.2", "9.2.148", ("lib64",)).build()
    person.adopt(plain)
    (tmp_path / ".cuda-version").write_text("10.1\n")
    enter = f"cd {shell.quote(str(tmp_path))}\n{shell.prompt}"
    words = ("use 9.2", "off", "use 11.8", "use 9.2", "use 10.1", "use 9.2", "off")
    steps = [f"cudaswitch {word}" for word in words]
    result = person.play(shell, enter, *steps, CUDASWITCH_QUIET=None)
    old = "cudaswitch: CUDA 9.2"
    said = [FIRST, old, FIRST, SECOND, old, FIRST, old, FIRST]
    assert result.stderr.splitlines() == said


@integrated
def test_a_folder_without_a_number(shell: Shell, tmp_path: Path) -> None:
    """A folder without a number, /opt/cuda in Arch or /usr/lib/cuda in Debian, is named by path."""
    person = make_person(tmp_path / "person", (shell.name,))
    kit = Kit(tmp_path / "3/cuda", "9.2.148", ("lib64",)).build()
    person.adopt(kit)
    uses = [f"cudaswitch use {version}" for version in ("9.2", "10.1", "9.2", "9.2")]
    steps = [f"{use}\n{shell.prompt}\ncd /\n{shell.prompt}\ncd {tmp_path}" for use in uses]
    result = person.play(shell, *steps, CUDASWITCH_QUIET=None)
    own = f"cudaswitch: CUDA {kit.home}"
    assert result.stderr.splitlines() == [own, FIRST, own, own]


@sourcing
def test_a_pinned_virtualenv(person: Person, shell: Shell, tmp_path: Path) -> None:
    for name, version in (("v", "10.1"), ("w", "11.8")):
        with_venv(tmp_path / name)
        person.pin(version, tmp_path / name)
    steps = [activate(shell, tmp_path / "v"), "deactivate", activate(shell, tmp_path / "w")]
    at_prompts = [f"{step}\n{shell.prompt}\n{shell.prompt}" for step in steps]
    result = person.play(shell, *at_prompts, CUDASWITCH_QUIET=None)
    assert result.stderr.splitlines() == [FIRST, NONE, SECOND]
    assert not person.play(shell, *steps, CUDASWITCH_QUIET=None).stderr  # as in a script


@integrated
@every_conda
def test_libraries_that_are_left_alone(session: Session, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "own")
    session.person.pin("10.1", prefix)
    (prefix / "conda-meta" / "cudatoolkit-10.1.243-h6bb024c_0.json").touch()
    enter = session.conda.activate(session.shell, prefix)
    steps = [f"{step}\n{session.shell.prompt}" for step in (*session.steps("a"), enter)]
    alone = " (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)"
    assert said(session, *steps) == [FIRST, FIRST + alone]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_what_stays_in_another_environment(person: Person, shell: Shell, tmp_path: Path) -> None:
    """The same toolkit is only told again if LD_LIBRARY_PATH is left alone now, or no longer."""
    own, same = Env(tmp_path / "own"), Env(tmp_path / "same")
    own.file("torch/lib/libtorch_cuda.so")
    same.write("pyvenv.cfg", "home = /usr/bin\n")
    person.pin("10.1", same.prefix)
    (tmp_path / ".cuda-version").write_text("10.1\n")
    steps = [cd(shell, tmp_path), entered(shell, own), left(shell), entered(shell, same)]
    said = person.play(shell, *steps, CUDASWITCH_QUIET=None).stderr.splitlines()
    alone = " (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)"
    assert said == [FIRST, FIRST + alone, FIRST]


@integrated
def test_a_shell_says_nothing_of_what_it_is_born_with(
    person: Person, shell: Shell, tmp_path: Path
) -> None:
    """An inherited toolkit, and a change of its owner alone, print nothing; later changes do."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    born = person.play(shell, "cudaswitch use 10.1").snaps["1"]
    inherited = {name: value for name, value in born.items() if name != "SHLVL"}
    steps = [shell.prompt, f"cd {shell.quote(str(tmp_path))}\n{shell.prompt}"]
    steps += ["cudaswitch off", f"cd /\n{shell.prompt}"]
    result = person.play(shell, *steps, **inherited | {"CUDASWITCH_QUIET": None})
    assert (result.rc, result.stderr.splitlines()) == (0, [NONE])


@integrated
def test_commands_answer_each_time(person: Person, shell: Shell) -> None:
    steps = ["cudaswitch use 10.1", "cudaswitch use 10.1", "cudaswitch off"]
    said = person.play(shell, *steps, CUDASWITCH_QUIET=None).stderr.splitlines()
    assert said == [FIRST, FIRST, NONE]
    assert not person.play(shell, *steps, CUDASWITCH_QUIET="1").stderr
    # What was not printed while it was quiet is not printed later either.
    loud = f"{shell.unset('CUDASWITCH_QUIET')}\ncd /\n{shell.prompt}"
    assert not person.play(shell, "cudaswitch use 10.1", loud, CUDASWITCH_QUIET="1").stderr


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, XONSH), ids=str)
def test_nothing_is_said_before_the_prompt(person: Person, shell: Shell, tmp_path: Path) -> None:
    """Reading a startup file prints nothing, nor does a `cd` in a function: only a prompt does."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    there = f"cd {shell.quote(str(tmp_path))}"
    nobody = Person(person.home, person.kits, {})
    script = nobody.play(shell, there, person.load(shell), "cd /", there, CUDASWITCH_QUIET=None)
    assert (script.rc, script.stderr) == (0, "")
    assert script.snaps["2"]["CUDA_HOME"] == str(person.kits[0].home)
    said = nobody.play(
        shell, there, person.load(shell), shell.prompt, shell.prompt, CUDASWITCH_QUIET=None
    ).stderr
    assert said.splitlines() == [FIRST]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, XONSH), ids=str)
def test_what_was_only_passed_through_is_no_news(
    person: Person, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / ".cuda-version").write_text("10.1\n")
    there = f"cd {shell.quote(str(tmp_path))}"
    steps = (f"{there}\ncd /", shell.prompt, f"{there}\n{shell.prompt}", f"cd /\n{there}")
    said = person.play(shell, *steps, shell.prompt, CUDASWITCH_QUIET=None).stderr
    assert said.splitlines() == [FIRST]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_at_a_terminal(person: Person, shell: Shell, tmp_path: Path) -> None:
    terminal = Terminal(shell, person, tmp_path, first=shell.unset("CUDASWITCH_QUIET"))
    try:
        words = ("10.1", "11.8", "10.1")
        said = [terminal.say(f"cudaswitch use {word}") for word in words]
    finally:
        terminal.child.close(force=True)
    told = [re.findall("^\r?(?:ready> )?(cudaswitch: CUDA .*?)\r?$", text, re.M) for text in said]
    assert told == [[FIRST], [SECOND], [FIRST]]


@integrated
def test_of_a_branch_that_is_checked_out_behind_cd(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """After `cd project; git checkout legacy` on one line, only the final toolkit is printed."""
    file = tmp_path / ".cuda-version"
    file.write_text("10.1.243\n")
    there = shell.quote(str(tmp_path))
    result = person.play(
        shell, f"cd {there}; echo 11.8 > .cuda-version\n{shell.prompt}", CUDASWITCH_QUIET=None
    )
    assert (result.rc, result.stderr.splitlines()) == (0, [SECOND])
    assert foreign(result.snaps["1"])["CUDA_HOME"] == str(person.kits[1].home)


def test_in_zsh_it_waits_for_an_instant_prompt_to_go(person: Person, tmp_path: Path) -> None:
    """The line waits until powerlevel10k's instant prompt is gone, which warns about any output."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    shown, gone = "typeset -gi __p9k_instant_prompt_active=1", "unset __p9k_instant_prompt_active"
    steps = (f"{shown}; cd {tmp_path}", ZSH.prompt, "echo prompt >&2", gone, ZSH.prompt)
    result = person.play(ZSH, *steps, CUDASWITCH_QUIET=None)
    assert (result.rc, result.stderr.splitlines()) == (0, ["prompt", FIRST])


def test_in_zsh_what_is_wrong_waits_too(person: Person, tmp_path: Path) -> None:
    (tmp_path / ".cuda-version").write_text(">=9,<10\n")
    shown, gone = "typeset -gi __p9k_instant_prompt_active=1", "unset __p9k_instant_prompt_active"
    steps = (f"{shown}; cd {tmp_path}", ZSH.prompt, "echo prompt >&2", gone, ZSH.prompt, ZSH.prompt)
    said = person.play(ZSH, *steps, CUDASWITCH_QUIET=None).stderr.splitlines()
    assert said[0] == "prompt"
    assert ["is not installed" in line for line in said].count(True) == 1


def test_in_zsh_a_subshell_does_not_complain(person: Person, tmp_path: Path) -> None:
    """A subshell that enters a tree looks, but does not report what is wrong there."""
    (tmp_path / ".cuda-version").write_text(">=9,<10\n")
    there = f"cd {ZSH.quote(str(tmp_path))}"
    result = person.play(ZSH, f'echo "$({there} && pwd)"; ({there} && pwd)', CUDASWITCH_QUIET=None)
    assert (result.stdout.splitlines(), result.stderr) == ([str(tmp_path)] * 2, "")
    assert "is not installed" in person.play(ZSH, there, CUDASWITCH_QUIET=None).stderr


def test_in_tcsh_a_subshell_says_nothing(person: Person, tmp_path: Path) -> None:
    """A subshell that enters a tree prints nothing: the shell around it has not moved."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    there = f"cd {TCSH.quote(str(tmp_path))}"
    steps = (
        "set prompt = '> '",
        f"({there}; printenv CUDA_HOME)",
        f"echo `{there}; pwd`",
        "precmd",
    )
    result = person.play(TCSH, *steps, f"{there}\ncd /", "precmd", CUDASWITCH_QUIET=None)
    homes = [str(person.kits[0].home), str(tmp_path)]
    assert (result.stdout.splitlines(), result.stderr) == (homes, "")
    told = person.play(TCSH, steps[0], there, "precmd", "precmd", CUDASWITCH_QUIET=None)
    assert told.stderr.splitlines() == [FIRST]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_where_the_toolkit_was_deleted_the_doctor_names_one_way_out(
    shell: Shell, tmp_path: Path
) -> None:
    person = make_person(tmp_path)
    kit, found = person.kits[0], tmp_path / "found"

    def ask(number: int) -> str:
        return f"cudaswitch doctor --json > {shell.quote(f'{found}{number}')}"

    commands = (
        person.use(shell, "10.1"),
        f"mv {shell.quote(str(kit.home))} {shell.quote(str(tmp_path / 'away'))}\n{ask(1)}",
        f"cudaswitch off\n{ask(2)}",
    )
    result = person.play(shell, *commands)
    first, second = (json.loads(Path(f"{found}{n}").read_text())["findings"] for n in (1, 2))
    of_shell = [one for one in first if one["code"] in ("CS005", "CS006", "CS022", "CS028")]
    assert [one["fix"] for one in of_shell if one["code"] in ("CS022", "CS028")] == [
        "cudaswitch off"
    ]
    assert str(kit.home) in of_shell[0]["evidence"]
    assert not {one["code"] for one in second} & {"CS005", "CS006", "CS022", "CS028"}
    assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])
