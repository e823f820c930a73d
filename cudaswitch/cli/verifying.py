"""The command that looks for damage in the store: verify."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import click

from cudaswitch import talk
from cudaswitch.changing import own_store
from cudaswitch.cli import options, output
from cudaswitch.cli.packages import one_anywhere
from cudaswitch.cli.refreshing import bring_up_to_date
from cudaswitch.errors import StoreError
from cudaswitch.store import Store, all_stores
from cudaswitch.verifying import Finding, Report, check


@click.command(
    epilog=output.examples("cudaswitch verify", "cudaswitch verify 10.1.243+cudnn7.6.5 --repair")
)
@click.argument("toolkits", nargs=-1, metavar="[TOOLKIT...]")
@click.option("--repair", is_flag=True, help="Restore damaged files from their source.")
@options.offline
@output.json_option
def verify(toolkits: tuple[str, ...], repair: bool, offline: bool, as_json: bool) -> None:
    """Check every file of toolkits and packages against the hash recorded at install.

    Prints one line for each file that is changed, missing, or should not be there, and exits with
    1 if there are any. The default is to check everything, shared stores included; --repair fixes
    only your own store. It moves files that should not be there aside instead of deleting them.
    """
    store = own_store()
    stores = [store, *all_stores()[1:]]
    names: dict[Store, list[str]] = {} if toolkits else {one: [] for one in stores}
    for name in toolkits:
        at, found = _named(stores, name)
        names.setdefault(at, []).append(found)
    reports: dict[Store, Report] = {}
    unread = None
    for one, some in names.items():
        try:
            reports[one] = check(one, some)
        except StoreError as error:
            if not one.shared:
                raise
            unread = StoreError(error.message, one.ask_maintainer)
            talk.caution(unread)
    mended: list[Finding] = []
    is_whole = True
    if repair and store in reports and reports[store].findings:
        before = reports[store].findings
        from cudaswitch.cli.repairing import repair_all  # noqa: PLC0415  # loads what installs

        is_whole = repair_all(store, names[store], before, offline)
        reports[store] = check(store, names[store])
        left = {one.shown for one in reports[store].findings}
        mended = [one for one in before if one.shown not in left]
    elif repair:
        bring_up_to_date()
    # What could not be repaired has been reported, with its own hint.
    if is_whole or as_json:
        _tell(store, reports, mended, as_json)
    else:
        _tell_of_mended(mended)
    if unread or not is_whole or any(report.findings for report in reports.values()):
        raise click.exceptions.Exit(1)


def _named(stores: Sequence[Store], name: str) -> tuple[Store, str]:
    for store in stores:
        # A toolkit whose record is damaged cannot be looked up.
        if name in store.names():
            return store, name
    store, kit = one_anywhere(stores, name)
    return store, kit.name


def _tell(
    own: Store, reports: Mapping[Store, Report], mended: Sequence[Finding], as_json: bool
) -> None:
    found = [(store, one) for store, report in reports.items() for one in report.findings]
    adopted = {name: at for report in reports.values() for name, at in report.adopted.items()}
    toolkits = [name for report in reports.values() for name in report.toolkits]
    packages = [name for report in reports.values() for name in report.packages]
    if as_json:
        talk.data(
            {
                "toolkits": toolkits,
                "packages": packages,
                "adopted": adopted,
                "findings": [_row(store, one) for store, one in found],
                "repaired": [one.shown for one in mended],
            }
        )
        return
    talk.table([(one.kind, _place(store, one)) for store, one in found])
    for name, at in adopted.items():
        gone = "" if os.path.isdir(at) else ", which is gone"
        talk.say(f"not verified: {name}, adopted from `{at}`{gone}")
    _tell_of_mended(mended)
    if found:
        hint = "cudaswitch verify --repair" if not mended else "check what else writes there"
        store, _ = found[0]
        if store is not own:
            place = f"`{store.home.root}`"
            hint = f"only the maintainers of {place} can repair it, with CUDASWITCH_HOME set to it"
        talk.say(f"{talk.counted(len(found), 'file')} not as recorded")
        talk.hint(hint)
    elif not (toolkits or packages):
        talk.say("nothing to verify")
    else:
        parts = talk.counted(len(packages), "package")
        talk.say(f"{talk.counted(len(toolkits), 'toolkit')} of {parts}: every file as recorded")


def _tell_of_mended(mended: Sequence[Finding]) -> None:
    if mended:
        talk.say(f"repaired {talk.counted(len(mended), 'file')}")


def _place(store: Store, one: Finding) -> str:
    """Return the path of a finding; a link in place of a whole folder is shown as by `ls`."""
    path = store.home.root / one.shown
    return f"{path} -> {path.readlink()}" if not one.path and os.path.islink(path) else str(path)


def _row(store: Store, one: Finding) -> dict[str, str]:
    return {"kind": one.kind, "owner": one.owner, "path": str(store.home.root / one.shown)}
