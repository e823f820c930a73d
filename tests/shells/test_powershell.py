"""PowerShell: the texts parse, values are quoted. No PowerShell runs them here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tree_sitter_powershell
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from cudaswitch import shells
from homes import HOSTILE_FOLDER, HOSTILE_NAME
from shells.kits import Person

QUOTES = "'\u2018\u2019\u201a\u201b"
"""Characters that PowerShell takes for a single quote."""


def tree(text: str) -> Node:
    return Parser(Language(tree_sitter_powershell.language())).parse(text.encode()).root_node


def faults(node: Node) -> list[str]:
    found = [str(node)] if node.type == "ERROR" or node.is_missing else []
    return found + [fault for child in node.children for fault in faults(child)]


def inside(node: Node, kind: str) -> Iterator[Node]:
    """Find the nodes of a kind, `node` itself too, in the order of the text."""
    if node.type == kind:
        yield node
    for child in node.children:
        yield from inside(child, kind)


def written(node: Node) -> str:
    return (node.text or b"").decode()


def first_statement(block: Node) -> str:
    """Return what a function or a script block does first."""
    return written(next(inside(block, "statement_list")).named_children[0])


@pytest.fixture
def functions(person: Person) -> dict[str, Node]:
    """The functions of the integration, by their names."""
    text = person.home.run("init", "pwsh").stdout
    return {
        written(next(inside(node, "function_name"))).removeprefix("global:"): node
        for node in inside(tree(text), "function_statement")
    }


def unquoted(text: str) -> str:
    """Read a single-quoted string as PowerShell does: two quotes of any kind mean the first."""
    assert text[0] == text[-1] == "'"
    value, rest = "", text[1:-1]
    while rest:
        char = rest[0]
        if char in QUOTES:
            assert rest[1] in QUOTES, text
        value, rest = value + char, rest[2 if char in QUOTES else 1 :]
    return value


def test_the_reader_of_these_tests_sees_faults() -> None:
    assert faults(tree("if ($x { 'a' "))
    assert not faults(tree("if ($x) { 'a' }\n"))


def test_the_integration_parses(person: Person) -> None:
    done = person.home.run("init", "pwsh")
    assert done.returncode == 0, done.stderr
    assert not faults(tree(done.stdout))
    assert f"$global:_cudaswitch_root = {shells.quote_pwsh(str(person.home.store))}" in done.stdout


def test_the_change_parses_and_ends_with_the_choice(person: Person) -> None:
    done = person.home.run("env", "10.1", "--shell", "pwsh")
    assert done.returncode == 0, done.stderr
    assert not faults(tree(done.stdout))
    home = shells.quote_pwsh(str(person.kits[0].home))
    assert done.stdout.endswith(f"\n$env:_CUDASWITCH_U = {home}\n__cudaswitch_settle\n")


@pytest.mark.parametrize("value", [HOSTILE_FOLDER, HOSTILE_NAME, QUOTES, "", "a\nb", "$(x)"])
def test_hostile_values_are_one_string(value: str) -> None:
    text = shells.quote_pwsh(value)
    assert unquoted(text) == value
    assert not faults(tree(f"$env:X = {text}\n"))


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_value_comes_back(value: str) -> None:
    assert unquoted(shells.quote_pwsh(value)) == value


def test_no_parameter_of_ours_takes_a_word_away(functions: dict[str, Node]) -> None:
    """`cudaswitch` declares no parameters, for which PowerShell would take `--gpus` and `-x`."""
    declared = ("function_parameter_declaration", "param_block")
    found = {kind: [*inside(functions["cudaswitch"], kind)] for kind in declared}
    assert found == {kind: [] for kind in declared}
    # The same search finds parameters where there are some.
    assert [*inside(functions["__cudaswitch_around"], declared[0])]


def test_a_version_is_kept_as_it_was_typed(functions: dict[str, Node]) -> None:
    """Only a cast to a string gives 13.0 back; a list of objects would get the number 13."""
    words = functions["__cudaswitch_words"]
    loop = next(inside(words, "foreach_statement"))
    assert [written(node) for node in inside(loop, "cast_expression")] == ["[string] $word"]


def test_a_script_prints_no_line(person: Person, functions: dict[str, Node]) -> None:
    """PowerShell reads the profile for scripts too; what is active is said at the first prompt."""
    last = written(tree(person.home.run("init", "pwsh").stdout)).splitlines()[-1]
    assert last == "__cudaswitch_look -Later"
    [parameter] = inside(functions["__cudaswitch_look"], "script_parameter")
    assert written(parameter) == "[switch] $Later"
    assert "__cudaswitch_say" in written(functions["__cudaswitch_prompt"])


PUBLIC = ("cudaswitch", "__cudaswitch_prompt", "__cudaswitch_look", "__cudaswitch_settle")
"""Functions that are called from outside."""


@pytest.mark.parametrize("name", PUBLIC)
def test_a_strict_mode_of_the_profile_stays_outside(functions: dict[str, Node], name: str) -> None:
    """Functions called from outside first switch strict mode off, for what they call as well."""
    assert first_statement(functions[name]).split() == ["Set-StrictMode", "-Off"]


def test_the_prompt_of_the_person_sees_how_the_last_command_ended(
    functions: dict[str, Node],
) -> None:
    """Our prompt reads `$?` first, as anything else would change it."""
    [block] = inside(functions["__cudaswitch_around"], "script_block_expression")
    assert "$?" in first_statement(block)
