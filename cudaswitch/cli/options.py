"""Options that several commands have, each worded once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cudaswitch import settings, sources
from cudaswitch.platforms import PLATFORMS, at_home
from cudaswitch.versions import LIBRARIES


class FromHome(click.Path):
    """A path that may begin with `~`: shells leave it as it is behind `--dir=`, and in quotes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(at_home(os.fspath(value)), param, ctx)


cudnn = click.option(
    "--cudnn", metavar="V", help="cuDNN version to go with it, such as 7.6, or none."
)
libraries = click.option(
    "--libraries", type=click.Choice(LIBRARIES), help="Whether to set LD_LIBRARY_PATH."
)
gpus = click.option("--gpus", metavar="LIST", help="GPUs to make visible, such as 0,2, or none.")
channels = click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="C",
    help="Conda channel: a name, URL or path. Repeat to search several, in order.",
)
offline = click.option(
    "--offline",
    is_flag=True,
    default=lambda: settings.value("offline"),
    help="Use only what is on this machine; download nothing.",
)
mirror = click.option(
    "--mirror", metavar="URL", help="With --from: URL of a mirror of that source."
)
source = click.option(
    "--from",
    "source",
    type=click.Choice(sources.NAMES),
    help="Source to use. Default, by version: pypi for 13 and later, nvidia for 11.4.2 to 12,"
    " conda for older.",
)
components = click.option(
    "--components",
    default="build",
    show_default=True,
    metavar="SET",
    help="Parts of the toolkit to get: minimal, build, full or a list such as nvcc,cudart.",
)
name = click.option("-n", "--name", metavar="ENV", help="Environment by name.")
prefix = click.option(
    "-p", "--prefix", type=click.Path(path_type=Path), help="Environment by path."
)
platform = click.option(
    "--platform", type=click.Choice(PLATFORMS), help="Platform to use instead of this machine's."
)
platforms = click.option(
    "--platform",
    "platforms",
    multiple=True,
    type=click.Choice(PLATFORMS),
    help="Platform to use instead of this machine's; can be repeated.",
)
