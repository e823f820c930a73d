"""`init --install` and `--remove` at the same time leave the line and its file, or neither."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from cudaswitch.marked import OPENING
from homes import Home
from startup_files import install, remove
from tools import console_script

ROUNDS = 3
CHANGED = "was changed in the meantime"


def at_once(home: Home, *options: str) -> list[tuple[int, str]]:
    """Run `init` with each option at the same time; return how each ended, and what it said."""
    started = [
        subprocess.Popen(
            [console_script(), "init", option, "bash", "--yes"],
            env=home.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for option in options
    ]  # fmt: skip
    said = [process.communicate()[1] for process in started]
    return list(zip([process.returncode for process in started], said, strict=True))


def parts(home: Home) -> tuple[bool, bool]:
    """Tell whether the line is there, and whether the file that it loads is."""
    startup_file = home.path / ".bashrc"
    text = startup_file.read_bytes() if startup_file.exists() else b""
    return OPENING in text, (home.store / "init" / "bash").is_file()


@contextmanager
def asking(home: Home, option: str) -> Iterator[pexpect.spawn]:
    """Start an `init`, and yield it once it waits for an answer."""
    with pexpect.spawn(
        str(console_script()), ["init", option, "bash"], env=home.env, timeout=60
    ) as child:
        child.expect_exact("Write this change? [Y/n]")
        yield child


def ended(child: pexpect.spawn) -> tuple[int, str]:
    child.sendline("y")
    child.expect(pexpect.EOF)
    said = child.before.decode()
    child.close()
    assert child.exitstatus is not None
    return child.exitstatus, said


@pytest.mark.parametrize("text", [None, "alias ll='ls -l'\n"])
def test_two_equal_requests_both_end_well(home: Home, text: str | None) -> None:
    path = home.path / ".bashrc"
    for _ in range(ROUNDS):
        if text is not None:
            path.write_text(text)
        ends = at_once(home, "--install", "--install")
        assert [code for code, _ in ends] == [0, 0], ends
        assert parts(home) == (True, True)
        assert path.read_bytes().count(OPENING) == 1
        ends = at_once(home, "--remove", "--remove")
        assert [code for code, _ in ends] == [0, 0], ends
        assert parts(home) == (False, False)
        assert (path.read_text() if path.exists() else None) == text


@pytest.mark.parametrize("before", ["install", "remove"])
def test_of_two_unlike_ones_there_is_all_or_nothing(home: Home, before: str) -> None:
    (home.path / ".bashrc").write_text("x=1\n")
    for _ in range(ROUNDS):
        (install if before == "install" else remove)(home, "bash")
        ends = at_once(home, "--install", "--remove")
        assert parts(home) in {(True, True), (False, False)}, ends
        assert all(code == 0 or CHANGED in said for code, said in ends), ends
        assert (home.path / ".bashrc").read_text().startswith("x=1\n")


def test_nobody_waits_for_one_that_asks(home: Home) -> None:
    """Nobody waits for an `init` that asks; its change may be there when it has its answer."""
    with asking(home, "--install") as child:
        install(home, "bash")
        code, said = ended(child)
    assert (code, CHANGED in said) == (0, False), said
    assert parts(home) == (True, True)
    with asking(home, "--remove") as child:
        remove(home, "bash")
        code, said = ended(child)
    assert (code, CHANGED in said) == (0, False), said
    assert parts(home) == (False, False)


def test_an_edit_while_it_asks_is_not_lost(home: Home) -> None:
    path = home.path / ".bashrc"
    path.write_text("x=1\n")
    with asking(home, "--install") as child:
        path.write_text("x=2\n")
        code, said = ended(child)
    assert (code, CHANGED in said) == (1, True), said
    assert path.read_text() == "x=2\n"
    assert parts(home) == (False, False)


def test_an_edit_behind_the_line_of_another_takes_nothing_from_it(home: Home) -> None:
    path: Path = home.path / ".bashrc"
    with asking(home, "--install") as child:
        install(home, "bash")
        with path.open("a") as file:
            file.write("x=1\n")
        text = path.read_text()
        code, said = ended(child)
    assert code == 0, said
    assert path.read_text() == text
    assert parts(home) == (True, True)


def test_what_was_there_already_is_gone_when_it_writes(home: Home) -> None:
    """An `init` that has shown no change makes none, even if the line goes before it writes."""
    install(home, "bash")
    for _ in range(ROUNDS):
        install(home, "bash")
        said = at_once(home, "--install", "--remove", "--install")
        assert all(code == 0 or CHANGED in told for code, told in said), said
        assert parts(home) in {(True, True), (False, False)}
