"""What shells ask behind `use`, pins and version files, where there is no ready answer: want."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from cudaswitch import automatic, lent, ready, running, settings, talk
from cudaswitch.activation import Want
from cudaswitch.changing import own_store
from cudaswitch.cli import options
from cudaswitch.cli.switching import use
from cudaswitch.decision import NOTHING, answer, answer_to
from cudaswitch.environments import (
    Environment,
    active_environment,
    environment_at,
    environment_pinned_by,
    pin_of,
    read_request,
)
from cudaswitch.pins import wanted_by
from cudaswitch.versions import Request, parse_request

_ANY_PATH = click.Path(readable=False, path_type=Path)
"""What cannot be read is told as everywhere else, not as a wrong option."""


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
@click.option("--file", type=_ANY_PATH)
@click.option("--environment", type=_ANY_PATH)
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
    # What changes while it is looked at is looked at again the next time.
    began = time.time_ns()
    if file is not None:
        pinned = environment_pinned_by(file)
        found = answer(pin_of(pinned), pinned) if pinned else answer_to(str(file))
        talk.line(str(found.want) if found is not NOTHING else "")
        _remember(pin_of(pinned) if pinned else read_request(file), found.want, began, pinned)
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
    _remember(parse_request(request, cudnn), chosen, began)


def _remember(request: Request, want: Want, began: int, pinned: Environment | None = None) -> None:
    """Have a ready answer the next time: to a range, to `auto` here, and to what is lent.

    `want` is what was told, looked up at `began`, in nanoseconds.
    """
    environment = pinned or active_environment(os.environ)
    usual = settings.usual_libraries()
    if request.text == "auto" and environment:
        automatic.recall(environment)
    elif want.home in {kit.path for kit in own_store().present()}:
        own_store().remember(request)
    elif usual != "always" and want.home != "system":
        lent.keep(request, want._replace(libraries=usual, gpus=None), began)
