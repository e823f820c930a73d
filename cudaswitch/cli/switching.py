"""Commands that switch: use, off, exec, env, and what shells ask behind them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from cudaswitch import formats, ready, running, shells, talk
from cudaswitch.cli import options, output
from cudaswitch.decision import answer
from cudaswitch.environments import (
    environment_at,
    environment_pinned_by,
    pin_of,
    read_request,
)
from cudaswitch.errors import ChoiceError, CudaswitchError
from cudaswitch.pins import wanted_by
from cudaswitch.store import dealias
from cudaswitch.versions import parse_request


@click.command(
    epilog=output.examples("cudaswitch use 10.1", "cudaswitch use auto", "cudaswitch use -")
)
@click.argument("request")
@options.cudnn
@options.libraries
@options.gpus
def use(request: str, cudnn: str | None, libraries: str | None, gpus: str | None) -> None:
    """Switch this shell to REQUEST, now.

    REQUEST is a version or alias, `auto` for what the active environment needs, `system`
    for none, or `-` for the one before.
    """
    if request != "-":
        running.asked(request, cudnn, libraries, gpus)
    _needs_integration("use")


@click.command(epilog=output.examples("cudaswitch off"))
def off() -> None:
    """Undo `use` in this shell: what the environment or directory asks for applies again."""
    _needs_integration("off")


def _needs_integration(name: str) -> None:
    mine = shells.SHELLS[shells.login_shell(os.environ)]
    raise CudaswitchError(
        f"`{name}` changes the shell it is called in, which has not loaded cudaswitch yet",
        (mine if mine.init else shells.SHELLS["bash"]).load,
    )


class _Want(click.Command):
    """What shells call for `use`: it proposes no option that people cannot give."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            given = {name for option in use.params for name in option.opts}
            near = [one for one in error.possibilities or () if one in given]
            raise click.NoSuchOption(error.option_name, possibilities=near, ctx=ctx) from None


@click.command(cls=_Want)
@click.argument("request", required=False)
@click.option("--for-use", is_flag=True)
@click.option("--file", type=click.Path(path_type=Path))
@click.option("--environment", type=click.Path(path_type=Path))
@options.cudnn
@options.libraries
@options.gpus
def want(
    request: str | None,
    for_use: bool,
    file: Path | None,
    environment: Path | None,
    cudnn: str | None,
    libraries: str | None,
    gpus: str | None,
) -> None:
    """Print what a shell is told for a request that has no ready answer."""
    ready.refresh()  # the next shell may find an older cudaswitch's
    if file is not None:
        pinned = environment_pinned_by(file)
        asked_for = pin_of(pinned) if pinned else read_request(file)
        talk.line(str(answer(asked_for, pinned).want))
        return
    if environment is not None:
        wanted = wanted_by(environment_at(environment))
        talk.line(str(wanted or ""))
        return
    if request is None:
        raise click.UsageError("name a version, such as 10.1")
    if request == "-" and for_use:
        raise click.UsageError("`-` brings back the earlier choice as it was: it takes no options")
    origin = "" if for_use else "CUDASWITCH_VERSION"
    chosen = running.asked(request, cudnn, libraries, gpus, origin)
    if for_use:
        running.change_here(chosen)  # for its warning; the shell makes the change
    talk.line(str(chosen))


class _Exec(click.Command):
    """A command that takes everything behind `--` as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args and (begins := self._command_in(args)) is not None:
            meant = [*args[:begins], "--", *args[begins:]]
            raise ChoiceError(
                "name the command behind `--`", f"cudaswitch exec {shlex.join(meant)}"
            )
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def _command_in(self, args: list[str]) -> int | None:
        """Tell where the command begins in a line without `--`, None where there seems to be none.

        Of words that are no options only the first may be a request.
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

    Without REQUEST, with what would be active here. CMD's exit code and signals pass through.
    """
    command: list[str] = ctx.meta["command"]
    if not command:
        raise click.UsageError("name the command behind `--`: cudaswitch exec 12.4 -- make", ctx)
    if cudnn and request is None:
        raise click.UsageError("--cudnn goes with a REQUEST", ctx)
    running.run(request, command, cudnn, libraries, gpus)


@click.command(
    epilog=output.examples('eval "$(cudaswitch env 10.1)"', "cudaswitch env 12.4 --format json")
)
@click.argument("request")
@options.cudnn
@options.libraries
@options.gpus
@click.option("--shell", metavar="S", help="Shell to print for; without one, that of $SHELL.")
@click.option(
    "--format", "form", type=click.Choice(list(formats.FORMATS)), help="Another format instead."
)
def env(
    request: str,
    cudnn: str | None,
    libraries: str | None,
    gpus: str | None,
    shell: str | None,
    form: str | None,
) -> None:
    """Print the change for REQUEST, for a shell to evaluate or in another format.

    `system` prints the way back.
    """
    if shell and form:
        raise click.UsageError("choose one of --shell and --format")
    formats.show_change(running.asked(request, cudnn, libraries, gpus), shell, form)
