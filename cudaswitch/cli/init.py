"""The command that loads cudaswitch into shells: init."""

from __future__ import annotations

import os
import sys

import click

from cudaswitch import integration, ready, shells, startfiles, startup, talk
from cudaswitch.cli import output


@click.command(
    epilog=output.examples(
        "cudaswitch init --install", *(shells.SHELLS[name].load for name in ("bash", "fish"))
    )
)
@click.argument(
    "shell",
    required=False,
    metavar=f"[{'|'.join(shells.INTEGRATED)}]",
)
@click.option(
    "--install",
    "put_in",
    is_flag=True,
    help="Add a line to the shell's startup file, after showing it.",
)
@click.option("--remove", "take_out", is_flag=True, help="Remove that line again.")
@click.option(
    "--yes", is_flag=True, help="With --install or --remove: do not ask for confirmation."
)
def init(shell: str | None, put_in: bool, take_out: bool, yes: bool) -> None:
    """Print the shell integration: `use`, and switching on activation and on `cd`.

    --install writes it to a file, and adds one marked line to the shell's startup file (by
    default, that of your own shell) that loads it: new shells then start without Python.

    Each switch of the toolkit is reported in one line on stderr; set CUDASWITCH_QUIET=1 to silence
    it.
    """
    if put_in and take_out:
        raise click.UsageError("--install and --remove cannot be used together")
    if put_in or take_out:
        option = "--install" if put_in else "--remove"
        _edit(startup.shell_of(shell, os.environ, option), yes, put_in=put_in)
        return
    if shell is None:
        raise click.UsageError("name a shell, such as bash")
    if yes:
        raise click.UsageError("--yes requires --install or --remove")
    integration.show(shell)


def _edit(row: shells.Shell, yes: bool, *, put_in: bool) -> None:
    edit = (startup.installing if put_in else startup.removing)(row, os.environ)
    if edit.before != edit.after:
        for line in edit.shown():
            click.echo(line, err=True)
        if (
            not yes
            and sys.stdin.isatty()
            and not click.confirm("Write this change?", True, err=True)
        ):
            talk.say(f"`{edit.path}` was not changed")
            raise click.exceptions.Exit(1)
    if put_in:
        path = startup.install(row, edit)
        here = ready.loading(row)
        talk.say(
            f"`{edit.path}` loads `{path}` in every new {row.name}; to load it in this one: {here}"
        )
        for what, mend in startup.notes(row, edit, os.environ):
            talk.say(what)
            talk.hint(mend)
    else:
        startup.remove(row, edit)
        if others := list(startfiles.second_lines(row, edit.path, os.environ)):
            for one in others:
                talk.say(f"`{one.path}` still loads cudaswitch, on line {one.number}")
            talk.hint("remove that line, too")
        else:
            verb = "no longer loads" if edit.before != edit.after else "does not load"
            talk.say(f"`{edit.path}` {verb} cudaswitch")
