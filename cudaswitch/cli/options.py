"""Options that several commands have, each worded once."""

from __future__ import annotations

import click

from cudaswitch import settings, sources
from cudaswitch.platforms import PLATFORMS
from cudaswitch.versions import LIBRARIES

cudnn = click.option("--cudnn", metavar="V", help="cuDNN to go with it, such as 7.6, or none.")
libraries = click.option(
    "--libraries", type=click.Choice(LIBRARIES), help="Whether to set LD_LIBRARY_PATH."
)
gpus = click.option("--gpus", metavar="LIST", help="GPUs to be seen, such as 0,2, or none.")
channels = click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="C",
    help="A conda channel: a name, URL or path. Several are asked in their order.",
)
offline = click.option(
    "--offline",
    is_flag=True,
    default=lambda: settings.value("offline"),
    help="Use only what is on this machine.",
)
mirror = click.option("--mirror", metavar="URL", help="With --from: a mirror of that source.")
source = click.option(
    "--from",
    "source",
    type=click.Choice(sources.NAMES),
    help="Where from; else by version: pypi from 13 on, nvidia from 11.4.2 on, conda before.",
)
components = click.option(
    "--components",
    default="build",
    show_default=True,
    metavar="SET",
    help="What of a toolkit to get: minimal, build, full or a list such as nvcc,cudart.",
)
platform = click.option(
    "--platform", type=click.Choice(PLATFORMS), help="For another platform than this machine's."
)
platforms = click.option(
    "--platform",
    "platforms",
    multiple=True,
    type=click.Choice(PLATFORMS),
    help="For which platform; several may be named. Else this machine's.",
)
