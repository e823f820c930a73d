"""The command that registers toolkits where they are: adopt."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from cudaswitch import talk, telling
from cudaswitch.adopting import adopt as adopt_toolkit
from cudaswitch.adopting import adoption, set_damaged_aside
from cudaswitch.changing import OwnStore, own_store
from cudaswitch.cli import output
from cudaswitch.cli.outcome import tell_of_building, tell_of_roots
from cudaswitch.cli.refreshing import brought_up_to_date
from cudaswitch.errors import StoreError
from cudaswitch.holders import Holding, holdings, without_toolkit
from cudaswitch.paths import MANIFEST
from cudaswitch.platforms import current_platform
from cudaswitch.sources import system
from cudaswitch.store import Store, all_toolkits
from cudaswitch.toolkit import Toolkit, toolkit_name
from cudaswitch.versions import Version


@click.command(epilog=output.examples("cudaswitch adopt /usr/local/cuda-13.0"))
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--as", "version", metavar="VERSION", help="Version to record, instead of the one detected."
)
@click.option("--scan", is_flag=True, help="Find the toolkits on this machine.")
@click.option("--yes", is_flag=True, help="With --scan: adopt every toolkit found.")
@output.json_option
def adopt(path: Path | None, version: str | None, scan: bool, yes: bool, as_json: bool) -> None:
    """Register a toolkit that is already on this machine, where it is, without copying it."""
    if scan == (path is not None):
        raise click.UsageError("give either a PATH or --scan")
    if version and scan:
        raise click.UsageError("--as requires a PATH")
    if yes and not scan:
        raise click.UsageError("--yes requires --scan")
    store = own_store()
    if path is not None:
        kits = [_adopt_at(store, path, version)]
    else:
        kits = _scanned(store, store.toolkits(required=yes))
        if yes:
            with brought_up_to_date():
                kits = list(_adopt_each(store, kits))
    adopted = {kit.name: kit.path for kit in store.toolkits()}
    known = [adopted.get(kit.name) == kit.path for kit in kits]
    if as_json:
        rows = zip(kits, known, strict=True)
        talk.data({"toolkits": [{**kit.to_json(), "adopted": is_known} for kit, is_known in rows]})
        return
    only_looks = scan and not yes
    marks = ["adopted" if only_looks and is_known else "" for is_known in known]
    talk.table([(kit.name, kit.path, mark) for kit, mark in zip(kits, marks, strict=True)])
    if not only_looks:
        for kit in kits:
            tell_of_building(kit, store.compiler_of(kit))
        tell_of_roots(store)
    elif not kits:
        talk.say("no toolkit found on this machine")
    elif not all(known):
        talk.hint("cudaswitch adopt PATH, or cudaswitch adopt --scan --yes for all")


def _adopt_at(store: OwnStore, path: Path, version: str | None) -> Toolkit:
    """Adopt one toolkit; say so if it had another name, which others may ask for."""
    real = system.resolved(path)
    system.refuse_environment(real)
    detected = Version(version) if version else system.version_of(real)
    cudnn = system.cudnn_of(real)
    set_damaged_aside(store, detected, cudnn)
    before = {kit.path: kit.name for kit in store.toolkits(required=True)}.get(str(real))
    lacking = {one.file for one in _unanswered()} if before else set()
    with brought_up_to_date():
        kit = adopt_toolkit(store, real, detected, cudnn)
    if before and before != kit.name:
        talk.say(f"`{before}` is now called {kit.name}")
        if lost := [one for one in _unanswered() if one.file not in lacking]:
            telling.without_answer(lost)
            talk.hint("pin them anew, or install what they ask for")
    return kit


def _unanswered() -> list[Holding]:
    kits = all_toolkits()
    return without_toolkit(holdings(kits), kits)[0]


def _scanned(store: Store, known: Sequence[Toolkit]) -> list[Toolkit]:
    """List the machine's toolkits as they would be adopted, without those of our own.

    `known` are those of the store, in which they may be adopted already.
    """
    platform = current_platform()
    inside, given = store.home.root.resolve(), _numbers(store, known)
    found = [
        (at, given.get(str(at), version), system.cudnn_of(at))
        for at, version in system.scan(os.environ).items()
        if not at.is_relative_to(inside)
    ]
    return [
        Toolkit(toolkit_name(version, cudnn, platform), version, cudnn, str(at), "system", platform)
        for at, version, cudnn in found
    ]


def _numbers(store: Store, known: Sequence[Toolkit]) -> dict[str, Version]:
    """Map the folders of adopted toolkits to their versions, unless upgraded in place since."""
    found = {}
    for kit in known:
        record = store.home.at("toolkits", kit.name, MANIFEST)
        with contextlib.suppress(OSError):
            if not kit.packages and not system.is_newer_than(kit.path, record):
                found[kit.path] = kit.version
    return found


def _adopt_each(store: OwnStore, found: Sequence[Toolkit]) -> Iterator[Toolkit]:
    """Adopt each toolkit; say why if one cannot be adopted."""
    for kit in found:
        words = (store, Path(kit.path), kit.version, kit.cudnn)
        try:
            adoption(*words)
        except StoreError as error:
            talk.caution(StoreError(f"skipped: {error.message}", error.hint))
            continue
        yield adopt_toolkit(*words)
