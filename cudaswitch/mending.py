"""Repair what `verifying` found: a damaged file is replaced by one rename, others are not touched.

Nothing is removed as a whole before its replacement is there, so a killed repair has mended what
it got to, and the next one goes on. Files that do not belong are set aside.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from cudaswitch.changing import OwnStore
from cudaswitch.contents import Contents, read_contents
from cudaswitch.durable import rename, sync_folder, write_atomically
from cudaswitch.errors import RequestError, StoreError
from cudaswitch.install import Artifact, fill, unpacked
from cudaswitch.ownership import is_open_as
from cudaswitch.paths import CONTENTS, MANIFEST
from cudaswitch.planning import Recipe
from cudaswitch.sharing import shared
from cudaswitch.staging import manifest_text
from cudaswitch.store import names_in, out_of_reach, read_package, read_toolkit
from cudaswitch.talk import say
from cudaswitch.toolkit import Package, Toolkit, platform_of
from cudaswitch.verifying import Difference, Hashes, compare
from cudaswitch.versions import Version

Obtain = Callable[[Package], Artifact]
"""Brings a package's file, checked against its sha256."""


def origin(store: OwnStore, at: str) -> Package:
    """Return what is known of a package, from its own record or from that of a toolkit.

    Raises StoreError for one that is known nowhere.
    """
    with suppress(StoreError):
        if package := read_package(store.home.packages / at):
            return package
    for name in names_in(store.home.toolkits):
        with suppress(StoreError):
            contents = read_contents(store.home.toolkits / name)
            for package in contents.packages if contents else ():
                if package.id == at:
                    return package
    raise StoreError(
        f"there is no longer any record of where {at} came from",
        f"delete `{store.home.packages / at}`, then reinstall it",
    )


def let_in(store: OwnStore, owner: str) -> list[Path]:
    """Open folders of a package or toolkit that are closed to us, or not as open as the store is.

    Returns them. Raises StoreError if one is somebody else's.
    """
    with store.held():
        return list(_opened(store.home.root / owner, store.home.root.stat().st_mode))


def _opened(owner: Path, store: int) -> Iterator[Path]:
    """Give the store's mode to folders that we may not change or that are not open as it is."""
    folders = [owner]
    for folder in folders:
        if os.path.islink(folder) or not os.path.isdir(folder):
            continue
        is_shut = not os.access(folder, os.R_OK | os.W_OK | os.X_OK)
        if is_shut or not is_open_as(store, folder.stat().st_mode):
            try:
                folder.chmod(store & 0o2775 | stat.S_IRWXU)
            except PermissionError:
                what = "closed to you" if is_shut else "not open as the store is"
                raise StoreError(
                    f"`{folder}` is {what}, and somebody else's",
                    "ask its owner to run cudaswitch verify --repair",
                ) from None
            yield folder
        folders += [folder / name for name in os.listdir(folder)]


def put_away(store: OwnStore, owner: str) -> None:
    """Set aside what is among packages or toolkits, but is neither."""
    with store.held():
        store.staging.set_aside(store.home.root / owner)


def mend_package(store: OwnStore, known: Package, obtain: Obtain) -> None:
    """Replace the damaged parts of a package with those of its archive."""
    artifact = obtain(known)
    with ExitStack() as held:
        held.enter_context(store.lock(known.id))
        stage = held.enter_context(store.staging.folder(f"package-{known.id}"))
        fresh = unpacked(artifact, stage)._replace(
            source=known.source, origin=known.origin, date=known.date
        )
        if (fresh.id, fresh.sha256) != (known.id, known.sha256):
            raise StoreError(f"`{artifact.origin}` is not the file that {known.id} came from")
        with store.held(), ExitStack() as undo:
            final = store.home.packages / known.id
            if os.path.islink(final) or not os.path.isdir(final):
                store.staging.set_aside(final)
                store.staging.publish(stage, final, fresh.to_json(), undo)
                undo.pop_all()
                return
            with Hashes() as hashes:
                mode = store.home.root.stat().st_mode
                wrong = compare(final / "tree", fresh.entries, hashes, mode)
            for kind, path in wrong:
                _put_right(store, kind, stage / "tree" / path, final / "tree" / path)
            write_atomically(stage / MANIFEST, manifest_text(fresh.to_json()))
            _put_right(store, "changed", stage / MANIFEST, final / MANIFEST)


def mend_toolkit(store: OwnStore, recipe: Recipe) -> None:
    """Compose a toolkit anew beside the one that is there, and replace what differs.

    The caller holds the store.
    """
    name = recipe.toolkit.name
    final = store.home.toolkits / name
    with store.staging.folder(f"toolkit-{name}") as stage, ExitStack() as undo:
        contents = fill(store, recipe, stage)
        if os.path.islink(final):
            say(f"{name} was a link to `{final.readlink()}`, which stays as it is")
            known = recipe.toolkit.to_json()
            store.staging.publish(stage, final, known, undo, replaces=True)
            undo.pop_all()
            return
        write_atomically(stage / MANIFEST, manifest_text(recipe.toolkit.to_json()))
        for kind, path in _differences(store, stage, final, contents):
            _put_right(store, kind, stage / path, final / path)
        for record in (CONTENTS, MANIFEST):
            _put_right(store, "changed", stage / record, final / record)


def _differences(store: OwnStore, stage: Path, final: Path, contents: Contents) -> list[Difference]:
    own = {}
    for entry in contents.entries:
        if entry.placeholder:
            content = (stage / entry.path).read_bytes()
            own[entry.path] = len(content), hashlib.sha256(content).hexdigest()
    mode, inside = store.home.root.stat().st_mode, store.home.packages
    with Hashes() as hashes:
        found = compare(final, contents.entries, hashes, mode, own=own, inside=inside)
    return [(kind, path) for kind, path in found if path not in (MANIFEST, CONTENTS)]


def _toolkit(folder: Path) -> Toolkit:
    """Return what a toolkit is, by its record, else by its name and list."""
    with suppress(StoreError):
        if kit := read_toolkit(folder):
            return kit
    contents = None
    with suppress(StoreError):
        contents = read_contents(folder)
    if contents is None:
        # Of an adopted toolkit, the store has only the record.
        was_adopted = names_in(folder) == [MANIFEST]
        raise StoreError(
            f"there is no longer any record of what toolkit {folder.name} is made of",
            f"adopt it again: cudaswitch adopt PATH; or delete `{folder}`"
            if was_adopted
            else f"delete `{folder}`, and install it again",
        )
    packages = contents.packages
    libraries = [package.version for package in packages if package.component == "cudnn"]
    with suppress(RequestError):
        kit = Toolkit(
            folder.name,
            Version(folder.name.partition("@")[0].partition("+")[0]),
            libraries[0] if libraries else None,
            str(folder),
            packages[0].source,
            platform_of(packages),
            tuple(package.id for package in packages),
        )
        if kit.has_its_name():
            return kit
    raise StoreError(
        f"no toolkit of these packages can be called `{folder.name}`",
        f"give `{folder}` the name that it had, or delete it",
    )


def _adopted(store: OwnStore) -> Iterator[Toolkit]:
    for name in names_in(store.home.toolkits):
        # Other records may be damaged too.
        with suppress(StoreError):
            kit = read_toolkit(store.home.toolkits / name)
            if kit and not kit.packages:
                yield kit


def recipe_of(store: OwnStore, name: str) -> Recipe:
    """Return how a toolkit of the store is composed.

    Raises StoreError if a package of it is missing, or nothing tells what it is made of.
    """
    folder = store.home.toolkits / name
    kit = _toolkit(folder)
    # Without a record, there is nothing that `remove` could find, or `adopt` could replace.
    is_recorded = kit.base is not None
    packages = []
    for at in kit.packages:
        package = read_package(store.home.packages / at)
        if package is None:
            raise StoreError(f"toolkit {kit.name} is missing its package {at}")
        packages.append(package)
    if kit.base is None and all(package.component == "cudnn" for package in packages):
        # A list does not name the base, which may be adopted and have a cuDNN of its own.
        others = shared({package.id: package.sha256 for package in packages}).grounds
        same = kit.version, kit.platform
        below = (
            one
            for one in (*_adopted(store), *others.values())
            if (one.version, one.platform) == same
        )
        bare = next(below, None)
        if bare is None:
            raise StoreError(
                f"the toolkit that {kit.name} is based on is no longer known",
                f"delete `{folder}`, then adopt that toolkit again: cudaswitch adopt PATH",
            )
        kit = kit._replace(base=bare.path, source=bare.source)
    if away := out_of_reach(kit):
        why, hint = away.why_unseen()
        based = f"the toolkit `{kit.ground}` that {kit.name} is based on"
        raise StoreError(f"{based} is out of reach; {why}", hint)
    if not os.path.isdir(kit.ground):
        raise StoreError(
            f"the toolkit `{kit.ground}` that {kit.name} is based on is gone",
            f"adopt it again where it is now, or run cudaswitch remove {kit.name}"
            if is_recorded
            else f"delete `{folder}`, then adopt that toolkit where it is now",
        )
    return Recipe(kit, tuple(packages))


def _put_right(store: OwnStore, kind: str, fresh: Path, at: Path) -> None:
    """Replace a file by the fresh one; set aside what stands in its way or does not belong.

    Nothing is done through a link, which may lead to an adopted toolkit.
    """
    # Of a folder, only the mode is wrong, and `let_in` could not change it.
    if os.path.isdir(fresh) and not os.path.islink(fresh):
        return
    inside = at.relative_to(store.home.root).parts
    folders = [store.home.root.joinpath(*inside[:count]) for count in range(3, len(inside))]
    if kind == "extra":
        # Below a restored link, the file is gone already: it was set aside with the folder there.
        if not any(map(os.path.islink, folders)):
            store.staging.set_aside(at)
        return
    for folder in folders:
        if os.path.islink(folder) or os.path.isfile(folder):
            store.staging.set_aside(folder)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
    if os.path.isdir(at) and not os.path.islink(at):
        store.staging.set_aside(at)
    rename(fresh, at)
    sync_folder(at.parent)
