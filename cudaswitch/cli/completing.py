"""The command completion."""

from __future__ import annotations

import click

from cudaswitch.cli import output
from cudaswitch.completion import SCRIPTS, script


@click.command(epilog=output.examples("source <(cudaswitch completion bash)"))
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    `init` brings it along. Where cudaswitch is installed for the whole machine, shells find it
    by themselves.
    """
    click.echo(script(shell), nl=False)
