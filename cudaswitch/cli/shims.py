"""Commands on shims: install, refresh, path."""

from __future__ import annotations

import click

from cudaswitch import talk
from cudaswitch.cli import output
from cudaswitch.errors import StoreError
from cudaswitch.paths import home
from cudaswitch.shims import install, installed
from cudaswitch.store import all_toolkits


@click.group(epilog=output.examples("cudaswitch shims install"))
def shims() -> None:
    """Keep one command per CUDA tool (nvcc, ptxas, nsys, ...) in a folder for PATH.

    Each finds out where it is called which toolkit is asked for there, and becomes its
    tool: for editors, make and cron, which run no shell hook.
    """


@shims.command("install", epilog=output.examples("cudaswitch shims install"))
def install_command() -> None:
    """Make the shims, and keep them up to date from now on."""
    _told(install())
    talk.hint('put them first on PATH: export PATH="$(cudaswitch shims path):$PATH"')


@shims.command("refresh", epilog=output.examples("cudaswitch shims refresh"))
def refresh_command() -> None:
    """Make the shims anew, after cudaswitch was moved or updated."""
    if not installed():
        raise StoreError("no shims are installed", "cudaswitch shims install")
    _told(install())


@shims.command("path", epilog=output.examples('export PATH="$(cudaswitch shims path):$PATH"'))
def path_command() -> None:
    """Print the folder of the shims."""
    talk.line(str(home().shims))


def _told(tools: list[str]) -> None:
    for tool in tools:
        talk.line(tool)
    if not tools:
        that = " that is installed has tools" if all_toolkits() else " is installed"
        talk.say(f"no toolkit{that}, so there are no shims yet")
