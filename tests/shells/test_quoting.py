"""Each shell's one quoting function: what it quotes arrives in a child as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudaswitch.shells import Shell as Row
from cudaswitch.shells import shell_named
from shells.driver import SHELLS, TCSH, ZSH, Shell, run_shell
from shells.hostile import BYTES, CANARY, NAMED, pairs, random_values
from shells.kits import Person, foreign

every = pytest.mark.parametrize("shell", SHELLS, ids=str)


def carried(shell: Shell, values: dict[str, str], folder: Path) -> dict[str, str]:
    """Export all values as the product's row spells them; return what a child is given."""
    row: Row = shell_named(shell.name)
    lines = [row.export.format(name=name, value=row.quote(text)) for name, text in values.items()]
    result = run_shell(
        shell, "\n".join([*lines, "snap here"]), {"PATH": "/usr/bin:/bin", "HOME": "/"}, cwd=folder
    )
    assert list(folder.iterdir()) == [], "a value was run"
    return {name: result.check().snaps["here"].get(name, "not set") for name in values}


def numbered(values: list[str]) -> dict[str, str]:
    return {f"V{number}": value for number, value in enumerate(values)}


def assert_carried(shell: Shell, values: list[str], folder: Path) -> None:
    given = numbered(values)
    seen = carried(shell, given, folder)
    assert {text: seen[name] for name, text in given.items() if seen[name] != text} == {}


def test_there_are_enough_of_them() -> None:
    assert len(set(NAMED.values())) == len(NAMED) > 90
    assert sum(CANARY in value for value in NAMED.values()) > 15
    assert len(set(pairs())) == 32 + 32 * 32


@every
def test_values_with_a_name(shell: Shell, tmp_path: Path) -> None:
    assert_carried(shell, list(NAMED.values()), tmp_path)


@every
def test_punctuation_alone_and_in_pairs(shell: Shell, tmp_path: Path) -> None:
    assert_carried(shell, pairs(), tmp_path)


@every
def test_pairs_within_words_and_lines(shell: Shell, tmp_path: Path) -> None:
    assert_carried(shell, [f"a {pair}b\n{pair} " for pair in pairs()], tmp_path)


@every
def test_values_that_nobody_thought_of(shell: Shell, tmp_path: Path) -> None:
    assert_carried(shell, random_values(1000), tmp_path)


@every
def test_bytes_that_are_no_text(shell: Shell, tmp_path: Path) -> None:
    assert_carried(shell, list(BYTES.values()), tmp_path)


@every
def test_what_the_person_had_comes_back_whatever_it_was(shell: Shell, person: Person) -> None:
    """Any value survives the core's saving and restoring, in plain variables and in lists."""
    values = [value for value in (NAMED | BYTES).values() if len(value) < 1000]
    if shell is TCSH:  # which cannot take such a list apart: shells.test_tcsh
        values = [value for value in values if "\n" not in value]
    done = [person.home.run("env", want, "--shell", shell.name) for want in ("10.1", "system")]
    on, off = (run.stdout for run in done)
    assert on and off, done
    folder = person.home.path
    before = sorted(folder.iterdir())
    lines = []
    if shell is ZSH:  # which takes four times as long to parse these texts as to run them
        lines += [f"switch_on() {{\n{on}\n}}", f"switch_off() {{\n{off}\n}}"]
        on, off = "switch_on", "switch_off"
    for number, value in enumerate(values):
        lines += [shell.set(name, value) for name in ("CUDA_HOME", "CUDACXX")]
        # An entry of a search path has no colon of its own.
        lines += [shell.set("LD_LIBRARY_PATH", value), f"snap was{number}"]
        lines += [on, f"snap on{number}", off, f"snap off{number}"]
    result = run_shell(shell, "\n".join(lines), person.home.env, cwd=folder).check()
    assert sorted(folder.iterdir()) == before
    ours = ":".join(person.kits[0].lib)
    for number, value in enumerate(values):
        was, now = result.snaps[f"was{number}"], result.snaps[f"off{number}"]
        assert was["CUDA_HOME"] == was["LD_LIBRARY_PATH"] == value
        assert foreign(now) == foreign(was), repr(value)
        libraries = result.snaps[f"on{number}"]["LD_LIBRARY_PATH"]
        assert libraries == (f"{ours}:{value}" if value else ours)
