"""Copies that scripts of an environment keep of variables, which they need not replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairs import every_pair
from shells.conda import Conda, conda_prefix, write_hook
from shells.driver import BASH, DASH, FISH, ZSH, Shell
from shells.kits import Person, foreign
from shells.package_scripts import KEEPS_IN_ANY_CASE, KEEPS_WHAT_IS_SET
from shells.pinned import Session
from shells.quick_conda import CONDAS

every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)
every = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, DASH), ids=str)


@every_conda
@every
@pytest.mark.parametrize("had", [None, "/own"], ids=["unset", "own"])
@pytest.mark.parametrize("when", ["use a off out", "use a other out off", "a +b out out"])
def test_a_copy_made_in_any_case(
    shell: Shell, conda: Conda, had: str | None, when: str, person: Person, tmp_path: Path
) -> None:
    for name in "ab":
        conda_prefix(tmp_path / name)
    for half, text in KEEPS_IN_ANY_CASE[shell.suffix].items():
        write_hook(tmp_path / "a", half, f"env-vars.{shell.suffix}", text)
    if "use" not in when:
        person.pin("11.8", tmp_path / "a")
    session = Session(person, tmp_path, shell, conda)
    said = {"use": person.use(shell, "10.1"), "other": person.use(shell, "11.8")}
    said["off"] = person.off(shell)
    steps = [said.get(word) or session.steps(word)[0] for word in when.split()]
    if shell is not DASH:
        steps = [f"{step}\n{shell.prompt}" for step in steps]
    own = {"CUDA_HOME": had, "LD_LIBRARY_PATH": had}
    # dash has to find the program.
    path = f"{conda.base_path}:{person.home.env['PATH']}"
    result = session.play(*steps, load=True, PATH=path, **own).check()
    first, last = (foreign(result.snaps[at]) for at in ("1", str(len(steps) + 1)))
    for name in ("CUDA_HOME", "CUDA_PATH", "PATH"):
        assert last.get(name) == first.get(name), name


@every_pair(
    {
        "conda": CONDAS,
        "shell": (BASH, ZSH, FISH, DASH),
        "loaded": [True, False],
        "had": [None, "/own"],
        "way": ["d out a +d out out", "a +d b +d out out out out"],
    }
)
def test_a_copy_made_after_another_environment_was_left(
    shell: Shell,
    conda: Conda,
    way: str,
    had: str | None,
    loaded: bool,
    person: Person,
    tmp_path: Path,
) -> None:
    """A script keeps the toolkit that is applied, not what an earlier environment has restored."""
    for name in "abd":
        conda_prefix(tmp_path / name)
    for half, text in zip(("activate", "deactivate"), KEEPS_WHAT_IS_SET[shell.suffix], strict=True):
        write_hook(tmp_path / "d", half, f"own.{shell.suffix}", text)
    for name in "ad":
        person.pin("10.1", tmp_path / name)
    session = Session(person, tmp_path, shell, conda)
    own = {"CUDA_HOME": had, "LD_LIBRARY_PATH": had}
    result = session.play(*session.steps(way), load=loaded, **own).check()
    first, last = (foreign(result.snaps[at]) for at in ("1", str(len(way.split()) + 1)))
    for name in ("CUDA_HOME", "LD_LIBRARY_PATH", "PATH"):
        assert last.get(name) == first.get(name), name
