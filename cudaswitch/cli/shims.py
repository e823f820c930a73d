"""Commands on shims: install, refresh, path."""

from __future__ import annotations

import os

import click

from cudaswitch import shells, talk
from cudaswitch.cli import output
from cudaswitch.errors import ChoiceError, StoreError
from cudaswitch.paths import home
from cudaswitch.shims import install, installed
from cudaswitch.store import all_toolkits

_REMOVALS = ("delete", "remove", "rm", "uninstall")


class _Shims(output.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in _REMOVALS:
            row, folder = shells.running_row(os.environ), str(home().shims)
            raise ChoiceError(
                f"there is no `shims {args[0]}`: shims are just a folder to delete",
                f"rm -r {row.quote(folder)}",
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Shims, epilog=output.examples("cudaswitch shims install"))
def shims() -> None:
    """Keep one command per CUDA tool (nvcc, ptxas, nsys, ...) in a folder for PATH.

    Each shim finds the toolkit requested where it is called, and runs that toolkit's tool: for
    editors, make and cron, which do not run shell hooks.
    """


@shims.command("install", epilog=output.examples("cudaswitch shims install"))
def install_command() -> None:
    """Create the shims, and keep them up to date from now on."""
    tools = install()
    _told(tools)
    folder = str(home().shims)
    if not _wins(folder, tools):
        row = shells.running_row(os.environ)
        talk.hint(f"put them first on PATH: {row.first.format(folder=row.quote(folder))}")


@shims.command("refresh", epilog=output.examples("cudaswitch shims refresh"))
def refresh_command() -> None:
    """Recreate the shims, after cudaswitch was moved or updated."""
    if not installed():
        raise StoreError("no shims are installed", "cudaswitch shims install")
    _told(install())


@shims.command("path", epilog=output.examples('export PATH="$(cudaswitch shims path):$PATH"'))
def path_command() -> None:
    """Print the folder of the shims."""
    talk.line(str(home().shims))


def _wins(folder: str, tools: list[str]) -> bool:
    """Tell whether a folder is on PATH, and nothing before it has one of its tools."""
    for at in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.realpath(at) == os.path.realpath(folder):
            return True
        if any(os.path.exists(os.path.join(at, tool)) for tool in tools):
            return False
    return False


def _told(tools: list[str]) -> None:
    for tool in tools:
        talk.line(tool)
    if not tools:
        none = "installed toolkit has any tools" if all_toolkits() else "toolkit is installed"
        talk.say(f"no {none}, so there are no shims yet")
