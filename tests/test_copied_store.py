"""Hooks where there are two stores that know of them: a store, and a copy of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from checks import snapshot, succeeded
from cudaswitch.environments import environment_at
from homes import Home
from shells.conda import conda_prefix
from stock import BARE, FULL


@pytest.fixture
def prefix(stocked: Home, tmp_path: Path) -> Path:
    """A pinned environment, from before the store was copied."""
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    return prefix


@pytest.fixture
def copy(stocked: Home, prefix: Path) -> dict[str, str]:
    """The variable that names the copy."""
    copy = stocked.path.parent / "copy"
    subprocess.run(["cp", "-a", stocked.store, copy], check=True)
    return {"CUDASWITCH_HOME": str(copy)}


@pytest.mark.parametrize(
    "words", [["verify", "--repair"], ["alias", "lab", "10.1"], ["remove", BARE]]
)
def test_hooks_are_left_to_the_store_that_they_lead_to(
    stocked: Home, prefix: Path, copy: dict[str, str], words: list[str]
) -> None:
    before = snapshot(prefix)
    succeeded(stocked.run(*words, **copy))
    assert snapshot(prefix) == before
    # Where somebody pins it, it belongs from then on.
    succeeded(stocked.run("pin", "10.1", "-p", prefix, **copy))
    before = snapshot(prefix)
    succeeded(stocked.run(*words))
    assert snapshot(prefix) == before


@pytest.mark.parametrize("gone", ["", f"toolkits/{FULL}"])
def test_hooks_that_lead_nowhere_are_taken_over(
    stocked: Home, prefix: Path, copy: dict[str, str], gone: str
) -> None:
    """After the copy has taken the place of the store, say, its next change corrects the hooks."""
    shutil.rmtree(stocked.store / gone)
    succeeded(stocked.run("verify", "--repair", **copy))
    want = environment_at(str(prefix)).want_kept()
    assert want and want.home == f"{copy['CUDASWITCH_HOME']}/toolkits/{FULL}"
