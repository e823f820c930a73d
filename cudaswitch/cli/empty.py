"""Refuse empty words on the command line: no option or argument takes one as its value.

A variable that is not set must not mean the working directory, nor that an option was not given.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

_SAID_ELSEWHERE = "values"
"""The parameter of `config set`, whose own check says what each setting takes."""


def refuse_empty(
    command: click.Command, name: str, words: Sequence[str], outer: click.Context
) -> None:
    """Raise UsageError if a word that a command, or its subcommand, takes as a value is empty.

    Words are checked before click converts them: as a path, "" becomes the working directory.
    """
    context = click.Context(command, info_name=name, parent=outer)
    if name == "exec" and "--" in words:  # the rest is the other program's
        words = words[: words.index("--")]
    inner = None
    try:
        given, rest, _ = command.make_parser(context).parse_args(list(words))
        if isinstance(command, click.Group) and rest:
            inner = command.resolve_command(context, rest)
    except click.UsageError:
        return  # the actual parsing reports it
    if inner and inner[0] and inner[1]:
        refuse_empty(inner[1], inner[0], inner[2], context)
        return
    for param in command.params:
        value = given.get(str(param.name))
        if param.name != _SAID_ELSEWHERE and (value == "" or _is_one_of(value)):
            raise click.UsageError(f"`{_shown(param)}` is empty", context)
    if "" in rest:
        # As click says it for other words; its own message would show nothing.
        raise click.UsageError("Got unexpected extra argument ('')", context)


def _is_one_of(values: object) -> bool:
    return isinstance(values, list | tuple) and "" in values


def _shown(param: click.Parameter) -> str:
    """Name a parameter as `--help` does, an option by its longest name."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    shown = (param.metavar or "").strip("[].")
    return shown if shown.isupper() else str(param.name).upper()
