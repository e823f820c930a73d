"""What `verify --repair` does: loaded only for it, with all that fetches and unpacks packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cudaswitch import talk
from cudaswitch.changing import OwnStore
from cudaswitch.cli.refreshing import bring_up_to_date
from cudaswitch.download.cache import workplace
from cudaswitch.errors import CudaswitchError, SourceError, StoreError
from cudaswitch.install import Artifact
from cudaswitch.mending import let_in, mend_package, mend_toolkit, origin, put_away, recipe_of
from cudaswitch.paths import cache
from cudaswitch.sources.exact import bring_exactly, of_package
from cudaswitch.staging import require_writable
from cudaswitch.store import already_told, read_toolkit
from cudaswitch.toolkit import Package
from cudaswitch.verifying import Finding, check


def repair_all(
    store: OwnStore, names: Sequence[str], findings: Sequence[Finding], offline: bool
) -> bool:
    """Repair all that `verify` has found in the user's own store, in the toolkits named or in all.

    What cannot be repaired is reported, and stops nothing else. Returns whether all could be.
    """
    require_writable(store.home, mends=True)
    failures: dict[str, CudaswitchError] = {}
    opened = False
    for owner in dict.fromkeys(one.owner for one in findings):
        with _noted(owner, failures):
            opened |= bool(let_in(store, owner))
    if opened:
        findings = check(store, names).findings
    findings = [one for one in findings if one.owner not in failures]
    strange = [one.owner for one in findings if one.kind == "extra" and not one.path]
    owners = dict.fromkeys(
        one.owner.partition("/")[::2] for one in findings if one.owner not in strange
    )
    # If nothing can be fetched, nothing is changed either.
    with workplace(cache()) as work:

        def obtain(package: Package) -> Artifact:
            file = of_package(package)
            try:
                [artifact] = bring_exactly([file], workdir=work, offline=offline)
            except SourceError as error:
                # Nobody has just typed the path, so checking it is no advice.
                is_local = file.origin.startswith(("/", "file:"))
                another = "put it back, or take another: cudaswitch install --force FILE"
                raise SourceError(
                    f"cannot repair {package.id}: {error.message}",
                    another if is_local else error.hint,
                ) from None
            return artifact

        for owner in strange:
            with _noted(owner, failures):
                put_away(store, owner)
        for name in [name for kind, name in owners if kind == "packages"]:
            with _noted(f"packages/{name}", failures):
                mend_package(store, origin(store, name), obtain)
    recipes = {}
    for name in [name for kind, name in owners if kind == "toolkits"]:
        owner = f"toolkits/{name}"
        with _noted(owner, failures):
            recipe = recipe_of(store, name)
            # No toolkit is composed of damaged packages.
            if not any(f"packages/{at}" in failures for at in recipe.toolkit.packages):
                recipes[owner] = recipe
        if owner in failures:
            _keep_from_advising(store, name)
    if recipes or not failures:
        # In one change: the answers are published once, when all records can be read.
        with store.changing():
            for owner, recipe in recipes.items():
                with _noted(owner, failures):
                    mend_toolkit(store, recipe)
        bring_up_to_date()
    for error in failures.values():
        talk.caution(error)
    return not failures


def _keep_from_advising(store: OwnStore, name: str) -> None:
    """Let nothing advise to repair a toolkit's record, which is beyond repair."""
    try:
        read_toolkit(store.home.toolkits / name)
    except StoreError as error:
        already_told(error)


@contextmanager
def _noted(owner: str, failures: dict[str, CudaswitchError]) -> Iterator[None]:
    """Keep in `failures` why something could not be done for a package or toolkit."""
    try:
        yield
    except CudaswitchError as error:
        failures[owner] = error
