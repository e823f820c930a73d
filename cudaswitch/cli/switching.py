"""Commands that switch: use, off, exec, env, init, and what shells ask behind them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from cudaswitch import shells
from cudaswitch.activation import EnvironmentChange, Want, change, without_choices
from cudaswitch.cli import output
from cudaswitch.cli.formats import FORMATS
from cudaswitch.decision import answer, decide, toolkit_at, working_directory
from cudaswitch.detect import bundles_cuda
from cudaswitch.environments import active_environment, read_request
from cudaswitch.errors import CudaswitchError, StoreError, ToolMissingError
from cudaswitch.paths import home, program
from cudaswitch.shims import is_toolkit_tool
from cudaswitch.store import all_stores
from cudaswitch.versions import LIBRARIES, parse_request

_cudnn_option = click.option("--cudnn", metavar="V", help="cuDNN to go with it, or none.")
_libraries_option = click.option(
    "--libraries", type=click.Choice(LIBRARIES), help="Whether to set LD_LIBRARY_PATH."
)


def _asked(request: str, cudnn: str | None, libraries: str | None, origin: str = "") -> Want:
    return answer(parse_request(request, cudnn, libraries, origin)).want


def _change(want: Want) -> EnvironmentChange | None:
    """Work out the change for a want in this process's environment, None for `system`."""
    if want.home == "system":
        return None
    if not Path(want.home).is_dir():
        raise StoreError(f"toolkit `{want.home}` is gone", "cudaswitch list")
    environment = active_environment(os.environ)
    bundled = bundles_cuda(environment.prefix) if environment else None
    output.warn_of_forced_libraries(want.libraries, bundled)
    return change(want, os.path.exists, bool(bundled))


@click.command(epilog="Example: cudaswitch use 10.1    cudaswitch use auto    cudaswitch use -")
@click.argument("request")
@_cudnn_option
@_libraries_option
def use(request: str, cudnn: str | None, libraries: str | None) -> None:
    """Switch this shell to REQUEST, now.

    REQUEST is a version or alias, `auto` for what the active environment needs, `system`
    for none, or `-` for the one before.
    """
    _needs_integration("use", request, cudnn, libraries)


@click.command(epilog="Example: cudaswitch off")
def off() -> None:
    """Undo `use` in this shell: what the environment or directory asks for applies again."""
    _needs_integration("off", None, None, None)


def _needs_integration(
    name: str, request: str | None, cudnn: str | None, libraries: str | None
) -> None:
    if request not in (None, "-"):
        _asked(str(request), cudnn, libraries)
    shell = Path(os.environ.get("SHELL", "bash")).name
    shell = shell if shell in shells.SHELLS and shells.SHELLS[shell].init else "bash"
    line = (
        f'eval "$(cudaswitch init {shell})"' if shell != "fish" else "cudaswitch init fish | source"
    )
    raise CudaswitchError(
        f"`{name}` changes the shell it is called in, which has not loaded cudaswitch yet", line
    )


@click.command()
@click.argument("request", required=False)
@click.option("--for-use", is_flag=True)
@click.option("--file", type=click.Path(path_type=Path))
@_cudnn_option
@_libraries_option
def want(
    request: str | None,
    for_use: bool,
    file: Path | None,
    cudnn: str | None,
    libraries: str | None,
) -> None:
    """Print what a shell is told for a request that has no ready answer."""
    if file is not None:
        output.line(str(answer(read_request(file)).want))
        return
    if request is None:
        raise click.UsageError("name a version, such as 10.1")
    origin = "" if for_use else "CUDASWITCH_VERSION"
    output.line(str(_asked(request, cudnn, libraries, origin)))


class _Exec(click.Command):
    """A command that takes everything behind `--` as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [REQUEST] -- CMD...")


@click.command(
    "exec",
    cls=_Exec,
    epilog="Example: cudaswitch exec 12.4 -- make -j8    cudaswitch exec -- nvcc --version",
)
@click.argument("request", required=False)
@_cudnn_option
@_libraries_option
@click.pass_context
def exec_command(
    ctx: click.Context, request: str | None, cudnn: str | None, libraries: str | None
) -> None:
    """Run CMD with a toolkit, from anywhere: cron, systemd, Slurm, make.

    Without REQUEST, with what would be active here. CMD's exit code and signals pass through.
    """
    command: list[str] = ctx.meta["command"]
    if not command:
        raise click.UsageError("name the command behind `--`: cudaswitch exec 12.4 -- make", ctx)
    if request is None:
        chosen = decide(os.environ, working_directory(os.environ)).want
    else:
        chosen = _asked(request, cudnn, libraries)
    made = _change(chosen)
    if made is None:
        variables = without_choices(os.environ) | {"_CUDASWITCH_U": "system"}
    else:
        variables = made.applied(os.environ, "U")
    tool = command[0]
    program = shutil.which(tool, path=variables.get("PATH"))
    kit = toolkit_at(chosen.home)
    # Another toolkit's nvcc further down PATH would compile, for the wrong CUDA.
    if kit and is_toolkit_tool(tool) and not (Path(kit.path) / "bin" / tool).exists():
        raise ToolMissingError(f"CUDA {kit.name} has no `{tool}`", _who_has(tool))
    if program is None:
        raise ToolMissingError(f"`{tool}` is not on PATH", _who_has(tool))
    sys.stdout.flush()
    os.execve(program, command, variables)  # noqa: S606  # to become it is what exec is for


def _who_has(tool: str) -> str | None:
    having = [
        kit.name
        for store in all_stores()
        for kit in store.toolkits()
        if (Path(kit.path) / "bin" / tool).exists()
    ]
    return f"it is in {', '.join(having)}" if having else None


@click.command(epilog='Example: eval "$(cudaswitch env 10.1)"    cudaswitch env 12.4 --format json')
@click.argument("request")
@_cudnn_option
@_libraries_option
@click.option("--shell", metavar="S", help="Shell to print for; without one, that of $SHELL.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="Another format instead.")
def env(
    request: str, cudnn: str | None, libraries: str | None, shell: str | None, form: str | None
) -> None:
    """Print the change for REQUEST, for a shell to evaluate or in another format.

    `system` prints the way back.
    """
    if shell and form:
        raise click.UsageError("choose one of --shell and --format")
    chosen = _asked(request, cudnn, libraries)
    if form is None:
        default = Path(os.environ.get("SHELL", "bash")).name
        row = shells.shell_named(shell or (default if default in shells.SHELLS else "bash"))
        click.echo(shells.use(row, str(chosen)), nl=False)
        return
    made = _change(chosen)
    click.echo(FORMATS[form](made, os.environ), nl=False)


@click.command(epilog='Example: eval "$(cudaswitch init bash)"    cudaswitch init fish | source')
@click.argument("shell", metavar="|".join(row.name for row in shells.SHELLS.values() if row.init))
def init(shell: str) -> None:
    """Print the shell integration: `use`, and switching on activation and on `cd`."""
    row = shells.shell_named(shell)
    click.echo(shells.init(row, root=str(home().root), program=program()), nl=False)
