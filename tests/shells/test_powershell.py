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
"""What PowerShell takes for a single quote."""


def tree(text: str) -> Node:
    return Parser(Language(tree_sitter_powershell.language())).parse(text.encode()).root_node


def faults(node: Node) -> list[str]:
    found = [str(node)] if node.type == "ERROR" or node.is_missing else []
    return found + [fault for child in node.children for fault in faults(child)]


def functions(text: str) -> dict[str, list[str]]:
    """Name the functions of a text, each with the lines of its body as they stand, unindented."""

    def found(node: Node) -> Iterator[Node]:
        if node.type == "function_statement":
            yield node
        for child in node.children:
            yield from found(child)

    bodies = {}
    for node in found(tree(text)):
        lines = (node.text or b"").decode().splitlines()
        bodies[lines[0].split()[1].partition("(")[0].removeprefix("global:")] = [
            line.strip() for line in lines[1:-1]
        ]
    return bodies


@pytest.fixture
def written(person: Person) -> dict[str, list[str]]:
    return functions(person.home.run("init", "pwsh").stdout)


def unquoted(text: str) -> str:
    """Read a single-quoted string by PowerShell's rule: two quotes of any kind are the first."""
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


def test_the_program_gets_the_words_as_they_were_typed(written: dict[str, list[str]]) -> None:
    """With the first `--`, which functions never see, and lists with commas in one word."""
    body = written["cudaswitch"]
    assert [line for line in body if "$args" in line or "@args" in line] == [
        "$words = @(__cudaswitch_words $args $MyInvocation)"
    ]
    assert sum("@words" in line for line in body) == 2
    assert "if ($word -is [array]) { $word = $word -join ',' }" in written["__cudaswitch_words"]
    assert "$words.Insert($at, '--')" in written["__cudaswitch_words"]


def test_the_program_reads_what_is_piped_in(written: dict[str, list[str]]) -> None:
    body = written["cudaswitch"]
    at = body.index("if ($MyInvocation.ExpectingInput) {")
    assert body[at + 1 : at + 4] == [
        "$input | & (__cudaswitch_located) @words",
        "} else {",
        "& (__cudaswitch_located) @words",
    ]


def test_a_program_that_is_gone_is_no_success(written: dict[str, list[str]]) -> None:
    body = written["cudaswitch"]
    first = next(at for at, line in enumerate(body) if "& (__cudaswitch_located)" in line)
    assert body.index("$global:LASTEXITCODE = 127") < first


def test_a_strict_mode_of_the_profile_stays_outside(written: dict[str, list[str]]) -> None:
    """Whatever is called from outside switches it off first, for itself and what it calls."""
    for name in ("cudaswitch", "__cudaswitch_prompt", "__cudaswitch_look", "__cudaswitch_settle"):
        assert next(line for line in written[name] if line[:1] != "#") == "Set-StrictMode -Off"


def test_the_prompt_of_the_person_sees_how_the_last_command_ended(
    written: dict[str, list[str]],
) -> None:
    assert written["__cudaswitch_around"] == [
        "{",
        "$ok = $?",
        "__cudaswitch_prompt",
        "if (-not $ok) { Write-Error '' -ErrorAction Ignore }",
        "& $Prompt",
        "}.GetNewClosure()",
    ]


def test_a_prompt_that_took_the_place_of_ours_is_taken_in(person: Person) -> None:
    """No flag says that ours is there: another may have been defined since."""
    text = person.home.run("init", "pwsh").stdout
    assert "if (\"$function:prompt\" -cnotlike '*__cudaswitch_prompt*') {" in text.splitlines()
