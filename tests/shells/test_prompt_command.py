"""Other commands in bash's PROMPT_COMMAND, and programs that look for themselves in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shells.driver import BASH
from shells.kits import Person
from shells.terminal import Open, Terminal, cd, home_of, printed, seen

OURS = r"$'{\n__cudaswitch_prompt\n} &&\ntrue cudaswitch'"
ENTRY = r"$'true\n{\n__cudaswitch_prompt\n} &&\ntrue cudaswitch'"


def test_without_a_trap_it_is_an_entry_of_its_own(at_prompt: Open) -> None:
    terminal = at_prompt(BASH, "PROMPT_COMMAND='true'")
    said = printed(terminal, "declare -p PROMPT_COMMAND")
    assert said == [f"declare -- PROMPT_COMMAND={ENTRY}"]


def test_so_it_is_of_an_array(at_prompt: Open) -> None:
    terminal = at_prompt(BASH, "PROMPT_COMMAND=(true)")
    said = printed(terminal, "declare -p PROMPT_COMMAND")
    assert said == [f'declare -a PROMPT_COMMAND=([0]="true" [1]={OURS})']


def test_one_entry_stays_one_in_vs_code(at_prompt: Open) -> None:
    """Ours joins the first entry in VS Code, which takes any other for something typed."""
    terminal = at_prompt(BASH, "TERM_PROGRAM=vscode; PROMPT_COMMAND=(true)")
    said = printed(terminal, "declare -p PROMPT_COMMAND")
    assert said == [f"declare -a PROMPT_COMMAND=([0]={ENTRY})"]


@pytest.mark.parametrize("others", ["true", "(true)", "true; trap : DEBUG"])
def test_nothing_is_exported_where_all_else_is(others: str, at_prompt: Open, tree: Path) -> None:
    """Under `set -a`, a child gets nothing that needs functions which it does not have."""
    terminal = at_prompt(BASH, f"PROMPT_COMMAND={others}; set -a")
    cd(terminal, tree)
    ours = ("_cudaswitch", "__cudaswitch", "BASH_FUNC_", "PROMPT_COMMAND")
    assert [name for name in seen(terminal) if name.startswith(ours)] == []
    assert printed(terminal, "echo $-")[0].startswith("a")


def test_a_prompt_command_that_somebody_keeps_asks_once(
    person: Person, tree: Path, tmp_path: Path
) -> None:
    """If another command saved ours and calls it, like starship, ours asks for the trap once."""
    behind = 'kept=$PROMPT_COMMAND; PROMPT_COMMAND=own; own() { eval "$kept"; }\n'
    behind += f'trap() {{ echo asked >>{tmp_path}/asked; builtin trap "$@"; }}'
    before = f"PROMPT_COMMAND=true\n{person.load(BASH)}\n{behind}"
    (tmp_path / "terminal").mkdir()
    terminal = Terminal(BASH, replace(person, init={}), tmp_path / "terminal", before)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert (tmp_path / "asked").read_text() == "asked\n"


BY_ITS_NAME = """
own() { code=$? times+=1; if [ -n "$aside" ]; then eval "$aside"; fi; }
case $PROMPT_COMMAND in
    '') PROMPT_COMMAND=own ;;
    *own*) ;;
    *) aside=$PROMPT_COMMAND PROMPT_COMMAND=own ;;
esac
"""
"""Like starship: it saves a prompt command that lacks its own, and calls that."""
BY_ITS_TEXT = """
own() { code=$? times+=1; if [ -n "$aside" ]; then eval "$aside"; fi; }
if [ "$PROMPT_COMMAND" != own ]; then aside=$PROMPT_COMMAND PROMPT_COMMAND=own; fi
"""
ADDS_ITSELF = """
own() { code=$? times+=1; }
case $PROMPT_COMMAND in *own*) ;; *) PROMPT_COMMAND=${PROMPT_COMMAND:+$PROMPT_COMMAND;}own ;; esac
"""
"""Like zoxide."""
AN_ENTRY = """
own() { code=$? times+=1; }
for one in "${PROMPT_COMMAND[@]}"; do if [ "$one" = own ]; then is_there=1; fi; done
if [ -z "$is_there" ]; then PROMPT_COMMAND+=(own); fi
"""
"""Like oh-my-posh."""


@pytest.mark.parametrize(
    ("trap", "others"),
    [
        ("trap : DEBUG", BY_ITS_NAME),
        ("trap : DEBUG", BY_ITS_TEXT),
        ("trap : DEBUG", ADDS_ITSELF),
        (":", BY_ITS_NAME),
        (":", ADDS_ITSELF),
        (":", AN_ENTRY),
    ],
)
def test_others_find_themselves_where_a_startup_file_is_read_again(
    trap: str, others: str, person: Person, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "terminal").mkdir()
    before = f"unset PROMPT_COMMAND\n{trap}\n{others}"
    text = f"{before}\n{person.load(BASH)}"
    (tmp_path / "rc").write_text(text.replace("unset PROMPT_COMMAND", ""))
    terminal = Terminal(BASH, replace(person, init={}), tmp_path / "terminal", text)
    terminal.say(f". '{tmp_path}/rc'")
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert printed(terminal, "times=; (exit 3)\necho $code $times") == ["3 1"]
