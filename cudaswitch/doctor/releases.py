"""Which CUDA release a message speaks of, and which ones the driver runs and the GPU knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from cudaswitch.compat import drivers
from cudaswitch.compat.architectures import architectures
from cudaswitch.compat.drivers import releases
from cudaswitch.compat.sonames import releases_with, soname
from cudaswitch.doctor.model import Facts
from cudaswitch.doctor.parts import library, place
from cudaswitch.resolver.machine import check_driver
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version


def release_with(facts: Facts, *libraries: tuple[str, str], below: int | None = None) -> str:
    """Choose a CUDA release that has these libraries (name, number); "" if none has them all.

    It is the framework's, else the active one, else the newest. If the newest is not installed,
    an installed one goes before it. What the driver does not run is chosen last. A major not
    `below` the given one is only chosen for the framework, or if no other has the libraries.
    """
    known = _having_all(libraries)
    if not known:
        return ""
    fits = [one for one in known if below is None or one.major < below] or known
    for mine, among in zip(_ours(facts), (known, fits), strict=True):
        if mine and any(mine.starts_with(one) for one in among):
            return mine.minor
    newest = ([one for one in fits if runs(facts, one)] or fits)[-1]
    usable = [kit.version for kit in _with_all(facts, libraries) if runs(facts, kit.version)]
    usable = [one for one in usable if any(one.starts_with(it) for it in fits)]
    is_here = not usable or any(one.starts_with(newest) for one in usable)
    return str(newest) if is_here else usable[-1].minor


def _having_all(libraries: Sequence[tuple[str, str]]) -> list[Version]:
    """List the releases that have all of these libraries, the newest last."""
    lists = [releases_with(*one) for one in libraries]
    return reduce(_common, lists) if lists else []


def _common(some: list[Version], others: list[Version]) -> list[Version]:
    """List what is in both: of 11 and 11.2, as the table names majors and releases, it is 11.2."""
    return [
        max(mine, its, key=lambda version: len(version.parts))
        for mine in some
        for its in others
        if mine.starts_with(its) or its.starts_with(mine)
    ]


def _with_all(facts: Facts, libraries: Sequence[tuple[str, str]]) -> list[Toolkit]:
    """List the installed toolkits that have all of these libraries, the newest last."""
    parts = [library(name, f"so.{number}") for name, number in libraries]
    return [
        kit for kit in facts.installed if all(place(facts.parts[kit.path], part) for part in parts)
    ]


def number_meant(facts: Facts, name: str, numbers: Sequence[str]) -> str:
    """Choose one of the numbers of a library, any of which would do; without numbers, any at all.

    It is that of the framework's CUDA, else the active one, else the newest that the driver runs.
    """
    for mine in filter(None, (*_ours(facts), newest_run(facts))):
        number = (soname(name, mine) or "").rpartition(".so.")[2]
        if number and (not numbers or number in numbers):
            return number
    return next(iter(numbers), "")


def _ours(facts: Facts) -> tuple[Version | None, Version | None]:
    """Return the framework's CUDA and the active one, None for one that there is not."""
    own = facts.resolution.cuda
    return Version(own) if own else None, facts.active.version if facts.active else None


def newest_run(facts: Facts) -> Version:
    """Return the newest CUDA that the driver was made for, or the newest of all without one."""
    return newest_served(facts) or releases()[0]


def newest_served(facts: Facts) -> Version | None:
    """Return the newest CUDA that the driver was made for, None without one."""
    driver = facts.needs.driver
    row = drivers.newest_served(Version(driver), facts.needs.os) if driver else None
    return Version(row.cuda.minor) if row else None


def used_now(facts: Facts) -> Version | None:
    """Return the release X.Y of the active toolkit."""
    active = facts.active
    return Version(active.version.minor) if active and active.version else None


def runs(facts: Facts, cuda: Version) -> bool:
    return not check_driver(cuda, facts.needs).blocks


def reach(facts: Facts, number: str) -> tuple[str, str]:
    """Tell up to which CUDA the driver goes, "" if nothing tells, and say it in words.

    `number` is what a message gives for it, 11040 for 11.4, or "".
    """
    driver, newest = facts.needs.driver, newest_served(facts)
    if number:
        # cudaDriverGetVersion: 1000 times the major and 10 times the minor.
        newest = Version(f"{int(number) // 1000}.{int(number) % 1000 // 10}")
        return str(newest), f"the driver was made for CUDA up to {newest}"
    if driver is None or newest is None:
        return "", "`nvidia-smi` shows up to which CUDA the driver goes"
    return str(newest), f"driver {driver} was made for CUDA up to {newest}"


def gpu_code(facts: Facts, number: str) -> str:
    """Say which CUDA releases have code for a GPU (35 is 3.5), and how the active one compares."""
    name, known, in_use = f"{number[:-1]}.{number[-1]}", knowing(number), used_now(facts)
    if not known:
        return f"no CUDA release that is known here has code for compute capability {name}"
    told = f"{known[-1]} to {known[0]} have code for compute capability {name}"
    if in_use and in_use > known[0]:
        return f"CUDA {in_use} has given the GPU up: {told}"
    if in_use and in_use < known[-1]:
        return f"CUDA {in_use} is older than the GPU: {told}"
    return f"CUDA {told}"


def knowing(number: str) -> list[Version]:
    """List the releases whose nvcc knows a GPU, the newest first."""
    return [
        cuda for cuda in releases() if any(int(number) in row.sm for row in architectures(cuda))
    ]
