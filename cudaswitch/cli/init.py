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
    metavar=f"[{'|'.join(row.name for row in shells.SHELLS.values() if row.init)}]",
)
@click.option(
    "--install", "put_in", is_flag=True, help="Add a line to the startup file, after showing it."
)
@click.option("--remove", "take_out", is_flag=True, help="Take that line out again.")
@click.option("--yes", is_flag=True, help="With --install, --remove: do not ask.")
def init(shell: str | None, put_in: bool, take_out: bool, yes: bool) -> None:
    """Print the shell integration: `use`, and switching on activation and on `cd`.

    --install puts it into a ready file, and one marked line that loads the file into the
    startup file of that shell, by default your own: new shells then start no Python.

    One line on stderr tells of each change; CUDASWITCH_QUIET=1 keeps it quiet.
    """
    if put_in and take_out:
        raise click.UsageError("choose one of --install and --remove")
    if put_in or take_out:
        option = "--install" if put_in else "--remove"
        _edit(startup.shell_of(shell, os.environ, option), yes, put_in=put_in)
        return
    if shell is None:
        raise click.UsageError("name a shell, such as bash")
    if yes:
        raise click.UsageError("--yes goes with --install or --remove")
    integration.show(shell)


def _edit(row: shells.Shell, yes: bool, *, put_in: bool) -> None:
    edit = (startup.installing if put_in else startup.removing)(row, os.environ)
    if edit.before != edit.after:
        for line in edit.shown():
            click.echo(line, err=True)
        if not yes and sys.stdin.isatty() and not click.confirm("Write it?", True, err=True):
            talk.say(f"`{edit.path}` stays as it is")
            raise click.exceptions.Exit(1)
    if put_in:
        path = startup.install(row, edit)
        here = ready.loading(row)
        talk.say(f"`{edit.path}` loads `{path}` in every new {row.name}; in this one: {here}")
        for what, mend in startup.notes(row, edit, os.environ):
            talk.say(what)
            talk.hint(mend)
    else:
        startup.remove(row, edit)
        if others := list(startfiles.second_lines(row, edit.path, os.environ)):
            for one in others:
                talk.say(f"`{one.path}` still loads cudaswitch, in line {one.number}")
            talk.hint("take that line out, too")
        else:
            still = " any more" if edit.before != edit.after else ""
            talk.say(f"`{edit.path}` does not load cudaswitch{still}")
