"""Fixtures for all tests: a fresh home, hostile directory names, the session's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import builders
import tools
from builders import cache
from doctoring import Patient
from homes import HOSTILE_FOLDER, Home, make_home
from made_environments import Env
from shim_places import Place, made_place

# On a loaded machine everything is slow; in CI, all else is as in Hypothesis's own CI profile.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

MARKERS = {
    "network": "needs a package index",
    "toolkit": "needs a real CUDA 13 toolkit: from this machine, or fetched from a package index",
    "slow": "takes more than a few seconds",
}

_OWN_CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # Under 002, which some distributions give their users, every folder would be a group's.
    os.umask(0o022)
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    # Workers of pytest-xdist inherit the variable, so all of them share one cache.
    if cache.VARIABLE not in os.environ:
        os.environ[cache.VARIABLE] = tempfile.mkdtemp(prefix="builders-")
        config.stash[_OWN_CACHE] = os.environ[cache.VARIABLE]


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(_OWN_CACHE, None):
        shutil.rmtree(folder, ignore_errors=True)
        del os.environ[cache.VARIABLE]


@pytest.fixture(autouse=True)
def _out_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that pins the working directory must not pin the project's checkout.

    And packages that somebody has in `~/.local` must not appear in the tests' environments.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "no user base"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two packages and a home that has them installed, to be copied.

    A copy takes a fifth of the time that installing them does.
    """
    folder = tmp_path_factory.mktemp("stock")
    files = folder / "files"
    done = make_home(folder).run(
        "install", builders.cudatoolkit_10_1(files), builders.cudnn_7_6_5(files)
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def pair(stock: Path, tmp_path: Path) -> list[Path]:
    """cudatoolkit 10.1.243 and cuDNN 7.6.5 for it, as conda packages."""
    shutil.copytree(stock / "files", tmp_path / "files")
    return sorted((tmp_path / "files").iterdir())


@pytest.fixture
def stocked(home: Home, pair: list[Path], stock: Path) -> Home:
    """A home with both packages installed: 10.1.243, bare and with cuDNN 7.6.5."""
    assert pair[0].parent == home.path.parent / "files"
    for part in (home.store, home.path):  # cp keeps hard links
        subprocess.run(["cp", "-a", f"{stock / part.name}/.", part], check=True)
    there, here = os.fsencode(stock), os.fsencode(home.path.parent)
    for file in home.store.rglob("*"):
        if file.is_file() and not file.is_symlink() and there in (text := file.read_bytes()):
            file.write_bytes(text.replace(there, here))
    return home


@pytest.fixture
def env(tmp_path: Path) -> Env:
    """An environment without packages, to write some into."""
    return Env(tmp_path / "an env")


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A stocked home that all tests of a module share, and must not change."""
    folder = tmp_path_factory.mktemp("lent")
    home = make_home(folder)
    done = home.run("install", builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder))
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def hostile_home(hostile_folder: Path) -> Home:
    """A home, and so a store, whose path has every awkward character that a toolkit may have."""
    return make_home(hostile_folder)


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    folder = tmp_path / HOSTILE_FOLDER
    folder.mkdir()
    return folder


@pytest.fixture
def require() -> Callable[[str], str]:
    """The function that finds a tool or skips (at home) or fails (in CI)."""
    return tools.require


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient.new(tmp_path)


@pytest.fixture
def place(hostile_home: Home, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The shims of a store with awkward names; their `cudaswitch` notes that it was asked."""
    return made_place(hostile_home, monkeypatch)
