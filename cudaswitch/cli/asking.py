"""Commands that only report: current, which."""

from __future__ import annotations

import click

from cudaswitch import telling
from cudaswitch.cli import output


@click.command(epilog=output.examples("cudaswitch current --json"))
@output.json_option
def current(as_json: bool) -> None:
    """Show what is active, what requested it, and whether the shell agrees.

    The shell agrees if CUDA_HOME and the first CUDA on PATH are those of the toolkit.
    """
    telling.current(as_json)


@click.command(
    epilog=output.examples(
        "cudaswitch which nvcc", "cudaswitch which libnvJitLink.so.12 --from torch"
    )
)
@click.argument("name", metavar="TOOL|LIB")
@click.option(
    "--from",
    "consumer",
    metavar="CONSUMER",
    help="What loads the library: a package, a library, a program or a path.",
)
@output.json_option
def which(name: str, consumer: str | None, as_json: bool) -> None:
    """Show which file wins in this shell for a tool or library, why, and what it shadows.

    Libraries are searched for as the loader would for the active environment's Python; a .dll
    as Windows would.
    """
    telling.which(name, consumer, as_json)
