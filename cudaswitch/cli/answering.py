"""What shells call for `use`, pins and version files, if there is no ready answer: want."""

from __future__ import annotations

import click

from cudaswitch import answering
from cudaswitch.cli import options
from cudaswitch.cli.switching import use
from cudaswitch.errors import ChoiceError

_ANY_PATH = click.Path(readable=False)
"""A file that cannot be read is reported as everywhere else, not as a wrong option."""

_PLACES = ("-n", "--name", "-p", "--prefix", "--dir", "--global")
"""The options that tell `pin` where."""


class _Want(click.Command):
    """What shells call for `use`: it proposes no option that `use` does not have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in _PLACES:
                raise ChoiceError(
                    f"`use` affects only this shell, and does not take {error.option_name}",
                    f"cudaswitch pin VERSION {error.option_name} ...",
                ) from None
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
    file: str | None,
    environment: str | None,
    cudnn: str | None,
    libraries: str | None,
    gpus: str | None,
) -> None:
    """Print what a shell is told for a request that has no ready answer."""
    if file is not None:
        answering.of_file(file)
    elif environment is not None:
        answering.of_environment(environment)
    elif request is None:
        raise click.UsageError("name a version, such as 10.1, or a range in quotes: '>=11.2'")
    elif request == "-" and for_use:
        raise click.UsageError("`-` restores the previous choice as it was, and takes no options")
    else:
        answering.of_request(request, cudnn, libraries, gpus, for_use=for_use)
