"""What `verify --repair` does: loaded by it alone, with all that brings and unpacks packages."""

from __future__ import annotations

from collections.abc import Sequence

from cudaswitch.changing import OwnStore
from cudaswitch.cli.packages import bring_up_to_date
from cudaswitch.download.cache import workplace
from cudaswitch.install import Artifact
from cudaswitch.mending import let_in, mend_package, mend_toolkits, origins, put_away
from cudaswitch.paths import cache
from cudaswitch.sources.exact import bring_exactly, of_package
from cudaswitch.staging import require_writable
from cudaswitch.toolkit import Package
from cudaswitch.verifying import Finding, check


def repair_all(
    store: OwnStore, names: Sequence[str], findings: Sequence[Finding], offline: bool
) -> None:
    """Put right all that `verify` has found in the person's own store, of toolkits or of all."""
    require_writable(store.home, mends=True)
    if let_in(store, dict.fromkeys(one.owner for one in findings)):
        findings = check(store, names).findings
    strange = [one.owner for one in findings if one.kind == "extra" and not one.path]
    owners = dict.fromkeys(
        one.owner.partition("/")[::2] for one in findings if one.owner not in strange
    )
    # Where nothing can be brought, nothing is changed either.
    with workplace(cache()) as work:

        def obtain(package: Package) -> Artifact:
            [artifact] = bring_exactly([of_package(package)], workdir=work, offline=offline)
            return artifact

        if strange:
            put_away(store, strange)
        known = origins(store, [name for kind, name in owners if kind == "packages"])
        for package in known.values():
            mend_package(store, package, obtain)
    mend_toolkits(store, [name for kind, name in owners if kind == "toolkits"])
    bring_up_to_date()
