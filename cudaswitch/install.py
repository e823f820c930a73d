"""Put packages into a store and compose every toolkit that they make possible."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from cudaswitch.changing import OwnStore
from cudaswitch.compose import compose, links_to
from cudaswitch.contents import Contents, contents_of
from cudaswitch.durable import sync_tree
from cudaswitch.errors import ArchiveError, StoreError, printable
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import CONTENTS, MANIFEST, cache
from cudaswitch.planning import NOTHING_SHARED, Recipe, Shared, Stock, release_of_pieces
from cudaswitch.platforms import current_platform
from cudaswitch.regular import toolkit_is_there
from cudaswitch.sharing import shared
from cudaswitch.staging import require_writable
from cudaswitch.store import Store, all_stores, read_package, read_toolkit
from cudaswitch.talk import say
from cudaswitch.toolkit import METAPACKAGE, Package, Toolkit, target_of
from cudaswitch.versions import Version

_LARGE = 8 << 20
"""Bytes of an archive that takes a second or more to unpack."""


class Artifact(NamedTuple):
    """A file to install and where it came from, without credentials.

    `source` is its source's name; None if the user named the file, whose kind then tells.
    `sha256` must match when it is unpacked, since the file may have been replaced after it was
    inspected; None if it is not known.
    """

    path: Path
    origin: str
    source: str | None = None
    sha256: str | None = None


class _Bundle(NamedTuple):
    """Identified files that are installed as one, sorted by id; `found` is in shared stores.

    `force` and `exact` are those of `install`.
    """

    named: list[tuple[Artifact, Package]]
    release: Version | None
    others: Shared
    found: list[Toolkit]
    force: bool
    exact: bool

    def recipes(self, store: Store, known: Mapping[str, Package]) -> list[Recipe]:
        """Plan what the store makes of the files and of the packages that are `known`, by id."""
        kits = {kit.name: kit for kit in store.toolkits()}
        at = frozenset(package.id for _, package in self.named)
        folder = str(store.home.toolkits)
        stock = Stock(folder, known, kits, at, self.force, self.exact, self.others)
        recipes = stock.recipes(self.release)
        # A base whose folder is gone gets cuDNN once it is adopted again.
        return [it for it in recipes if not it.toolkit.base or toolkit_is_there(it.toolkit.base)]


def install(
    store: OwnStore,
    deliveries: Sequence[tuple[Sequence[Artifact], Version | None]],
    *,
    platform: str | None = None,
    force: bool = False,
    exact: bool = False,
) -> list[list[Toolkit]]:
    """Add packages to the store and compose every toolkit that they make possible.

    Each delivery is files, and the CUDA release that the toolkit's pieces among them belong to;
    without one, it is read off nvcc or the runtime among them. With `exact`, no package that is
    there already is added to them. Returns for each delivery the toolkits that can now be used.
    Nothing is changed if one file cannot be installed.

    cuDNN is combined with toolkits of shared stores too. One that a shared store already has is
    installed here again only with `force`, or if it fits more toolkits here.
    """
    bundles = [
        _bundled(store, identified(artifacts, platform), release, force, exact)
        for artifacts, release in deliveries
    ]
    wanted = _each_once([one for bundle in bundles for one in bundle.named])
    if not wanted:
        return [bundle.found for bundle in bundles]
    require_writable(store.home)
    # Fail now if a toolkit cannot be read: what comes in is combined with them.
    store.toolkits(required=True)
    with contextlib.ExitStack() as held:
        # In one order for everybody, so that two installs never wait for each other.
        staged = {
            package.id: _stage(store, artifact, package, force, held)
            for artifact, package in wanted
        }
        with store.changing() as undo:
            known = {package.id: package for package in store.packages()}
            for package, stage in staged.values():
                if stage is None and package.id not in known:
                    raise StoreError(f"{package.id} was removed in the meantime", "try again")
                if stage is not None:
                    final = store.home.packages / package.id
                    store.staging.publish(stage, final, package.to_json(), undo, replaces=force)
            made = []
            for bundle in bundles:
                known |= {package.id: staged[package.id][0] for _, package in bundle.named}
                plan = bundle.recipes(store, known)
                for recipe in plan:
                    make(store, recipe, force, undo)
                made.append([*bundle.found, *(recipe.toolkit for recipe in plan)])
    return made


def _bundled(
    store: Store,
    named: list[tuple[Artifact, Package]],
    release: Version | None,
    force: bool,
    exact: bool,
) -> _Bundle:
    """Leave out of identified files what shared stores have, unless it is to be installed again."""
    named = named if force else [_as_stored(store, *one) for one in named]
    version = release or release_of_pieces([package for _, package in named])
    others = NOTHING_SHARED if exact else shared(_libraries_in(named))
    others = others._replace(made={}) if force else others
    found = [kit for kits in others.made.values() for kit in kits.values()]
    bundle = _Bundle(named, version, others, found, force, exact)
    if not others.made:
        return bundle
    known = {package.id: package for package in [*store.packages(), *(one for _, one in named)]}
    used = {at for recipe in bundle.recipes(store, known) for at in recipe.toolkit.packages}
    rest = [one for one in named if one[1].id not in others.made or one[1].id in used]
    return bundle._replace(named=rest)


def _as_stored(store: Store, artifact: Artifact, package: Package) -> tuple[Artifact, Package]:
    """Replace an old cuDNN archive by the package made from the same file under another name.

    Its version has a fourth part only if its name tells that.
    """
    if package.form != "cudnn":
        return artifact, package
    for other in store.packages():
        is_like_it = (other.form, other.cuda, other.size) == ("cudnn", package.cuda, package.size)
        if is_like_it and _hash_of(artifact) == other.sha256:
            return artifact._replace(sha256=other.sha256), other
    return artifact, package


def _libraries_in(named: Sequence[tuple[Artifact, Package]]) -> dict[str, str]:
    """Map the ids of cuDNN packages to the sha256 of their archives, if there are shared stores."""
    if len(all_stores()) == 1:
        return {}
    libraries = (one for one in named if one[1].component == "cudnn")
    return {package.id: _hash_of(artifact) for artifact, package in libraries}


def identified(
    artifacts: Sequence[Artifact], platform: str | None
) -> list[tuple[Artifact, Package]]:
    """Identify files without unpacking them: sorted by id, each package once.

    `platform` is the one that they are for, None for this machine's. conda-forge's empty `cudnn`
    is left out beside the libraries that it requires. Raises ArchiveError and StoreError for what
    could not be installed.
    """
    from cudaswitch.archives.unpacking import identify  # noqa: PLC0415  # adopting needs none

    named = []
    for artifact in artifacts:
        with _damage_discarded(artifact):
            package = identify(artifact.path, artifact.origin)
        _refuse_foreign(package, artifact, platform)
        _refuse_nameless(package, artifact)
        named.append((artifact, package))
    if any(package.component == "cudnn" for _, package in named):
        named = [one for one in named if (one[1].name, one[1].component) != ("cudnn", METAPACKAGE)]
    return _each_once(named)


def _each_once(named: Sequence[tuple[Artifact, Package]]) -> list[tuple[Artifact, Package]]:
    """Sort identified files by id, each package once; StoreError if two claim to be one.

    conda ships one package in two containers, of which the newer is taken.
    """
    found: dict[str, tuple[Artifact, Package]] = {}
    # Of conda's, the newer container is the first one here.
    for artifact, package in sorted(named, key=lambda one: one[1].form):
        rival, first = found.setdefault(package.id, (artifact, package))
        if rival is artifact or _hash_of(rival) == _hash_of(artifact):
            continue
        if (first.form, package.form) == ("conda", "conda-tar-bz2"):
            say(f"`{artifact.origin}` is left out: `{rival.origin}` is {package.id}, too")
            continue
        raise StoreError(
            f"`{rival.origin}` and `{artifact.origin}` both claim to be {package.id}",
            "install the one you trust",
        )
    return [found[at] for at in sorted(found)]


def _refuse_foreign(package: Package, artifact: Artifact, platform: str | None) -> None:
    wanted = platform or current_platform()
    target = target_of(package)
    if target in (wanted, "noarch"):
        return
    raise StoreError(
        f"`{artifact.origin}` is for {target}, and this is {wanted}"
        if platform is None
        else f"`{artifact.origin}` is for {target}, not for {platform}",
        f"to install it for such a machine, add --platform {target}",
    )


def _refuse_nameless(package: Package, artifact: Artifact) -> None:
    """Refuse a cuDNN archive that could be for any CUDA: it would be combined with every one."""
    if package.form == "cudnn" and package.cuda is None:
        raise StoreError(
            f"`{artifact.origin}` is cuDNN {package.version}, and only the name its publisher"
            " gave it says for which CUDA",
            f"rename it, such as to cudnn-10.1-linux-x64-v{package.version}.tgz",
        )


def _hash_of(artifact: Artifact) -> str:
    from cudaswitch.archives.unpacking import sha256_of  # noqa: PLC0415  # as above

    return artifact.sha256 or sha256_of(artifact.path)


def _stage(
    store: OwnStore, artifact: Artifact, identity: Package, force: bool, held: contextlib.ExitStack
) -> tuple[Package, Path | None]:
    """Unpack one file for publishing; gives no folder if the store has it already."""
    held.enter_context(store.lock(identity.id))
    present = None if force else read_package(store.home.packages / identity.id)
    if present and _hash_of(artifact) == present.sha256:
        return present, None
    stage = held.enter_context(store.staging.folder(f"package-{identity.id}"))
    fresh = unpacked(artifact, stage)
    package = fresh._replace(
        source=artifact.source or fresh.source,
        origin=artifact.origin,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    if package.id != identity.id or artifact.sha256 not in (None, package.sha256):
        raise StoreError(f"`{artifact.origin}` changed while it was being read", "try again")
    if present is None:
        return package, stage
    # conda ships one package in two containers, whose own hashes differ.
    if package.entries == present.entries:
        return present, None
    raise StoreError(
        f"`{artifact.origin}` claims to be {present.id}, which is installed from"
        f" `{present.origin}` with other content",
        "use --force to replace it with this one",
    )


def unpacked(artifact: Artifact, stage: Path) -> Package:
    """Unpack an archive in an empty folder of the store's staging, laid out as a package.

    All of it is on disk afterwards. A refusal names the archive's origin.
    """
    from cudaswitch.archives.unpacking import unpack  # noqa: PLC0415  # as above

    (stage / "tree").mkdir()
    (stage / "info").mkdir()
    try:
        with _damage_discarded(artifact), _progress(artifact) as seen:
            package = unpack(artifact.path, stage / "tree", stage / "info", artifact.origin, seen)
    except ArchiveError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.filename != str(artifact.path):
            # The store's failure, not the archive's.
            raise cause from None
        raise
    for name in (MANIFEST, CONTENTS):
        if os.path.lexists(stage / "tree" / package.root / name):
            raise ArchiveError(
                f"`{artifact.origin}` holds `{name}`, which is cudaswitch's own record of a"
                " toolkit",
                "get the file from its publisher; nothing was installed",
            )
    # Flush before the rename, and while nobody waits for the store.
    sync_tree(stage)
    return package


@contextlib.contextmanager
def _progress(artifact: Artifact) -> Iterator[Callable[[int], object] | None]:
    """Show on a terminal how far a large archive is read, by what is told its position."""
    # A file that is gone is for `unpack` to refuse.
    size = os.path.getsize(artifact.path) if os.path.exists(artifact.path) else 0
    if size < _LARGE or not sys.stderr.isatty():
        yield None
        return
    from cudaswitch.progress import bar  # noqa: PLC0415  # slow to load, and seldom needed

    name = printable(artifact.origin.rpartition("/")[2])
    with bar(f"unpacking {name}", size) as shown:
        yield lambda position: shown.update(position - shown.n)


@contextlib.contextmanager
def _damage_discarded(artifact: Artifact) -> Iterator[None]:
    """Let an archive that proves to be damaged leave the download cache, to be fetched anew."""
    try:
        yield
    except ArchiveError as error:
        from cudaswitch.archives.faults import DamagedError  # noqa: PLC0415  # faults alone need it
        from cudaswitch.download.cache import discard  # noqa: PLC0415  # damage alone needs it

        if isinstance(error.__cause__, DamagedError):
            discard(artifact.path, cache())
        raise


def make(store: OwnStore, recipe: Recipe, force: bool, undo: contextlib.ExitStack) -> None:
    """Compose a toolkit, unless the store has exactly this one already."""
    kit, final = recipe.toolkit, store.home.toolkits / recipe.toolkit.name
    present = read_toolkit(final)
    # The files of the base may have changed since.
    base = kit.base if kit.base and toolkit_is_there(kit.base) else None
    is_same = present == kit and not force
    if is_same and base is None:
        return
    with store.staging.folder(f"toolkit-{kit.name}") as stage:
        if recipe.packages:
            fill(store, recipe, stage)
        if is_same and base and links_to(base, stage) == links_to(base, final):
            return
        store.staging.publish(stage, final, kit.to_json(), undo, replaces=present is not None)
    # Where locks do not work, somebody may have removed one meanwhile.
    for at in kit.packages:
        if read_package(store.home.packages / at) is None:
            raise StoreError(f"{at} was removed in the meantime", "try again")


def fill(store: OwnStore, recipe: Recipe, stage: Path) -> Contents:
    """Compose a toolkit in an empty folder of the store's staging, with the list of its files.

    All of it is on disk afterwards.
    """
    kit, final = recipe.toolkit, store.home.toolkits / recipe.toolkit.name
    parts = [(package, store.tree(package)) for package in recipe.packages]
    base = Path(kit.base) if kit.base else None
    contents = contents_of(stage, recipe.packages, compose(parts, stage, final, kit.version, base))
    (stage / CONTENTS).write_text(contents.to_text(), encoding="utf-8")
    sync_tree(stage)
    return contents
