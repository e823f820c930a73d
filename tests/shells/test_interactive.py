"""The hook of `cudaswitch init` at a real prompt."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shells.conda import conda_prefix
from shells.driver import BASH, FISH, TCSH, ZSH, Shell
from shells.kits import Person
from shells.quick_conda import QuickConda
from shells.terminal import Open, home_of, seen

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)


@every_shell
def test_cd_switches_and_gives_back(
    shell: Shell, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    for folder, kit in ((tree, 0), (tree / "inner", 1), (tree.parent, None), (tree, 0)):
        terminal.say(f"cd {shell.quote(str(folder))}")
        assert home_of(terminal) == ("" if kit is None else str(person.kits[kit].home)), folder


def test_cd_switches_in_tcsh_with_a_semicolon_for_history(
    person: Person, tree: Path, at_prompt: Open
) -> None:
    """tcsh removes a prompt alias that begins with a history character: ours does not."""
    terminal = at_prompt(TCSH)
    terminal.say("set histchars = '!;'")
    said = terminal.say(f"cd {TCSH.quote(str(tree))}")
    assert home_of(terminal) == str(person.kits[0].home)
    assert "Faulty alias" not in said


@every_shell
def test_the_person_s_exit_status_comes_through(
    shell: Shell, person: Person, tree: Path, at_prompt: Open
) -> None:
    """The prompt hook keeps the person's exit status even if it switches."""
    terminal = at_prompt(shell)
    status = "$status" if shell is FISH else "$?"
    terminal.child.sendline(f"cd {shell.quote(str(tree))}; sh -c 'exit 7'")
    terminal.child.sendline(f"echo se''en{status}")
    terminal.child.expect(r"seen(\d+)\s")
    assert terminal.child.match.group(1) == "7"
    assert home_of(terminal) == str(person.kits[0].home)


@pytest.mark.parametrize(
    ("shell", "before"),
    [
        (BASH, "other() {{ echo $? >>{seen}; }}\nPROMPT_COMMAND=other"),
        (BASH, "other() {{ echo $? >>{seen}; }}\nPROMPT_COMMAND=(: other)"),
        (ZSH, "other() {{ echo $? >>{seen}; }}\nprecmd_functions=(other)"),
        (FISH, "function other --on-event fish_prompt; echo $status >>{seen}; end"),
        (TCSH, "alias precmd 'echo $status >>{seen}'"),
    ],
    ids=["bash", "bash-array", "zsh", "fish", "tcsh"],
)
def test_other_prompt_hooks_live_beside_it(
    shell: Shell, before: str, person: Person, tree: Path, tmp_path: Path, at_prompt: Open
) -> None:
    seen = tmp_path / "seen"
    terminal = at_prompt(shell, before.format(seen=seen))
    terminal.say(f"cd {shell.quote(str(tree))}; sh -c 'exit 5'")
    assert home_of(terminal) == str(person.kits[0].home)
    assert "5\n" in seen.read_text()


@pytest.mark.parametrize("before", ["", "PROMPT_COMMAND=keep", "PROMPT_COMMAND=(keep)"])
def test_a_prompt_hook_that_comes_later_sees_the_exit_status(
    before: str, tree: Path, tmp_path: Path, at_prompt: Open
) -> None:
    seen = tmp_path / "seen"
    hooks = f"other() {{ echo $? >>{seen}; }}; keep() {{ return $?; }}"
    terminal = at_prompt(BASH, f"{hooks}\n{before}")
    last = "${#PROMPT_COMMAND[@]} - 1"
    terminal.say(f"PROMPT_COMMAND[{last}]+=$'\\nother'")
    for folder in (tree, tree.parent):
        seen.write_text("")
        terminal.say(f"cd {BASH.quote(str(folder))}; sh -c 'exit 5'")
        assert "5\n" in seen.read_text()


@pytest.mark.parametrize("way", ["{}", "({})"], ids=["bash", "bash-array"])
def test_the_statuses_of_a_pipeline_come_through(
    way: str, person: Person, tree: Path, tmp_path: Path, at_prompt: Open
) -> None:
    seen = tmp_path / "seen"
    before = (
        f"PROMPT_COMMAND={way.format('other')}; other() {{ echo ${{PIPESTATUS[@]}} >>{seen}; }}"
    )
    terminal = at_prompt(BASH, before)
    terminal.say(f"cd {BASH.quote(str(tree))}; false | true | sh -c 'exit 5'")
    assert home_of(terminal) == str(person.kits[0].home)
    assert "1 0 5\n" in seen.read_text()


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_errexit_and_nounset_at_the_prompt(
    shell: Shell, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    terminal.say("set -eu")
    # `! true` has a status that is not 0, but does not end the shell.
    terminal.say(f"cd {shell.quote(str(tree))}; ! true")
    assert terminal.child.isalive()
    assert home_of(terminal) == str(person.kits[0].home)


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_a_variable_that_is_read_only(shell: Shell, person: Person, at_prompt: Open) -> None:
    """A read-only CUDA_HOME stays, and `off` undoes everything else."""
    terminal = at_prompt(shell)
    terminal.say("export CUDA_HOME=/theirs LD_LIBRARY_PATH=/own; readonly CUDA_HOME")
    before = seen(terminal)
    for version, kit in (("12.4", person.kits[2]), ("11.8", person.kits[1])):
        assert "CUDA_HOME" in terminal.say(f"cudaswitch use {version}")
        assert seen(terminal)["PATH"] == f"{kit.bin}:{before['PATH']}"
        assert seen(terminal)["LD_LIBRARY_PATH"] == ":".join([*kit.lib, "/own"])
    terminal.say("cudaswitch off")
    after = seen(terminal)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_a_path_that_becomes_read_only(
    shell: Shell, tree: Path, person: Person, at_prompt: Open
) -> None:
    """A PATH that becomes read-only is complained about once, not at every prompt."""
    terminal = at_prompt(shell)
    terminal.say(f"cd {shell.quote(str(tree))}")
    assert home_of(terminal) == str(person.kits[0].home)
    terminal.say("readonly PATH")
    terminal.say("cd /")
    terminal.say("true")
    said = terminal.say("true")
    assert "read-only" not in said
    assert "readonly" not in said


def test_a_prompt_command_that_is_read_only(person: Person, tree: Path, at_prompt: Open) -> None:
    """A read-only PROMPT_COMMAND, as where commands are logged, is reported, and `use` works."""
    terminal = at_prompt(BASH, "readonly PROMPT_COMMAND=':'")
    said = terminal.say(f"CUDASWITCH_QUIET=\n{person.load(BASH)}")
    assert "cudaswitch: PROMPT_COMMAND is read-only" in said
    assert "readonly variable" not in said
    terminal.say(f"cd {BASH.quote(str(tree))}")
    assert home_of(terminal) == ""
    assert str(person.kits[0].home) in terminal.say("cudaswitch use 10.1; printenv CUDA_HOME")


@pytest.mark.parametrize("name", ["current", "which nvcc", "doctor"])
def test_a_prompt_command_that_is_assigned_behind_us(
    name: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """`current`, `which` and `doctor` report once that our prompt hook is gone, and restore it."""
    behind = f"{person.load(BASH)}\nPROMPT_COMMAND='history -a'\nCUDASWITCH_QUIET=\nreturn"
    terminal = at_prompt(BASH, behind)
    quiet = terminal.say(f"cd {BASH.quote(str(tree))}")
    quiet += terminal.say(f"cudaswitch {name} | cat")
    assert home_of(terminal) == ""
    said = terminal.say(f"cudaswitch {name}")
    assert "cudaswitch: PROMPT_COMMAND was overwritten" not in quiet
    assert said.count("cudaswitch: PROMPT_COMMAND was overwritten") == 1
    terminal.say(f"cd {BASH.quote(str(tree / 'inner'))}")
    assert home_of(terminal) == str(person.kits[1].home)
    assert "overwritten" not in terminal.say(f"cudaswitch {name}")
    assert "history -a" in terminal.say("declare -p PROMPT_COMMAND")


@pytest.mark.parametrize("name", ["current", "which nvcc", "doctor"])
@pytest.mark.parametrize("ifs", ["$IFS", "c"])
def test_a_prompt_command_that_is_typed_anew(
    name: str, ifs: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(BASH, f"CUDASWITCH_QUIET=\nIFS={ifs}")
    terminal.say(":")
    quiet = terminal.say("PROMPT_COMMAND='history -a'") + terminal.say(
        f"cd {BASH.quote(str(tree))}"
    )
    assert home_of(terminal) == ""
    said = terminal.say(f"cudaswitch {name}")
    assert "overwritten" not in quiet
    assert said.count("cudaswitch: PROMPT_COMMAND was overwritten") == 1
    assert "hint: add to it instead" in said
    terminal.say(f"cd {BASH.quote(str(tree / 'inner'))}")
    assert home_of(terminal) == str(person.kits[1].home)
    assert "overwritten" not in terminal.say(f"cudaswitch {name}")
    assert "history -a" in terminal.say("declare -p PROMPT_COMMAND")


def test_a_prompt_command_that_is_made_read_only_later(tree: Path, at_prompt: Open) -> None:
    """`current` reports a PROMPT_COMMAND that became read-only each time it is asked."""
    terminal = at_prompt(BASH, "CUDASWITCH_QUIET=")
    terminal.say("PROMPT_COMMAND=:; readonly PROMPT_COMMAND")
    assert "is read-only" not in terminal.say(f"cd {BASH.quote(str(tree))}")
    for _ in range(2):
        said = terminal.say("cudaswitch current")
        assert said.count("cudaswitch: PROMPT_COMMAND is read-only here") == 1
        assert "readonly variable" not in said


@pytest.mark.parametrize(
    "typed",
    [
        'kept=$PROMPT_COMMAND; PROMPT_COMMAND=own; own() { eval "$kept"; }',
        'eval "own() { $PROMPT_COMMAND; }"; PROMPT_COMMAND=own',
        "mine=(__cudaswitch_prompt); own() { ${mine[0]}; }; PROMPT_COMMAND=own",
    ],
    ids=["variable", "function", "array"],
)
def test_who_has_put_us_aside_runs_us(
    typed: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(BASH, "CUDASWITCH_QUIET=")
    terminal.say(typed)
    terminal.say(f"cd {BASH.quote(str(tree))}")
    assert home_of(terminal) == str(person.kits[0].home)
    assert "overwritten" not in terminal.say("cudaswitch current")
    assert '"own"' in terminal.say("declare -p PROMPT_COMMAND")


@pytest.mark.parametrize(
    "behind",
    [
        "PROMPT_COMMAND='echo mine'; trap 'x=1' DEBUG",
        "PROMPT_COMMAND=('echo mine' :); trap 'x=1' DEBUG",
        "export PROMPT_COMMAND='echo mine'",
        "PROMPT_COMMAND='echo mine'",
    ],
    ids=["trap", "array", "exported", "plain"],
)
def test_what_was_assigned_behind_us_stays(
    behind: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(BASH, f"{person.load(BASH)}\n{behind}\nreturn")
    terminal.say("cudaswitch current")
    for folder, kit in ((tree, 0), (tree / "inner", 1)):
        said = terminal.say(f"cd {BASH.quote(str(folder))}") + terminal.say(":")
        assert said.count("mine") >= 2
        assert "bash:" not in said
        assert home_of(terminal) == str(person.kits[kit].home)


@pytest.mark.parametrize(
    "behind",
    [
        "cudaswitch current",
        'kept=$PROMPT_COMMAND; PROMPT_COMMAND=own; own() { eval "$kept"; }',
        "readonly PROMPT_COMMAND=:",
        "PROMPT_COMMAND='history -a'; PS1='$(cudaswitch current | head -1)'$PS1",
    ],
    ids=["startup", "wrapped", "read-only", "subshell"],
)
def test_a_prompt_command_that_has_us_still(
    behind: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(BASH, f"CUDASWITCH_QUIET=\n{person.load(BASH)}\n{behind}\nreturn")
    said = terminal.say(f"cd {BASH.quote(str(tree))}") + terminal.say("cudaswitch current")
    assert "readonly" in behind or str(person.kits[0].home) in said
    assert ("overwritten" in said) == ("PS1" in behind)
    assert said.count("overwritten") < 2
    assert said.count("is read-only here") == ("readonly" in behind)
    assert "readonly variable" not in said


@pytest.mark.parametrize("way", ["script", "command", "startup file"])
def test_nothing_is_said_of_it_where_no_prompt_comes(
    way: str, person: Person, tmp_path: Path
) -> None:
    """Before any prompt a lost hook is not reported: a later line may add us again."""
    text = f"{person.load(BASH)}\nPROMPT_COMMAND='history -a'\ncudaswitch current\n"
    file = tmp_path / "file"
    file.write_text(text)
    arguments = {
        "script": [file],
        "command": ["--norc", "-ic", text],
        "startup file": ["--rcfile", file, "-i"],
    }[way]
    done = subprocess.run(
        ["bash", *arguments],
        env=person.home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "none\n" in done.stdout
    assert "overwritten" not in done.stderr


def test_what_tells_what_is_active_looks_round_first(
    person: Person, tree: Path, at_prompt: Open
) -> None:
    """`current` looks first, as in bash no prompt comes between a `cd` and it on one line."""
    said = at_prompt(BASH).say(f"cd {BASH.quote(str(tree))}; cudaswitch current")
    assert str(person.kits[0].home) in said
    assert "hint" not in said


@every_shell
def test_a_pin_whose_toolkit_is_gone_says_so_once(
    shell: Shell, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """A terminal is told once that a pin's toolkit is gone; a pin to `system` says nothing."""
    conda = QuickConda()
    for name, request in (("gone", "12.4"), ("system", "system")):
        person.pin(request, conda_prefix(tmp_path / name))
    terminal = at_prompt(shell)
    terminal.say(conda.init(shell).replace("\n", "; "))
    home = person.kits[2].home
    away = home.with_name("away")
    home.rename(away)
    try:
        said = terminal.say(conda.activate(shell, tmp_path / "gone"))
        said += terminal.say("cd /") + terminal.say("cd /tmp")
        assert said.count("is gone, so nothing is switched") == 1
        said = terminal.say(conda.activate(shell, tmp_path / "system"))
        assert "gone, so" not in said
    finally:
        away.rename(home)
