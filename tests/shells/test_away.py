"""A toolkit whose disk is unmounted while the store changes answers again once it is back."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import succeeded
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.kits import Kit
from shells.moving import cd


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_shells_and_python_agree(shell: Shell, tmp_path: Path) -> None:
    person = make_person(tmp_path / "account", (shell.name,))
    disk, away, tree = (tmp_path / name for name in ("disk", "not mounted", "tree"))
    older, newer = person.kits[2], Kit(disk / "cuda-12.4", "12.4.9", ("lib64",)).build()
    person.adopt(newer)
    succeeded(person.home.run("alias", "work", "12.4"))
    tree.mkdir()
    (tree / ".cuda-version").write_text("12.4\n")
    visits = [cd(shell, folder) for folder in (tree, tmp_path)]
    steps = ["cudaswitch use 12", "cudaswitch use work", "cudaswitch off", *visits]

    def agree(kit: Kit) -> None:
        asked = person.home.run("exec", "12.4", "--", "printenv", "CUDA_HOME")
        assert succeeded(asked) == [str(kit.home)]
        result = person.play(shell, *steps).check()
        found = [result.snaps[str(at)].get("CUDA_HOME") for at in (1, 2, 4)]
        assert found == [str(kit.home)] * 3

    disk.rename(away)
    person.adopt(Kit(tmp_path / "third", "11.2.152", ("lib64",)).build())
    agree(older)
    away.rename(disk)
    agree(newer)


@pytest.mark.parametrize("is_lent", [True, False])
def test_a_shared_store_answers_meanwhile(tmp_path: Path, is_lent: bool) -> None:
    """While a disk is away, a shared store answers for the toolkit there, its own or the user's."""
    person, lender = (make_person(tmp_path / name, ("bash",)) for name in ("us", "them"))
    disk, away = tmp_path / "disk", tmp_path / "not mounted"
    older, newer = (
        Kit(folder / "cuda-12.6", version, ("lib64",)).build()
        for folder, version in ((tmp_path, "12.6.1"), (disk, "12.6.9"))
    )
    lender.adopt(older)
    (lender if is_lent else person).adopt(newer)
    disk.rename(away)
    person.adopt(Kit(tmp_path / "third", "11.2.152", ("lib64",)).build())

    def found() -> str | None:
        use = "cudaswitch use 12.6"
        result = person.play(BASH, use, CUDASWITCH_STORES=str(lender.home.store)).check()
        return result.snaps["1"].get("CUDA_HOME")

    assert found() == str(older.home)
    away.rename(disk)
    assert found() == str(newer.home)
