"""Commands on what is installed: list, remove, alias."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from cudaswitch import talk
from cudaswitch.changing import own_store
from cudaswitch.cli import output
from cudaswitch.cli.refreshing import bring_up_to_date, brought_up_to_date
from cudaswitch.errors import NotInstalledError, RequestError, StoreError, brief
from cudaswitch.holders import held_by, holdings
from cudaswitch.paths import identity
from cudaswitch.platforms import at_home
from cudaswitch.processes import users_of
from cudaswitch.store import Store, all_stores, all_toolkits, dealias, find, followed
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import LONGEST_NAME, TAKEN, is_alias_name, parse_request, quote_request


@click.command("list", epilog=output.examples("cudaswitch list --json"))
@output.json_option
def list_command(as_json: bool) -> None:
    """List what is installed, which toolkit is active, and what pins each."""
    from cudaswitch import telling  # noqa: PLC0415  # only this needs it

    telling.installed(as_json)


@click.command(epilog=output.examples("cudaswitch remove 10.1.243+cudnn7.6.5"))
@click.argument("toolkits", nargs=-1, required=True, metavar="TOOLKIT...")
@click.option("--force", is_flag=True, help="Remove it even if it is pinned or in use.")
def remove(toolkits: tuple[str, ...], force: bool) -> None:
    """Remove toolkits, and packages that only they used.

    Refuses if a toolkit is pinned, or if a running process has its files mapped, and says by what.
    An adopted toolkit's files stay where they are: it is only unregistered.
    """
    from cudaswitch import telling  # noqa: PLC0415  # `alias` needs none of it

    store = own_store()
    try:
        chosen = list(dict.fromkeys(_one_installed(name) for name in toolkits))
    except NotInstalledError:
        # A killed run may have removed it without updating hooks.
        bring_up_to_date()
        raise
    if not force:
        pinned = held_by(holdings(all_toolkits()))
        for kit in chosen:
            if by := pinned.get(identity(kit.path)):
                raise StoreError(
                    f"{kit.name} is pinned by {', '.join(by)}",
                    f"unpin it there, or run cudaswitch remove --force {kit.name}",
                )
        _refuse_used([kit.name for kit in chosen], store.folders_of(chosen))
    with brought_up_to_date():
        for kit in chosen:
            # A process that has begun to use it since is found by where the files are then.
            store.remove(kit, (lambda _: None) if force else partial(_refuse_used, [kit.name]))
            telling.removed(kit)


def _refuse_used(names: list[str], folders: list[Path]) -> None:
    if users := users_of(folders):
        raise StoreError(
            f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} in use by {', '.join(users)}",
            f"end it, or run cudaswitch remove --force {' '.join(names)}",
        )


def _one_installed(name: str) -> Toolkit:
    """Return the toolkit that a name or request means in the user's own store.

    Raises StoreError if it means several, or only one in a shared store; NotInstalledError for the
    name of one that is gone, or a removal that is repeated would take what shares its version.
    """
    stores = all_stores()
    store, fitting = _fitting(stores, name)
    if store is not stores[0]:
        raise StoreError(
            f"{fitting[-1].name} is in the shared store `{store.home.root}`, not in your own",
            "only its maintainers can change it, with CUDASWITCH_HOME set to it",
        )
    kit = _only(name, fitting)
    if kit.name.startswith((f"{name}+", f"{name}@")):
        raise NotInstalledError(
            f"no toolkit `{name}` is installed", f"{kit.name} is: cudaswitch remove {kit.name}"
        )
    return kit


def one_anywhere(stores: Sequence[Store], name: str) -> tuple[Store, Toolkit]:
    """Return the toolkit that a name or request means in the first store that has one."""
    store, fitting = _fitting(stores, name)
    return store, _only(name, fitting)


def _fitting(stores: Sequence[Store], name: str) -> tuple[Store, list[Toolkit]]:
    for matching in (_called, _requested):
        for store in stores:
            if fitting := matching(store, name):
                return store, fitting
    raise NotInstalledError(f"no toolkit `{name}` is installed", "cudaswitch list")


def _only(name: str, fitting: list[Toolkit]) -> Toolkit:
    if len(fitting) > 1:
        raise StoreError(
            f"`{name}` matches {len(fitting)} toolkits: {', '.join(kit.name for kit in fitting)}",
            "give the full name of each one",
        )
    return fitting[0]


def _is_path(name: str) -> bool:
    return name.startswith(("/", "~", "."))


def _called(store: Store, name: str) -> list[Toolkit]:
    path = identity(at_home(name)) if _is_path(name) else None
    return [kit for kit in store.toolkits() if kit.name == name or identity(kit.path) == path]


def _requested(store: Store, name: str) -> list[Toolkit]:
    if _is_path(name):
        return []
    try:
        request = dealias(parse_request(name))
    except NotInstalledError as error:
        message = f"no toolkit `{name}` is installed, and {error.message}"
        raise NotInstalledError(message, error.hint) from None
    return [kit for kit in store.toolkits() if kit.fits(request)]


def _tell_of_askers(alias: str) -> None:
    """Say who still asks for an alias that is gone."""
    pins = holdings(all_toolkits())
    asking = [one.holder for one in pins if (one.request or "").partition("+")[0] == alias]
    if asking:
        talk.say(f"`{alias}` is still asked for by {talk.some_of(asking)}")
        talk.hint(f"cudaswitch alias {alias} VERSION")


@click.command(epilog=output.examples("cudaswitch alias thesis 10.1+cudnn7.6"))
@click.argument("name", required=False)
@click.argument("request", required=False)
@click.option("--delete", is_flag=True, help="Delete the alias.")
def alias(name: str | None, request: str | None, delete: bool) -> None:
    """Make NAME an alias for REQUEST; without arguments, list the aliases."""
    store = own_store()
    if delete and (name is None or request is not None):
        raise click.UsageError("--delete takes the alias to delete, and nothing else")
    if name is None:
        talk.table(list(store.aliases().items()))
        return
    if not is_alias_name(name):
        if name in TAKEN:
            raise RequestError(f"`{name}` is a reserved word", "choose another name")
        raise RequestError(
            f"`{brief(name)}` cannot be an alias",
            "start with a letter, then use letters, digits, `_` and `-`;"
            f" at most {LONGEST_NAME} characters",
        )
    if delete:
        if name not in store.aliases():
            raise NotInstalledError(f"no alias `{name}` is known", "cudaswitch alias")
        store.set_alias(name, None)
        bring_up_to_date()
        _tell_of_askers(name)
        return
    if request is None:
        raise click.UsageError("say what the alias stands for: a version, a range or a name")
    meant = parse_request(request)
    # Follow the alias as it would be then: it may lead to itself.
    tables = [store.aliases() | {name: str(meant)}, *(one.aliases() for one in all_stores()[1:])]
    end = followed(parse_request(name), tables)
    store.set_alias(name, str(meant))
    bring_up_to_date()
    if end.text in ("auto", "system"):
        return
    try:
        find(end)
    except NotInstalledError:
        talk.say(f"CUDA {end} is not installed yet")
        talk.hint(f"cudaswitch install {quote_request(str(end))}")
