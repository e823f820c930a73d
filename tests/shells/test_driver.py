"""The driver reports what a shell exports, byte for byte."""

from __future__ import annotations

import pytest

from homes import HOSTILE_NAME, Home
from shells.driver import SHELLS, Shell, run_shell

every = pytest.mark.parametrize("shell", SHELLS, ids=str)


@every
def test_values_come_through_unchanged(shell: Shell, home: Home) -> None:
    values = {"QUOTED": HOSTILE_NAME, "EMPTY": "", "BYTES": "\udcff\udc80", "LINES": "a\nb "}
    result = run_shell(shell, "snap here", home.env | values).check()
    assert values.items() <= result.snaps["here"].items()


@every
def test_set_values_are_quoted(shell: Shell, home: Home) -> None:
    script = f"{shell.set('QUOTED', HOSTILE_NAME + '! ~ * #')}\nsnap here"
    result = run_shell(shell, script, home.env).check()
    assert result.snaps["here"]["QUOTED"] == HOSTILE_NAME + "! ~ * #"


@every
def test_a_snap_needs_no_path_and_changes_are_listed(shell: Shell, home: Home) -> None:
    script = f"snap a\n{shell.unset('LC_ALL')}\n{shell.set('PATH', '/none')}\nsnap b"
    result = run_shell(shell, script, home.env | {"PATH": "/some"}).check()
    changes = result.changes("a", "b")
    assert changes == {"LC_ALL": ("C.UTF-8", None), "PATH": ("/some", "/none")}


@every
def test_search_paths_grow_at_both_ends(shell: Shell, home: Home) -> None:
    edits = [shell.prepend("PATH", "/first one"), shell.append("PATH", "/last")]
    result = run_shell(shell, "\n".join([*edits, "snap here"]), home.env | {"PATH": "/a:/b"})
    assert result.check().snaps["here"]["PATH"] == "/first one:/a:/b:/last"


@every
def test_a_snap_keeps_the_exit_status(shell: Shell, home: Home) -> None:
    status = "$status" if shell.suffix == "fish" else "$?"
    result = run_shell(shell, f"false\nsnap here\nexit {status}", home.env)
    assert (result.rc, result.stdout, result.stderr) == (1, "", "")
