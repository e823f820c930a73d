"""The command that tells what an environment needs: resolve."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from cudaswitch import talk, telling
from cudaswitch.cli import options, output
from cudaswitch.compat.compilers import Bounds
from cudaswitch.detect.facts import facts_of
from cudaswitch.detect.toolkits import absent
from cudaswitch.environments import Environment, active_environment, environment_at
from cudaswitch.errors import CudaswitchError
from cudaswitch.hostcompiler import bounds
from cudaswitch.named import environment_named
from cudaswitch.resolver import USE
from cudaswitch.resolver import resolve as resolve_facts
from cudaswitch.resolver.explain import explain
from cudaswitch.store import all_present, compiles_here
from cudaswitch.toolkit import Toolkit


@click.command(
    epilog=output.examples("cudaswitch resolve -n thesis", "cudaswitch resolve --driver 418.39")
)
@options.name
@options.prefix
@click.option("--driver", metavar="V", help="Assume this driver version.")
@click.option("--cc", metavar="X.Y", help="Assume a GPU of this compute capability.")
@click.option("--gcc", metavar="N", help="Assume this gcc version.")
@options.platform
@output.json_option
def resolve(
    name: str | None,
    prefix: Path | None,
    driver: str | None,
    cc: str | None,
    gcc: str | None,
    platform: str | None,
    as_json: bool,
) -> None:
    """Show which CUDA and cuDNN an environment needs, whether they run on this machine, and why.

    The default is the active environment. Reads its files; imports and changes nothing.
    """
    if name is not None and prefix:
        raise click.UsageError("give only one of -n and -p")
    environment = _environment(name, prefix)
    facts = facts_of(Path(environment.prefix), driver=driver, cc=cc, gcc=gcc, platform=platform)
    resolution = resolve_facts(facts, all_present(), _accepts, absent)
    if resolution.hint and resolution.hint.startswith(USE):
        hint = telling.using(resolution.hint.removeprefix(USE))
        resolution = resolution._replace(hint=hint)
    if as_json:
        talk.data(resolution.to_json())
    else:
        # Only a terminal has a width, 0 if it is unknown; lines for programs are never broken.
        width = (os.get_terminal_size().columns or None) if sys.stdout.isatty() else None
        for text in explain(resolution, width).splitlines():
            talk.line(text)


def _environment(name: str | None, prefix: Path | None) -> Environment:
    if name is not None:
        return environment_named(name, os.environ)
    if prefix:
        return environment_at(prefix)
    if active := active_environment(os.environ):
        return active
    raise CudaswitchError("no environment is active", "activate one, or name it with -n or -p")


def _accepts(kit: Toolkit) -> Bounds | None:
    return bounds(Path(kit.path), kit.version) if compiles_here(kit) else None
