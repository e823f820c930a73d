"""Parts of a toolkit that messages find missing: which toolkits here have one, what brings one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from cudaswitch.activation import CUPTI, LIBRARY_FOLDERS
from cudaswitch.archives.components import component_with
from cudaswitch.compat.redist import known_releases
from cudaswitch.compat.runfiles import runfiles
from cudaswitch.doctor.folders import INCLUDES, LIBNVVM, STUBS, is_listed
from cudaswitch.doctor.model import Facts
from cudaswitch.doctor.spelling import install_command, put_first, spell, use_command
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.sources.choosing import usual_source
from cudaswitch.sources.components import FULL, SETS
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request, Version


class Part(NamedTuple):
    """A part of a toolkit, called `name`: any one of `files` is it.

    `lacking` are the sources whose toolkits lack it, `component` is what `--components` calls it.
    """

    name: str
    files: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    component: str = "nvcc"


NVCC = Part("nvcc", ("bin/nvcc",), ("conda",))
PTXAS = Part("ptxas", ("bin/ptxas",), ("conda",))
NVVM = Part("libNVVM", (LIBNVVM,), (), "nvvm")
STUB = Part("stub of libcuda", tuple(f"{at}/libcuda.so" for at in STUBS), ("pypi", "conda"))


def library(name: str, *endings: str) -> Part:
    """Describe a library: `library("cublas", "so.12")`, or `so` and `a` to link with."""
    files = [f"lib{name}.{ending}" for ending in endings]
    at = tuple(f"{folder}/{file}" for file in files for folder in (*LIBRARY_FOLDERS, CUPTI))
    return Part(files[0], at, (), component_with(name))


def header(name: str) -> Part:
    """Describe a header, such as cublas_v2.h; if it is in a folder, the folder stands for it."""
    first = name.partition("/")[0]
    return Part(name, tuple(f"{at}/{first}" for at in INCLUDES), ("conda",))


def having(facts: Facts, part: Part | None) -> list[Toolkit]:
    """List the installed toolkits with a part, the newest last."""
    return [kit for kit in facts.installed if part is None or place(facts.parts[kit.path], part)]


def use_newest(facts: Facts, part: Part | None, serves: Callable[[Version], bool]) -> str | None:
    """Spell a command that uses the newest installed toolkit that serves and has a part, if any."""
    fits = [kit for kit in having(facts, part) if serves(kit.version)]
    return use_command(facts, fits[-1].name) if fits else None


def place(has: frozenset[str], part: Part) -> str | None:
    """Return where below a toolkit's folder a part is, None if it is not there."""
    return next((file for file in part.files if file in has), None)


def first_that_has(facts: Facts, version: str, part: Part | None = None, used: str = "") -> str:
    """Spell a command that brings a CUDA version, with a part, into this shell.

    `used` are options for what brings it there. If no installed toolkit will do, it installs one
    from a source that has the part, replacing one that lacks it. Without the shell function of the
    integration, `env` does the same.
    """
    there = of_release(facts, version)
    fits = [kit for kit in having(facts, part) if kit in there]
    if fits:
        return use_command(facts, version if fits == there else fits[-1].name, used)
    request = Request(_to_be_newest(version, there))
    options = _options(request, part, there) if part else ()
    return install_command(facts, request, *options, used=used)


def first_to_load(facts: Facts, version: str, part: Part | None = None) -> str:
    """Spell such a command for a library that the loader has to find, or lead it to a wheel's.

    Beside CUDA of the environment's own, it finds none of a toolkit unless that is asked for.
    """
    for file in part.files if part else ():
        folder = facts.wheels.get(os.path.basename(file))
        if folder and not is_listed(folder, facts.get("LD_LIBRARY_PATH")):
            return spell(facts, put_first("LD_LIBRARY_PATH", folder), {})
    return first_that_has(facts, version, part, " --libraries always" if facts.needs.brings else "")


def _to_be_newest(version: str, there: Sequence[Toolkit]) -> str:
    """Return the version to install, in full if an installed one would still be the newest.

    A toolkit of loose pieces has the number of its nvcc or runtime: 12.4.131 is of 12.4.1.
    """
    known = [one for one in known_releases("cuda") if one.starts_with(Version(version))]
    return str(max(known)) if known and there and max(known) < there[-1].version else version


def _options(request: Request, part: Part, there: Sequence[Toolkit]) -> list[str]:
    """Spell the options with which `install` brings the part, even if toolkits are there."""
    usual = source = usual_source(request)[0]
    if source in part.lacking:
        source = "nvidia" if source == "pypi" else _older(request)
    whence = ["--from", source] if there or source != usual else []
    # Neither a runfile nor conda's cudatoolkit can be had in parts.
    if source in ("pypi", "nvidia") and part.component not in SETS["build"]:
        whence += ["--components", FULL]
    anew = any(request.accepts(kit.version) for kit in there)
    return [*whence, *(["--force"] if anew else [])]


def _older(request: Request) -> str:
    """Name the source that has all of a release before NVIDIA's index."""
    return "runfile" if any(request.accepts(row.cuda) for row in runfiles()) else "conda"


def named(values: Mapping[str, str]) -> Part | None:
    """Describe the part that a message names: a header, a library to load, one to link with."""
    if values["header"]:
        return header(values["header"])
    if values["library"]:
        number = values["soname"]
        return library(values["library"], *([f"so.{number}"] if number else ["so", "a"]))
    return None


def lacking(facts: Facts, part: Part, version: str) -> str:
    """Say that the installed toolkits of a version lack a part; for "", the active toolkit."""
    if version:
        kits = [(kit.name, facts.parts[kit.path]) for kit in of_release(facts, version)]
    else:
        kits = [(f"`{facts.active.home}`", facts.active.has)] if facts.active else []
    if not kits or any(place(has, part) for _, has in kits):
        return ""
    names = ", ".join(name for name, _ in kits)
    return f"; {names} {'have' if kits[1:] else 'has'} no {part.name}"


def of_release(facts: Facts, version: str) -> list[Toolkit]:
    """List the installed toolkits of a version, the newest last."""
    return [kit for kit in facts.installed if kit.version.starts_with(Version(version))]
