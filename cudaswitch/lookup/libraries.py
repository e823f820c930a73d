"""Which file the loader takes for a library, for Python by itself or for a given consumer."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cudaswitch.elf import EXECUTABLE
from cudaswitch.errors import RequestError
from cudaswitch.loader import Loaded, Process
from cudaswitch.lookup import Found, Lookup, distinct, found_at, is_library, no_program
from cudaswitch.lookup.consumers import Package, World
from cudaswitch.programs import find_program


def find_library(name: str, variables: Mapping[str, str], consumer: str | None) -> Lookup:
    """List the files for a library, beginning with the one that the loader takes.

    Without `consumer`, that is what `dlopen` finds in Python: the active environment's, else the
    one on PATH. A consumer is the path of a program or library, the name of a library,
    of a package in the environment, or of a program on PATH. Raises RequestError if it is none
    of these, ElfError if its file is not an ELF file.
    """
    world = World(variables)
    answer = _of(name, world, consumer)
    return answer._replace(notes=(*answer.notes, *world.notes))


def _of(name: str, world: World, consumer: str | None) -> Lookup:
    if consumer is None:
        process, _, caller = world.interpreter()
        return _answer(name, process, caller)
    if "/" in consumer or os.path.isfile(consumer):
        return _of_file(name, world, os.path.abspath(consumer))
    if is_library(consumer):
        process, _, caller = world.interpreter()
        loaded = process.dlopen(consumer, caller)
        if loaded is None:
            raise RequestError(f"`{consumer}` was not found in this shell (asked for by --from)")
        return _answer(name, process, loaded)
    package = Package(consumer, world.prefix) if world.prefix else None
    if package and package.is_there:
        return _of_package(name, world, package)
    return _of_program(name, world, consumer)


def _of_file(name: str, world: World, path: str) -> Lookup:
    elf = world.elf(path)
    if elf.kind == EXECUTABLE or (elf.interpreter and not is_library(path)):
        process, main = world.program(os.path.realpath(path))
        return _answer(name, process, main)
    process, importer, _ = world.interpreter()
    return _answer(name, process, process.dlopen(path, importer))


def _of_package(name: str, world: World, package: Package) -> Lookup:
    """Ask for each library of a package anew, as it is not known which are loaded together."""
    others: list[Lookup] = []
    for library in ("", *package.libraries()):
        process, importer, caller = world.interpreter()
        first = package.start(process, caller)
        loaded = process.dlopen(library, importer) if library else next(iter(first), None)
        if loaded and process.holding(name):
            return _answer(name, process, loaded)
        if loaded:
            others.append(_answer(name, process, loaded))
    answer = next((one for one in others if one.found), Lookup([]))
    note = "none of its libraries needs it: this is what `dlopen` finds"
    return answer._replace(notes=(*answer.notes, note))


def _of_program(name: str, world: World, consumer: str) -> Lookup:
    path = find_program(consumer, world.variables.get("PATH", ""))
    if path is None:
        raise no_program(consumer, world.prefix, "library")
    process, main = world.program(os.path.realpath(path))
    return _answer(name, process, main)


def _answer(name: str, process: Process, caller: Loaded | None) -> Lookup:
    before = process.holding(name)
    loaded = before or process.dlopen(name, caller)
    asker = before.asked if before else caller
    found: list[Found] = []
    if loaded:
        why = loaded.why
        if before and asker and asker is not caller and f"`{asker.path}`" not in why:
            why += f", loaded before for `{asker.path}`"
        found.append(found_at(loaded.path, why))
    others = process.candidates(name, asker)
    found += [found_at(other.path, other.why, other.fault) for other in others]
    return Lookup(distinct(found), caller.path if caller else None)
