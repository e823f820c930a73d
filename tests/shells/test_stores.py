"""CUDASWITCH_HOME in a shell: the store that it names answers there, as it does for the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks import succeeded
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.kits import Person, kits_in
from shells.moving import ask_instead, cd, homes
from tools import executable

every = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with another store, two trees that ask for 10.1, and `none`."""
    folder = tmp_path_factory.mktemp("other (x) é")
    for name in ("one", "two", "none"):
        (folder / name / "below").mkdir(parents=True)
        if name != "none":
            (folder / name / ".cuda-version").write_text("10.1\n")
    return folder


@pytest.fixture(scope="module")
def visitor(person: Person, folder: Path) -> Person:
    """The person, with the one toolkit of the other store, which is pinned globally there."""
    kit = kits_in(folder)[0].build()
    for words in (("adopt", str(kit.home)), ("pin", "10.1", "--global")):
        succeeded(person.home.run(*words, CUDASWITCH_HOME=str(folder / "store")))
    return replace(person, kits=(*person.kits, kit))


@every
def test_another_store_is_named_in_an_open_shell(
    shell: Shell, visitor: Person, folder: Path
) -> None:
    other = shell.set("CUDASWITCH_HOME", str(folder / "store"))
    steps = [
        "cudaswitch use 10.1",
        f"{other}\ncudaswitch use 10.1",
        "cudaswitch off",
        cd(shell, folder / "one"),
        f"{shell.unset('CUDASWITCH_HOME')}\n{cd(shell, folder / 'two')}",
        cd(shell, folder / "none"),
        f"{other}\n{cd(shell, folder)}",
    ]
    assert homes(visitor, visitor.play(shell, *steps).check()) == "-14441-4"


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_it_is_named_where_all_is_exported(shell: Shell, visitor: Person, folder: Path) -> None:
    """Under `set -a`, what the shell remembers of the other store is not exported."""
    other = shell.set("CUDASWITCH_HOME", str(folder / "store"))
    result = visitor.play(shell, f"set -a\n{other}\ncudaswitch use 10.1").check()
    assert homes(visitor, result) == "-4"
    assert [name for name in result.snaps["1"] if name.startswith("_cudaswitch")] == []


@every
def test_it_is_named_where_the_shell_starts(shell: Shell, visitor: Person, folder: Path) -> None:
    steps = [cd(shell, folder / "one"), "cudaswitch use 10.1"]
    result = visitor.play(shell, *steps, CUDASWITCH_HOME=str(folder / "store"))
    assert homes(visitor, result.check()) == "444"


@every
def test_what_the_variables_ask_for_is_in_it(shell: Shell, visitor: Person, folder: Path) -> None:
    other = shell.set("CUDASWITCH_HOME", str(folder / "store"))
    steps = [f"{other}\n{cd(shell, folder / name)}" for name in ("one", "none")]
    result = visitor.play(shell, *steps, CUDASWITCH_VERSION="10.1")
    assert homes(visitor, result.check()) == "144"


@every
@pytest.mark.parametrize("name", ["~/store", "store"])
def test_it_is_named_in_other_ways(shell: Shell, name: str, visitor: Person, folder: Path) -> None:
    """A path below `~` or the working directory names the same store as its full path."""
    steps = [f"{cd(shell, folder)}\n{shell.set('CUDASWITCH_HOME', name)}\ncudaswitch use 10.1"]
    assert homes(visitor, visitor.play(shell, *steps, HOME=str(folder)).check()) == "-4"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, NU), ids=str)
def test_below_the_home_folder_nobody_is_asked(
    shell: Shell, visitor: Person, folder: Path, tmp_path: Path
) -> None:
    """The shell itself knows what `~/store` is, and finds the ready answers there."""
    asked = tmp_path / "asked"
    program = executable(tmp_path / "program", f"#!/bin/sh\necho >{asked}\n")
    other = shell.set("CUDASWITCH_HOME", "~/store")
    steps = [f"{ask_instead(shell, program)}\n{other}\n{cd(shell, folder / 'one')}"]
    assert homes(visitor, visitor.play(shell, *steps, HOME=str(folder)).check()) == "-4"
    assert not asked.exists()


@every
def test_what_one_store_lacks_another_is_asked_for(
    shell: Shell, visitor: Person, folder: Path
) -> None:
    """A refusal is remembered for one store alone, even where neither has ready answers."""
    stores = {"one": str(folder / "empty"), "one/below": "../../store"}
    steps = [
        f"{shell.set('CUDASWITCH_HOME', store)}\n{cd(shell, folder / name)}"
        for name, store in stores.items()
    ]
    assert homes(visitor, visitor.play(shell, *steps)) == "--4"
