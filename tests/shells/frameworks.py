"""Environments whose frameworks need a toolkit, and how often the program is asked which."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from made_environments import Env
from shells.driver import Shell
from shells.kits import Person
from tools import executable

NEW = ("cupy-cuda11x", "11.0.0")
"""A framework for CUDA 11, while OLD is for 10.1; neither brings its own CUDA."""
OLD = ("cupy-cuda101", "7.8.0")


def spied(person: Person, shell: Shell, folder: Path) -> Person:
    """Put a program in front of the command that the integration asks; it logs calls in `count`."""
    init = folder / "init"
    program = str(person.home.run("--version").args[0])
    counting = f'#!/bin/sh\necho "$@" >>{folder}/count\nexec {program} "$@"\n'
    spy = executable(folder / "program", counting)
    text = person.init[shell.name].read_text()
    assert text.count(program) == 1
    init.write_text(text.replace(program, str(spy)))
    return replace(person, init={shell.name: init})


def calls(folder: Path) -> int:
    count = folder / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


def entered(shell: Shell, env: Env, variable: str = "VIRTUAL_ENV") -> str:
    path = shell.prepend("PATH", str(env.prefix / "bin"))
    return f"{shell.set(variable, str(env.prefix))}\n{path}\n{shell.prompt}"


def left(shell: Shell, variable: str = "VIRTUAL_ENV") -> str:
    return f"{shell.unset(variable)}\n{shell.prompt}"


def later(env: Env, *dist: str) -> str:
    """Return a line for a shell that puts another framework in the place of OLD."""
    made = env.dist(*dist).parent
    away = env.prefix.parent / made.name
    shutil.rmtree(away, ignore_errors=True)
    made.rename(away)
    site = env.prefix / env.site
    old = site / f"{OLD[0].replace('-', '_')}-{OLD[1]}.dist-info"
    script = env.prefix.parent / "later.sh"
    script.write_text(f"sleep 0.02; rm -r '{old}'; mv '{away}' '{site}'\n")
    return f"sh '{script}'"
