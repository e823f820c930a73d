"""A day at a terminal: interrupts, jobs, subshells, other shells, options, traps."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from made_environments import Env
from shells.conftest import make_person
from shells.driver import BASH, FISH, TCSH, ZSH, Shell
from shells.frameworks import entered
from shells.kits import Person, foreign
from shells.terminal import Open, Terminal, cd, home_of, printed, seen
from tools import executable

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
bash_and_zsh = pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)

ASKED = 'exec cudaswitch "$@"\n'

never_asked = itertools.count(20)
"""Minor releases that no toolkit has: the answer to a range is kept for all who ask again."""


def interrupt(terminal: Terminal) -> None:
    """Press Ctrl-C, and wait until it can no longer discard what is typed after it."""
    terminal.child.sendintr()
    terminal.reach()


def interrupt_asking(terminal: Terminal, line: str, asking: Path) -> None:
    """Type a line, and press Ctrl-C once the program of `asking` is waited for."""
    terminal.child.sendline(line)
    until(asking.with_name("asked").exists, "the program is not asked")
    until(lambda: is_waiting(terminal), "the program does not sleep")
    interrupt(terminal)


def run_for_long(terminal: Terminal, command: str) -> None:
    """Type a command, and wait until it has the terminal."""
    terminal.child.sendline(command)
    until(lambda: os.tcgetpgrp(terminal.child.child_fd) != terminal.child.pid, "it does not run")


def until(event: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 60
    while not event():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.01)


def is_waiting(terminal: Terminal, alone: bool = False) -> bool:
    """Tell whether the shell and all it has started sleep; `alone`, whether it has nobody else."""
    states = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, session, *_ = path.read_text().rpartition(")")[2].split()
            if int(session) == terminal.child.pid:
                states[int(path.parent.name)] = state
    return {*states.values()} == {"S"} and (not alone or len(states) == 1)


@pytest.fixture
def asking(tmp_path: Path, person: Person) -> Path:
    """A program in place of ours that is slow the first time, and a tree to ask it about."""
    folder = tmp_path / "asking"
    folder.mkdir()
    (folder / ".cuda-version").write_text(f">=11,<12,!=9.{next(never_asked)}\n")
    asked = tmp_path / "asked"
    executable(
        tmp_path / "program",
        f"#!/bin/sh\nif ! [ -e '{asked}' ]; then : >'{asked}'; sleep 120; fi\n"
        f"echo '{person.kits[1].home}'\n",
    )
    return folder


@every_shell
def test_an_interrupted_look_round_is_made_up_for(
    shell: Shell, person: Person, asking: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    program = asking.with_name("program")
    assign = "set -g {} {}" if shell is FISH else "{}={}"
    terminal.say(assign.format("_cudaswitch_program", program))
    interrupt_asking(terminal, f"cd {asking}", asking)
    cd(terminal, asking.parent)
    assert home_of(terminal) == ""
    cd(terminal, asking)
    assert home_of(terminal) == str(person.kits[1].home)
    cd(terminal, asking.parent)
    assert home_of(terminal) == ""


@every_shell
def test_one_interrupt_is_enough(
    shell: Shell, person: Person, asking: Path, at_prompt: Open
) -> None:
    """One Ctrl-C ends a slow question and gives a prompt; only the next prompt asks again."""
    terminal, asked = at_prompt(shell), asking.with_name("asked")
    program = asking.with_name("program")
    program.write_text(f"#!/bin/sh\necho >>'{asked}'\nsleep 120\n")
    assign = "set -g {} {}" if shell is FISH else "{}={}"
    terminal.say(assign.format("_cudaswitch_program", program))
    terminal.child.sendline(f"cd {asking}")
    for times in (1, 2):
        until(asked.exists, "the program is not asked")
        until(lambda times=times: len(asked.read_text()) == times, "the program is not asked again")
        until(lambda: is_waiting(terminal), "the program does not sleep")
        terminal.child.sendintr()
        until(lambda: is_waiting(terminal, alone=True), "there is no prompt")
        terminal.child.sendline("echo 'there'again")
        terminal.child.expect("thereagain")
        assert len(asked.read_text()) <= times + 1


@every_shell
@pytest.mark.parametrize("asker", ["a variable", "a pin to auto"])
def test_so_is_one_that_no_folder_asks_for(
    shell: Shell, asker: str, person: Person, asking: Path, at_prompt: Open
) -> None:
    """An interrupted question about a variable or a pin to `auto` is asked at the next prompt."""
    env = Env(asking.with_name("v"))
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.dist("cupy-cuda101", "7.8.0")
    person.pin("auto", env.prefix)
    time.sleep(0.02)
    env.dist("later", "1.0")
    steps = {
        "a variable": shell.set(
            "CUDASWITCH_VERSION", (asking / ".cuda-version").read_text().strip()
        ),
        "a pin to auto": entered(shell, env).removesuffix(f"\n{shell.prompt}"),
    }
    terminal = at_prompt(shell)
    terminal.say(shell.set("_cudaswitch_program", str(asking.with_name("program"))))
    interrupt_asking(terminal, steps[asker].replace("\n", "; "), asking)
    terminal.say("")
    assert home_of(terminal) == str(person.kits[1].home)


@every_shell
def test_a_question_whose_program_was_killed_is_asked_again(
    shell: Shell, person: Person, asking: Path
) -> None:
    """A program killed by the system for its memory, or by Ctrl-\\, is asked again."""
    program = asking.with_name("program")
    program.write_text(f'#!/bin/sh\n[ -e "$0.asked" ] || {{ >"$0.asked"; kill -9 $$; }}\n{ASKED}')
    there = f"cd {shell.quote(str(asking))}\n{shell.prompt}"
    spy = shell.set("_cudaswitch_program", str(program))
    result = person.play(shell, spy, there, shell.prompt)
    home = str(person.kits[1].home)
    assert result.snaps["3"].get("CUDA_HOME") == home
    assert program.with_name("program.asked").exists()


@every_shell
def test_one_that_ctrl_c_has_ended_is_left_for_a_prompt(
    shell: Shell, person: Person, asking: Path
) -> None:
    """A question that Ctrl-C has ended, as its status tells, is asked only once more."""
    program = asking.with_name("program")
    program.write_text('#!/bin/sh\necho >>"$0.asked"\nexit 130\n')
    there = f"cd {shell.quote(str(asking))}\n{shell.prompt}"
    spy = shell.set("_cudaswitch_program", str(program))
    person.play(shell, spy, there, shell.prompt, shell.prompt)
    assert len(program.with_name("program.asked").read_text()) == 2


@every_shell
def test_what_an_earlier_path_brought_back_goes_at_the_next_prompt(
    shell: Shell, person: Person, at_prompt: Open
) -> None:
    """A toolkit that an earlier PATH restored goes at the next prompt; an older copy stays."""
    terminal = at_prompt(shell)
    back = str(person.kits[0].home / "bin")
    terminal.say(shell.set("PATH", f"{back}:{back}:{person.home.env['PATH']}"))
    terminal.say(shell.set("_CUDASWITCH_GONE", f"1{back}"))
    terminal.say("")
    found = seen(terminal)
    assert "_CUDASWITCH_GONE" not in found
    assert found["PATH"] == f"{back}:{person.home.env['PATH']}"


@pytest.mark.parametrize("slow", ['"$2" = set', "$# -eq 2"], ids=["flags", "conda's copies"])
def test_tcsh_finishes_a_switch_that_is_interrupted(slow: str, tmp_path: Path) -> None:
    """Its texts leave some of a switch to `sh`; the arguments of each tell which one is slow."""
    person = make_person(tmp_path / "account", ("tcsh",), tmp_path / "compilers")
    texts, armed = tmp_path / "texts", tmp_path / "armed"
    shutil.copytree(person.init["tcsh"].parent / ".tcsh", texts)
    copies = texts / "copies.sh"
    wait = f"if [ {slow} ] && rm '{armed}' 2>&-; then : >'{tmp_path}/asked'; sleep 1; fi"
    copies.write_text(f"{wait}\n{copies.read_text()}")
    own = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDAHOSTCXX", "__CONDA_SHLVL_0_CUDA_HOME")
    lines = [TCSH.set(name, "/own") for name in own]
    terminal = Terminal(TCSH, person, tmp_path, "\n".join([*lines, "setenv CONDA_SHLVL 1"]))
    terminal.say(f"set _cudaswitch_texts = {TCSH.quote(str(texts))}")
    was, handled = foreign(seen(terminal)), ignored(terminal)
    terminal.say("cudaswitch use 10.1")
    armed.touch()
    interrupt_asking(terminal, "cudaswitch use 11.8", armed)
    assert ignored(terminal) == handled
    assert home_of(terminal) == str(person.kits[1].home)
    terminal.say("cudaswitch off")
    assert foreign(seen(terminal)) == was
    terminal.child.close(force=True)


def ignored(terminal: Terminal) -> str:
    """Return which signals the shell ignores."""
    status = Path(f"/proc/{terminal.child.pid}/status").read_text()
    return next(line for line in status.splitlines() if line.startswith("SigIgn"))


@every_shell
def test_an_interrupt_at_the_prompt(
    shell: Shell, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    cd(terminal, tree)
    # fish may keep the first word of the line: `cd` alone would go home.
    terminal.child.send("echo half a li")
    interrupt(terminal)
    assert home_of(terminal) == str(person.kits[0].home)
    run_for_long(terminal, "sleep 30")
    interrupt(terminal)
    cd(terminal, tree / "inner")
    assert home_of(terminal) == str(person.kits[1].home)


@every_shell
def test_jobs(shell: Shell, person: Person, tree: Path, at_prompt: Open) -> None:
    """A background job may end, and one be stopped and resumed, while the toolkit changes."""
    terminal = at_prompt(shell)
    terminal.say("sleep 0.2 &")
    cd(terminal, tree)
    run_for_long(terminal, "sleep 1")
    terminal.child.send("\x1a")
    cd(terminal, tree / "inner")
    assert home_of(terminal) == str(person.kits[1].home)
    terminal.say("fg")
    assert home_of(terminal) == str(person.kits[1].home)
    assert "sleep" not in terminal.say("jobs").replace("jobs", "")


@bash_and_zsh
def test_what_a_subshell_does_stays_there(
    shell: Shell, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    cd(terminal, tree)
    lines = printed(terminal, '(cudaswitch use 11.8; echo "in:$CUDA_HOME")')
    assert lines == [f"in:{person.kits[1].home}"]
    assert home_of(terminal) == str(person.kits[0].home)
    lines = printed(terminal, 'echo "sub:$(cudaswitch off; echo $CUDA_HOME)"')
    assert lines == [f"sub:{person.kits[0].home}"]


EXECS = [(BASH, ZSH), (ZSH, BASH), (BASH, FISH), (FISH, ZSH)]


@pytest.mark.parametrize(("shell", "other"), EXECS, ids=str)
def test_another_shell_takes_its_place(
    shell: Shell, other: Shell, person: Person, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    before = seen(terminal)
    terminal.say("cudaswitch use 10.1")
    terminal.child.sendline(f"exec {' '.join((other.name, *other.options))} -i")
    terminal.shell = other
    terminal.reach()
    terminal.say(other.source(person.init[other.name]))
    assert home_of(terminal) == str(person.kits[0].home)
    terminal.say("cudaswitch use 11.8")
    assert home_of(terminal) == str(person.kits[1].home)
    terminal.say("cudaswitch off")
    assert seen(terminal) == before


@pytest.mark.parametrize(
    "fault", ["declare -i CUDA_PATH", "readonly PATH", "readonly LD_LIBRARY_PATH"]
)
@pytest.mark.parametrize("gone", ["", "_CUDASWITCH_GONE=0/gone"], ids=["plain", "gone"])
def test_a_switch_that_throws_bash_back_to_its_prompt_is_tried_once(
    fault: str, gone: str, tree: Path, at_prompt: Open
) -> None:
    """A switch that fails and throws bash back to its prompt is not tried again and again."""
    terminal = at_prompt(BASH)
    terminal.say("cudaswitch off")
    terminal.say(f"{fault}; {gone}")
    # An endless retry would print without end.
    terminal.child.timeout = 30
    said = terminal.say(f"cd {BASH.quote(str(tree))}; export VIRTUAL_ENV=/x") + terminal.say(
        "echo a''live"
    )
    assert "alive" in said
    assert said.count("bash: ") == 1
    terminal.say("cd /; VIRTUAL_ENV=/y")
    assert "alive" in terminal.say("echo a''live")
