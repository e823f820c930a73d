"""The command for settings: config."""

from __future__ import annotations

import json
import os

import click

from cudaswitch import settings, talk
from cudaswitch.cli import output
from cudaswitch.errors import CudaswitchError
from cudaswitch.settings import SETTINGS, Value


@click.group(
    cls=output.Group, epilog=output.examples("cudaswitch config set channels conda-forge nvidia")
)
def config() -> None:
    """Settings that hold in every shell, kept in config.toml.

    Environment variables override settings, and command-line options override both.
    """


@config.command("list", epilog=output.examples("cudaswitch config list --json"))
@output.json_option
def listed(as_json: bool) -> None:
    """Show every setting, its value and where it was set."""
    found = {name: settings.asked(name) for name in SETTINGS}
    if as_json:
        rows = [
            {"name": name, "value": _public(each.value), "origin": each.origin}
            for name, each in found.items()
        ]
        talk.data({"settings": rows, "file": settings.config_file()})
        return
    talk.table(
        [(name, _text(each.value), each.origin, SETTINGS[name].doc) for name, each in found.items()]
    )


@config.command("get", epilog=output.examples("cudaswitch config get channels"))
@click.argument("name")
def get(name: str) -> None:
    """Print the value of a setting; a list prints one item per line."""
    found = settings.value(settings.known(name))
    for each in found if isinstance(found, tuple) else (found,):
        if each is not None:
            talk.line(_text(each))


@config.command("set", epilog=output.examples("cudaswitch config set channels conda-forge nvidia"))
@click.argument("name")
@click.argument("values", nargs=-1, required=True, metavar="VALUE...")
def set_(name: str, values: tuple[str, ...]) -> None:
    """Write a setting to config.toml, and leave the rest of the file as it is."""
    kind = SETTINGS[settings.known(name)].kind
    many = kind in (settings.NAMES, settings.PATHS)
    if len(values) > 1 and not many:
        raise click.UsageError(f"{name} takes a single value")
    # A list may also be given in one word, as in a variable.
    each = [kind.from_text(value) for value in values]
    parts = tuple(part for one in each if isinstance(one, tuple) for part in one)
    _change(name, settings.checked(name, parts or values if many else each[0]))


@config.command("unset", epilog=output.examples("cudaswitch config unset channels"))
@click.argument("name")
def unset(name: str) -> None:
    """Remove a setting from config.toml."""
    # A name in the file that is no setting stops all other commands, so it can be removed too.
    _change(name if name in settings.written() else settings.known(name), None)


def _change(name: str, value: Value | None) -> None:
    from cudaswitch.changing import own_store  # noqa: PLC0415  # only writing needs it
    from cudaswitch.cli.refreshing import bring_up_to_date  # noqa: PLC0415  # the same
    from cudaswitch.configuring import change  # noqa: PLC0415  # the same

    # The change may make a file valid whose settings did not count until now.
    counts_anew = bool(settings.faults())
    change(name, value)
    _tell_of_variable(name)
    left = settings.faults()
    for fault in left:
        talk.caution(fault)
    if left:
        # All that follows needs a valid file, and the command that mends the rest comes by here.
        return
    try:
        if name == "libraries" or counts_anew:
            # Ready answers depend on this setting, and hooks have it written into them.
            bring_up_to_date()
        elif name == "stores":
            # Shims and completion cannot read TOML, and need the stores published.
            own_store().publish_anew()
    except CudaswitchError as error:
        # config.toml is not in the store, and has what was asked for.
        talk.say(f"cached answers, hooks and shims were not updated: {error.message}")


def _tell_of_variable(name: str) -> None:
    variable = SETTINGS[name].variable if name in SETTINGS else None
    if variable and os.environ.get(variable):
        talk.say(f"{variable} is set, and overrides the file")


def _public(value: Value | None) -> object:
    if isinstance(value, tuple):
        return [_public(each) for each in value]
    if not isinstance(value, str) or "://" not in value:
        return value
    from cudaswitch.download.urls import redact  # noqa: PLC0415  # few set URLs

    return redact(value)


def _text(value: Value | None) -> str:
    found = _public(value)
    if isinstance(found, list):
        return ", ".join(map(str, found))
    return found if isinstance(found, str) else "" if found is None else json.dumps(found)
