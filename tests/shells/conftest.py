"""Fixtures for tests in real shells: toolkits in a store, all under an awkward path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from homes import HOSTILE_FOLDER, Home, make_home
from shells.conda import Conda, RealConda, conda_prefix
from shells.driver import TCSH, Shell
from shells.kits import Person, kits_in
from shells.pinned import Session, pinned_environments
from shells.terminal import Open, Terminal
from tools import executable

INTEGRATED = ("bash", "zsh", "fish", "tcsh", "xonsh", "nu")


@pytest.fixture(scope="session")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A user with three toolkits. Shared: tests may pin their own environments, no more."""
    return make_person(tmp_path_factory.mktemp("person") / HOSTILE_FOLDER)


def make_person(
    folder: Path, integrated: tuple[str, ...] = INTEGRATED, compilers: Path | None = None
) -> Person:
    """Make a user; the gcc in the folder `compilers` is refused by the second toolkit's nvcc."""
    home = make_home(folder)
    # Without this folder, fish reads all manual pages in the background, for a minute or longer.
    (Path(home.env["XDG_DATA_HOME"]) / "fish" / "generated_completions").mkdir(parents=True)
    kits = kits_in(folder / "toolkits")
    path = home.env["PATH"]
    if compilers:
        for name, major in (("gcc", 13), ("g++-11", 11), ("g++-13", 13)):
            executable(compilers / name, f"#!/bin/sh\necho {major}\n")
        kits = (kits[0], replace(kits[1], compiler=compilers / "g++-11"), kits[2])
        path = f"{compilers}:{path}"
    for kit in kits:
        done = home.run("adopt", str(kit.build().home), PATH=path)
        assert done.returncode == 0, done.stderr
    return Person(home, kits, {shell: ready_file(home, shell) for shell in integrated})


def ready_file(home: Home, shell: str) -> Path:
    """Write the file that a startup file would load, without a line in the user's own."""
    elsewhere = str(home.path.with_name("elsewhere"))
    variables = {"HOME": elsewhere, "ZDOTDIR": elsewhere, "XDG_CONFIG_HOME": elsewhere}
    done = home.run("init", "--install", shell, "--yes", **variables)
    assert done.returncode == 0, done.stderr
    (file,) = (home.store / "init").glob(f"{shell}*")
    return file


@pytest.fixture(scope="session")
def pinned_folder(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pinned_environments(person, tmp_path_factory.mktemp("conda") / "my envs [x]~")


@pytest.fixture(scope="session")
def plain_folder(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pinned_environments(person, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def made_once(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make pinned environments for all tests of a module: a pin takes longer than a history.

    `variables` are what `conda env config vars set` has set in some of them, pinned or not;
    `pins` are the arguments of `pin` for those that are pinned after that.
    """
    made: dict[str, Path] = {}

    def folder(variables: dict[str, dict[str, str]], **pins: tuple[str, ...]) -> Path:
        key = json.dumps([variables, pins])
        if key not in made:
            made[key] = pinned_environments(person, tmp_path_factory.mktemp("once"))
            for name, values in variables.items():
                for at in (made[key], made[key] / "bare"):
                    state = conda_prefix(at / name) / "conda-meta" / "state"
                    state.write_text(json.dumps({"env_vars": values}))
            for name, (request, *options) in pins.items():
                person.pin(request, made[key] / name, *options)
        return made[key]

    return folder


@pytest.fixture
def session(
    person: Person, pinned_folder: Path, plain_folder: Path, shell: Shell, conda: Conda
) -> Session:
    """A shell among pinned environments, for tests that name `shell` and `conda`."""
    # conda's own alias for tcsh expands everything after the first word again.
    plain = shell is TCSH and isinstance(conda, RealConda)
    return Session(person, plain_folder if plain else pinned_folder, shell, conda)


@pytest.fixture
def at_prompt(person: Person, tmp_path: Path) -> Iterator[Open]:
    """Open a shell; the text `before` comes before our line in its rc file."""
    opened: list[Terminal] = []

    def start(shell: Shell, before: str = "") -> Terminal:
        opened.append(Terminal(shell, person, tmp_path, before))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree (x) é"
    (folder / "inner").mkdir(parents=True)
    (folder / ".cuda-version").write_text("10.1\n")
    (folder / "inner" / ".cuda-version").write_text("11.8\n")
    return folder
