"""The command that proves a toolkit: check."""

from __future__ import annotations

import os

import click

from cudaswitch import talk
from cudaswitch.check import checked
from cudaswitch.check.results import WORDS, Result, passed, summary
from cudaswitch.cli import options, output
from cudaswitch.decision import answer, decide, working_directory
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import parse_request

_WIDTH = 80
_NAME = 28
_STATUS = max(map(len, WORDS.values()))


@click.command(epilog=output.examples("cudaswitch check 13.0", "cudaswitch check --json"))
@click.argument("request", required=False)
@options.cudnn
@output.json_option
@click.pass_context
def check(ctx: click.Context, request: str | None, cudnn: str | None, as_json: bool) -> None:
    """Check that a toolkit works: load its libraries, compile with it, run the result.

    REQUEST is as for `use`; the default is the toolkit that is active here. Everything runs in
    the environment that `use` sets up. Checks that need a GPU say so. Exits with 1 if any failed.
    """
    if request is None:
        if cudnn:
            raise click.UsageError("--cudnn requires a REQUEST")
        want = decide(os.environ, working_directory(os.environ)).want
    else:
        want = answer(parse_request(request, cudnn)).want
    kit, proofs = checked(want)
    results = []
    for result in proofs:
        results.append(result)
        if not as_json:
            talk.line(_told(result))
    good = passed(results)
    if as_json:
        talk.data({"passed": good, "results": [result.to_json() for result in results]})
    else:
        talk.line(f"CUDA {kit.name}: {summary(results)}")
        _blame([result for result in results if result.status == "failed"], kit)
    if not good:
        ctx.exit(1)


def _told(result: Result) -> str:
    """Say a result in one line that fits; `--json` has what is cut off."""
    status = WORDS[result.status].ljust(_STATUS)
    text = f"{status}  {result.name.ljust(_NAME)}  {result.detail}"
    return _cut(" ".join(text.splitlines()), _WIDTH).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _blame(failed: list[Result], kit: Toolkit) -> None:
    """Name in full each file that failed, and what may fix it."""
    for result in failed:
        talk.say(f"`{result.path or result.name}`: {result.detail}")
    if kit.packages and any(result.kind == "library" for result in failed):
        talk.hint(
            f"cudaswitch verify --repair {kit.name};"
            " if every file is as recorded, install another build"
        )
