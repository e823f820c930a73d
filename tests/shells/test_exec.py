"""A child that `exec` starts is what a shell would be after `use`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells.driver import BASH, ZSH, Shell
from shells.kits import STATE, Person, foreign, read_env

bash_and_zsh = pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)


@bash_and_zsh
@pytest.mark.parametrize("libraries", [None, "", "/own:", "/x::/y"], ids=repr)
def test_as_after_use(shell: Shell, person: Person, tmp_path: Path, libraries: str | None) -> None:
    kit = person.kits[0]
    own = {"LD_LIBRARY_PATH": libraries, "CUDA_HOME": "/own"}
    path = f"{kit.bin}:{person.home.env['PATH']}"
    first, steps = person.use(shell, "12.4"), [person.use(shell, "10.1")]
    steps.append(f"cudaswitch exec 10.1 -- env -0 >{tmp_path}/before")
    steps = [steps[1], first, steps[1].replace("before", "after"), steps[0]]
    result = person.play(shell, *steps, PATH=path, **own).check()
    used = result.snaps["4"]
    for name in ("before", "after"):
        started = read_env(tmp_path / name)
        for env in (started, used):
            for shells_own in ("SHLVL", "_", f"{STATE}PREVIOUS"):
                env.pop(shells_own, None)
        assert started == used


@bash_and_zsh
def test_its_shell_can_undo(shell: Shell, person: Person, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"{person.load(shell)}\ncudaswitch off\nenv -0 >{tmp_path}/env\n")
    call = [shell.name, *shell.options, str(script)]
    child = f"cudaswitch exec 10.1 -- {' '.join(map(shell.quote, call))}"
    result = person.play(shell, child, LD_LIBRARY_PATH="/own:", CUDA_PATH="/own").check()
    seen, before = read_env(tmp_path / "env"), result.snaps["0"]
    for env in (seen, before):
        for shells_own in ("SHLVL", "_"):
            env.pop(shells_own, None)
    assert foreign(seen) == foreign(before)
