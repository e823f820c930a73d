"""The command for settings: config."""

from __future__ import annotations

import json
import os

import click

from cudaswitch import settings, talk
from cudaswitch.cli import output
from cudaswitch.errors import RequestError, StoreError, hint_for
from cudaswitch.settings import SETTINGS, Value

_PRIVATE = 0o600
"""A mirror's URL may hold a password."""


@click.group(epilog=output.examples("cudaswitch config set channels conda-forge nvidia"))
def config() -> None:
    """Settings that hold in every shell, kept in config.toml.

    A variable of the environment is stronger, and an option of a command stronger still.
    """


@config.command("list", epilog=output.examples("cudaswitch config list --json"))
@output.json_option
def listed(as_json: bool) -> None:
    """Show every setting, its value and who set it."""
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
    """Print one setting's value, a list in several lines."""
    found = settings.value(settings.known(name))
    for each in found if isinstance(found, tuple) else (found,):
        if each is not None:
            talk.line(_text(each))


@config.command("set", epilog=output.examples("cudaswitch config set channels conda-forge nvidia"))
@click.argument("name")
@click.argument("values", nargs=-1, required=True, metavar="VALUE...")
def set_(name: str, values: tuple[str, ...]) -> None:
    """Write a setting into config.toml; the rest of the file stays."""
    kind = SETTINGS[settings.known(name)].kind
    settings.refuse_others(name)
    many = kind in (settings.NAMES, settings.PATHS)
    if len(values) > 1 and not many:
        raise click.UsageError(f"{name} takes one value")
    _change(name, settings.checked(name, values if many else kind.from_text(values[0])))


@config.command("unset", epilog=output.examples("cudaswitch config unset channels"))
@click.argument("name")
def unset(name: str) -> None:
    """Take a setting out of config.toml."""
    # What is there and is no setting stops all other commands.
    _change(name if name in settings.written() else settings.known(name), None)


def _change(name: str, value: Value | None) -> None:
    from pathlib import Path  # noqa: PLC0415  # for who writes

    import tomlkit  # noqa: PLC0415  # the same
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415  # the same

    from cudaswitch.changing import own_store  # noqa: PLC0415  # the same
    from cudaswitch.cli.packages import bring_up_to_date  # noqa: PLC0415  # the same
    from cudaswitch.durable import sweep_beside, write_atomically  # noqa: PLC0415  # the same

    # Where the file is a link into somebody's dotfiles, the file there is written.
    path = Path(settings.config_file()).resolve()
    try:
        before = path.read_text(encoding="utf-8") if os.path.exists(path) else ""
        document = tomlkit.parse(before)
        # `"mirrors.conda" = ...` is one key.
        *outer, last = [name] if name in document else name.split(".")
        table = document
        for each in outer:
            table = table.setdefault(each, tomlkit.table())
        if value is None:
            table.pop(last, None)
            if outer and not table.as_string().strip():
                document.pop(outer[0])
        else:
            table[last] = list(value) if isinstance(value, tuple) else value
        text = tomlkit.dumps(document)
        # Also where a killed run has set it already.
        sweep_beside([path])
        if text != before:
            write_atomically(path, text, _PRIVATE)
    except (TOMLKitError, UnicodeDecodeError, AttributeError) as error:
        raise RequestError(f"`{path}` is no TOML: {error}", "mend the file") from None
    except OSError as error:
        why, hint = error.strerror, hint_for(error, "see who owns it")
        raise StoreError(f"cannot write `{path}`: {why}", hint) from None
    if value is None and text == before and name in settings.written():
        raise RequestError(f"cannot take `{name}` out of `{path}`", "mend the file")
    settings.forget()
    if name in SETTINGS:
        _tell_of_variable(name)
    # What was no setting may have kept another from coming true.
    if name == "libraries" or name not in SETTINGS:
        # Ready answers hold only where nothing is set, and hooks have it written into them.
        bring_up_to_date()
    elif name == "stores":
        # Shims and completion read no TOML.
        own_store().publish_anew()


def _tell_of_variable(name: str) -> None:
    found = settings.asked(name)
    if found.origin == SETTINGS[name].variable:
        talk.say(f"{found.origin} is set, and is stronger than the file")


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
