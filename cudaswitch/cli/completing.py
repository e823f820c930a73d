"""The command completion."""

from __future__ import annotations

import click

from cudaswitch.cli import output
from cudaswitch.completion import SCRIPTS, script


@click.command(epilog=output.examples("source <(cudaswitch completion bash)"))
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(shell: str) -> None:
    """Print a shell's completion script.

    `init` already includes it. If cudaswitch is installed system-wide, shells find it by
    themselves.
    """
    click.echo(script(shell), nl=False)
