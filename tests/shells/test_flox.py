"""flox saves PATH for an environment, and records what it saves in _FLOX_HOOK_DIFF."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells.driver import BASH, FISH, ZSH, Shell
from shells.kits import Person
from shells.terminal import Open, cd, seen

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
FLOX = {
    False: (
        'flox_was=$PATH; export _FLOX_HOOK_DIFF=1 PATH="/flox/bin:$PATH"',
        'export PATH="$flox_was"; unset _FLOX_HOOK_DIFF',
    ),
    True: (
        "set -g flox_was $PATH; set -gx _FLOX_HOOK_DIFF 1; set -gx PATH /flox/bin $PATH",
        "set -gx PATH $flox_was; set -e _FLOX_HOOK_DIFF",
    ),
}


@every_shell
def test_it_brings_back_the_path_that_it_has_found(
    shell: Shell, tmp_path: Path, at_prompt: Open, person: Person
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".cuda-version").write_text("11.8\n")
    activate, deactivate = FLOX[shell is FISH]
    terminal = at_prompt(shell)
    before = seen(terminal)["PATH"]
    cd(terminal, tmp_path / "tree")
    terminal.say(activate)
    cd(terminal, tmp_path)
    terminal.say(deactivate)
    assert seen(terminal)["PATH"] == before
    terminal.say(activate)
    cd(terminal, tmp_path / "tree")
    terminal.say(deactivate)
    assert seen(terminal)["PATH"] == f"{person.kits[1].bin}:{before}"


@every_shell
@pytest.mark.parametrize("between", ["\n", "; "], ids=["lines", "line"])
def test_what_was_chosen_inside_stays(
    shell: Shell, between: str, at_prompt: Open, person: Person
) -> None:
    """A toolkit chosen inside stays, even if the integration is not parsed before that."""
    activate, deactivate = FLOX[shell is FISH]
    terminal = at_prompt(shell)
    before = seen(terminal)["PATH"]
    terminal.say(activate)
    for line in f"cudaswitch use 11.8{between}{deactivate}".split("\n"):
        terminal.say(line)
    assert seen(terminal)["PATH"] == f"{person.kits[1].bin}:{before}"
