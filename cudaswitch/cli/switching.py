"""Commands that switch: use, off, exec, env."""

from __future__ import annotations

import os
import shlex

import click

from cudaswitch import formats, ready, running, shells
from cudaswitch.cli import options, output
from cudaswitch.errors import ChoiceError, CudaswitchError
from cudaswitch.store import dealias
from cudaswitch.versions import parse_request, quote_request


@click.command(
    epilog=output.examples("cudaswitch use 10.1", "cudaswitch use auto", "cudaswitch use -")
)
@click.argument("request")
@options.cudnn
@options.libraries
@options.gpus
def use(request: str, cudnn: str | None, libraries: str | None, gpus: str | None) -> None:
    """Switch this shell to REQUEST.

    REQUEST is a version (10.1), a range ('>=11.2,<12'), `latest`, an alias, `auto` for what the
    active environment needs, or `system` for none. `use -` returns to the previous one.
    """
    if request != "-":
        running.asked(request, cudnn, libraries, gpus)
    _needs_integration("use", request)


@click.command(epilog=output.examples("cudaswitch off"))
def off() -> None:
    """Undo `use` in this shell: what the environment or directory requests applies again."""
    _needs_integration("off", "system")


def _needs_integration(name: str, request: str) -> None:
    mine = shells.running_shell(os.environ)
    asked = "VERSION" if request == "-" else quote_request(request)
    shells.refuse_ksh(mine, asked)
    row = shells.ROWS[shells.SAME.get(mine, mine)]
    raise CudaswitchError(
        f"`{name}` changes the current shell, which has not loaded cudaswitch yet",
        ready.loading(row) or row.evaluate.format(request=asked),
    )


class _Exec(click.Command):
    """A command that takes everything after `--` as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args and (begins := self._command_in(args)) is not None:
            # A message spells out control characters, which would change the words.
            named = shlex.join(args[begins:]) if "".join(args[begins:]).isprintable() else "CMD..."
            meant = " ".join(["cudaswitch exec", *map(shlex.quote, args[:begins]), "--", named])
            told = "put the command after `--` (`-- --` under poetry and hatch, which drop one)"
            raise ChoiceError(told, meant)
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def _command_in(self, args: list[str]) -> int | None:
        """Return where the command begins in a line without `--`, None if there seems to be none.

        Of words that are not options, only the first may be a request.
        """
        options = {
            name for one in self.params if isinstance(one, click.Option) for name in one.opts
        }
        requests, at = 0, 0
        while at < len(args):
            word = args[at]
            if not word.startswith("-"):
                if requests or not _is_request(word):
                    return at
                requests = 1
            elif word.partition("=")[0] not in options:
                return None
            at += 2 if word in options else 1
        return None

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [REQUEST] -- CMD...")


def _is_request(word: str) -> bool:
    try:
        dealias(parse_request(word))
    except CudaswitchError:
        return False
    return True


@click.command(
    "exec",
    cls=_Exec,
    epilog=output.examples("cudaswitch exec 12.4 -- make -j8", "cudaswitch exec -- nvcc --version"),
)
@click.argument("request", required=False)
@options.cudnn
@options.libraries
@options.gpus
@click.pass_context
def exec_command(
    ctx: click.Context,
    request: str | None,
    cudnn: str | None,
    libraries: str | None,
    gpus: str | None,
) -> None:
    """Run CMD with a toolkit, from anywhere: cron, systemd, Slurm, make.

    REQUEST is as for `use`; the default is what would be active here. CMD's exit code and
    signals are passed through.
    """
    command: list[str] = ctx.meta["command"]
    if not command:
        raise click.UsageError("put the command after `--`: cudaswitch exec 12.4 -- make", ctx)
    if cudnn and request is None:
        raise click.UsageError("--cudnn requires a REQUEST", ctx)
    running.run(request, command, cudnn, libraries, gpus)


@click.command(
    epilog=output.examples('eval "$(cudaswitch env 10.1)"', "cudaswitch env 12.4 --format json")
)
@click.argument("request")
@options.cudnn
@options.libraries
@options.gpus
@click.option(
    "--shell",
    metavar=f"[{'|'.join(shells.ROWS)}]",
    help="Shell to print for.  [default: the calling shell]",
)
@click.option(
    "--format", "form", type=click.Choice(list(formats.FORMATS)), help="Format to print instead."
)
def env(
    request: str,
    cudnn: str | None,
    libraries: str | None,
    gpus: str | None,
    shell: str | None,
    form: str | None,
) -> None:
    """Print the environment changes for REQUEST, for a shell to evaluate or in another format.

    REQUEST is as for `use`; `system` prints the changes that undo it.
    """
    if shell and form:
        raise click.UsageError("--shell and --format cannot be used together")
    formats.show_change(request, running.asked(request, cudnn, libraries, gpus), shell, form)
