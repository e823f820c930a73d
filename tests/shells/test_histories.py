"""Thousands of random histories, compared with a model after every single event.

CUDASWITCH_HISTORIES sets how many (default 600, times a shell's share); each has its own seed, so
that a failure can be reproduced, and is shown as short as it can be made.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import pytest

from homes import HOSTILE_FOLDER
from shells.conda import conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, SHELLS, ZSH, Shell
from shells.histories import Evening, Stage, act, draw, play, shrunk, world
from shells.kits import Kit
from shells.world import Place

COUNT = int(os.environ.get("CUDASWITCH_HISTORIES", "600"))
SHARES = {"bash": 1.5, "zsh": 1.5, "dash": 0.3, "fish": 0.5, "tcsh": 0.03}
"""dash reads bash's text. fish takes five times as long per history, and tcsh fifty times."""
BATCH = 100
CONDA = {"a": "10.1", "b": None, "c": "11.8", "d": "10.1", "s": "system"}
VENVS = {"v": "11.8", "w": None, "x": "12.4", "y": None}
BUNDLED = "dx"
XLA = "cdw"
"""Environments with a framework that looks for libdevice outside of them."""
DIRECTORIES = {"nowhere": None, "one": "10.1", "one/sub": "10.1", "three": "12.4"}


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Stage]:
    """Return a function from the name of an account's folder to its stage, made on first use."""
    return cache(partial(_stage, tmp_path_factory))


@pytest.fixture
def stage(stages: Callable[[str], Stage]) -> Stage:
    return stages(HOSTILE_FOLDER)


def _stage(tmp_path_factory: pytest.TempPathFactory, home: str) -> Stage:
    place = tmp_path_factory.mktemp("compilers")
    person = make_person(place / home, compilers=place)
    # `use` takes the short way from the first kit to this one and back.
    another = Kit(place / home / "toolkits" / "cuda-12.6", "12.6.3", ("lib64",)).build()
    path = f"{place}:{person.home.env['PATH']}"
    assert person.home.run("adopt", str(another.home), PATH=path).returncode == 0
    person = replace(person, kits=(*person.kits, another))
    folder = tmp_path_factory.mktemp("histories") / "a b&(c)[d]"
    kits = {None: None, "system": None} | {
        kit.version.rpartition(".")[0]: kit for kit in person.kits
    }
    places: dict[str, Place] = {}
    for name, pin in (CONDA | VENVS).items():
        prefix = folder / name
        if name in CONDA:
            conda_prefix(prefix)
        else:
            command = [sys.executable, "-m", "venv", "--without-pip", str(prefix)]
            subprocess.run(command, check=True)
        if name in BUNDLED:
            (prefix / "lib/python3.11/site-packages/nvidia/cublas/lib").mkdir(parents=True)
        if name in XLA:
            (prefix / "lib/python3.11/site-packages/tensorflow").mkdir(parents=True, exist_ok=True)
        if pin:
            person.pin(pin, prefix)
        flags = (name in BUNDLED, name in XLA)
        places[name] = Place(str(prefix), bool(pin), kits[pin], *flags)
    for name, request in DIRECTORIES.items():
        (folder / name).mkdir()
        if request and "/" not in name:
            (folder / name / ".cuda-version").write_text(f"{request}\n")
    texts = {}
    for number, request in enumerate(["system", *(kit.version for kit in person.kits)]):
        for shell, name in (("sh", "sh"), ("fish", "fish"), ("csh", "tcsh")):
            key = f"{number or 'system'}.{shell}"
            texts[key] = folder / f"use-{key}"
            texts[key].write_text(person.home.run("env", request, "--shell", name).stdout)
    return Stage(
        person,
        folder,
        {name: places[name] for name in CONDA},
        {name: places[name] for name in VENVS},
        {name: kits[request] for name, request in DIRECTORIES.items()},
        texts,
    )


TO, BACK = ("use", "4"), ("use", "1")
BETWEEN: dict[str, tuple[tuple[str, ...], ...]] = {
    "child": (BACK, TO, ("child",), ("off",)),
    "edited": (BACK, TO, ("append", "PATH", "/own"), ("off",)),
    "dropped": (BACK, TO, ("drop", "PATH"), ("drop", "LD_LIBRARY_PATH"), ("off",)),
    "twice": (BACK, TO, BACK, ("prepend", "LD_LIBRARY_PATH", "/own/lib"), TO, ("use_previous",)),
    "virtualenv": (BACK, ("venv_activate", "y"), TO, BACK, ("venv_deactivate",), ("off",)),
    "virtualenv later": (BACK, TO, ("venv_activate", "y"), BACK, ("venv_deactivate",), ("off",)),
    "bundled": (BACK, ("activate", "d"), TO, BACK, ("deactivate",), ("off",)),
    "framework": (BACK, ("activate", "c"), TO, BACK, ("deactivate",), ("off",)),
    "conda": (("activate", "a"), TO, BACK, ("activate", "b"), TO, ("deactivate",), ("off",)),
    "directory": (("cd", "one"), TO, BACK, ("off",), ("cd", "nowhere")),
    "another directory": (
        *(("cd", "three"), ("stack", "b"), ("cd", "one/sub"), ("value", "CUDA_HOME"), ("prompt",)),
    ),
    "options": (BACK, ("use", "2"), TO, ("use", "3"), TO, ("use", "system"), BACK, ("off",)),
    "gone": (BACK, ("activate", "a"), ("reactivate",), TO, BACK, ("deactivate",), ("off",)),
    "values": (
        BACK,
        ("value", "CUDA_HOME", "/mine"),
        TO,
        BACK,
        ("value", "CUDA_HOME"),
        TO,
        ("off",),
    ),
}
"""Events before, between and after switches from one toolkit to another."""


@pytest.mark.parametrize("events", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=str)
def test_one_toolkit_for_another(
    stage: Stage, shell: Shell, events: tuple[tuple[str, ...], ...]
) -> None:
    one, four = stage.person.kits[0], stage.person.kits[3]
    own = ("/usr/bin", "/bin")
    paths = [own, (*own, four.bin), (one.bin, *own, one.bin)]
    libraries = [None, ("/own/lib", four.lib[0]), ("/own/lib", *one.lib, "/own/lib")]
    # Of equal entries the first one goes, which is ours.
    drops = {"PATH": four.bin, "LD_LIBRARY_PATH": four.lib[0]}
    events = tuple((*e, drops[e[1]]) if e[0] == "drop" else e for e in events)
    evenings = [Evening(True, path, ld, (), events) for path in paths for ld in libraries]
    for evening, fault in zip(evenings, play(stage, shell, evenings), strict=True):
        assert fault is None, f"{evening.path} {evening.ld}\n{fault}"


@pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=str)
def test_a_hook_lets_the_next_prompt_look(stage: Stage, shell: Shell) -> None:
    """After a hook has run, the next prompt looks at everything, not only at the directory."""
    choice = (("venv_activate", "v"), ("use", "3"), ("venv_deactivate",))
    events = (*choice, ("value", "CUDA_HOME"), ("prompt",))
    [fault] = play(stage, shell, [Evening(True, ("/usr/bin", "/bin"), None, (), events)])
    assert fault is None


@pytest.mark.parametrize("shell", SHELLS, ids=str)
def test_what_stands_below_goes_by_what_is_active(stage: Stage, shell: Shell) -> None:
    """A pin below is applied again for the environment then active, here one without framework."""
    events = (("stack", "c"), ("stack", "b"), ("activate", "s"), ("deactivate",))
    [fault] = play(stage, shell, [Evening(False, ("/usr/bin", "/bin"), None, (), events)])
    assert fault is None


ROUNDS = [
    (shell, range(first, min(first + BATCH, count)))
    for shell in SHELLS
    for count in [round(COUNT * SHARES[shell.name])]
    for first in range(0, count, BATCH)
]


@pytest.mark.parametrize(
    ("shell", "numbers"), ROUNDS, ids=[f"{shell}-{some.start}" for shell, some in ROUNDS]
)
def test_every_variable_is_what_it_must_be(
    stages: Callable[[str], Stage], shell: Shell, numbers: range
) -> None:
    """Random histories match the model. A blank keeps XLA_FLAGS off short ways: half have none."""
    stage = stages("plain" if numbers.start % (2 * BATCH) else HOSTILE_FOLDER)
    seeds = [f"{shell.name} {number}" for number in numbers]
    evenings = [draw(stage, shell, random.Random(seed)) for seed in seeds]
    faults = play(stage, shell, evenings)
    for seed, evening, fault in zip(seeds, evenings, faults, strict=True):
        if fault is None:
            continue

        def fails(one: Evening) -> bool:
            return play(stage, shell, [one])[0] is not None

        least = shrunk(evening, fails) if fails(evening) else evening
        told = f"seed `{seed}`: {least}\n{play(stage, shell, [least])[0] or fault}"
        for folder in (stage.person.home.path.parent, stage.folder):
            told = told.replace(f"{folder}/", "")
        pytest.fail(told, pytrace=False)


def test_the_model_leaves_nothing_behind(stage: Stage) -> None:
    """In the end the model's world is as if cudaswitch had not been there."""
    compared = 0
    for number in range(500):
        evening = draw(stage, SHELLS[0], random.Random(f"model {number}"))
        own = {kit.bin for kit in stage.person.kits} | {
            lib for k in stage.person.kits for lib in k.lib
        }
        named = {*evening.path, *(evening.ld or ()), *(word for e in evening.events for word in e)}
        own |= {word for k in stage.person.kits for word in (k.data_dir, str(k.compiler))}
        if any(one in word for one in own for word in named):
            continue  # of equal entries, any one may be the person's
        compared += 1
        real, heedless = (world(stage, SHELLS[0], evening, heedless=h) for h in (False, True))
        for event in evening.events:
            act(stage, real, event)
            act(stage, heedless, event)
        assert (real.path, real.scalars) == (heedless.path, heedless.scalars), evening
        assert (real.ld or None) == (heedless.ld or None), evening
    assert compared > 90, "most evenings name what may be either's"
