"""What the loader would give the programs of this shell, found with `lookup`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from cudaswitch.compat.frameworks import frameworks
from cudaswitch.doctor.folders import is_inside
from cudaswitch.doctor.model import Stranger
from cudaswitch.environments import Environment
from cudaswitch.errors import CudaswitchError
from cudaswitch.lookup import Found, found_at
from cudaswitch.lookup.consumers import Package, World
from cudaswitch.resolver import Resolution

_ALWAYS = ("libcuda.so.1", "libcudnn.so.7", "libcudnn.so.8", "libcudnn.so.9")
_MOST = 400
"""Libraries of one package that are followed; the widest of today's have half of it."""


def found_by_loader(
    variables: Mapping[str, str], sonames: Iterable[str]
) -> dict[str, Found | None]:
    """Map libraries to the file that the environment's Python gets for them."""
    try:
        process, _, caller = World(variables).interpreter()
    except CudaswitchError:
        return {}
    found: dict[str, Found | None] = {}
    for name in dict.fromkeys((*_ALWAYS, *sonames)):
        # Preloaded libraries come before any search.
        first = process.holding(name) or next(process.candidates(name, caller), None)
        found[name] = found_at(first.path, first.why) if first else None
    return found


def strangers(
    variables: Mapping[str, str], environment: Environment, resolution: Resolution
) -> tuple[Stranger, ...]:
    """List the libraries that an environment brings and that come from elsewhere all the same.

    Each package is followed as it loads its libraries, in a fresh process for each library:
    which of them meet in one process is not known.
    """
    if not variables.get("LD_LIBRARY_PATH"):
        return ()
    found: dict[str, Stranger] = {}
    with suppress(CudaswitchError):
        world = World(variables)
        names = [frameworks()[one.name].folders for one in resolution.frameworks]
        prefix = Path(environment.prefix)
        packages = [Package(name, prefix) for group in names for name in group[:1]]
        packages = [one for one in packages if one.folders]
        wheels = Package("nvidia", prefix)
        brought = {Path(path).name for one in (*packages, wheels) for path in one.libraries()}
        for package in packages or [wheels]:
            for library in list(package.libraries())[:_MOST]:
                process, importer, caller = world.interpreter()
                package.start(process, caller)
                process.dlopen(library, importer)
                for one in process.loaded:
                    name = next(iter(one.names), "")
                    if name not in brought or not one.asked or name in found:
                        continue
                    if not is_inside(one.path, environment.prefix):
                        found[name] = Stranger(name, one.path, one.why, one.asked.path)
    return tuple(found.values())


def in_wheels(environment: Environment) -> dict[str, str]:
    """Map the libraries of NVIDIA's wheels in an environment to the folders that have them."""
    sites = Package("nvidia", Path(environment.prefix)).sites
    found = (file for site in sites for file in site.glob("nvidia/*/lib/*.so*"))
    return {file.name: str(file.parent) for file in found}
