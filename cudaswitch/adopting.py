"""A toolkit that is already there, registered where it is."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

from cudaswitch.changing import OwnStore
from cudaswitch.errors import StoreError
from cudaswitch.install import make
from cudaswitch.paths import MANIFEST
from cudaswitch.planning import Recipe, Stock
from cudaswitch.platforms import current_platform
from cudaswitch.staging import require_writable
from cudaswitch.store import Store, names_in, read_toolkit
from cudaswitch.talk import say
from cudaswitch.toolkit import Toolkit, refuse_unsafe_path, toolkit_name
from cudaswitch.versions import Version


def adopt(store: OwnStore, path: Path, version: Version, cudnn: Version | None = None) -> Toolkit:
    """Register a toolkit where it is, and compose it with every cuDNN that fits.

    `cudnn` is the one that was copied into it. A toolkit that was adopted already, without that
    cuDNN or as another version, is renamed. What was composed from it is composed anew, also if
    only its files have changed.
    """
    _refuse_place(store, path)
    require_writable(store.home)
    store.toolkits(required=True)
    with store.changing() as undo:
        made = adoption(store, path, version, cudnn)
        kit, names = made[0].toolkit, {recipe.toolkit.name for recipe in made}
        before = store.toolkits()
        for recipe in made:
            make(store, recipe, False, undo)
        for other in before:
            is_of_it = other.source == "system" and kit.path in (other.path, other.base)
            if is_of_it and other.name not in names:
                store.staging.discard(store.home.toolkits / other.name, undo)
    return kit


def set_damaged_aside(store: OwnStore, version: Version, cudnn: Version | None) -> None:
    """Set aside the damaged record of a toolkit that is adopted again: it blocks the name."""
    folder = store.home.toolkits / toolkit_name(version, cudnn, current_platform())
    try:
        read_toolkit(folder)
    except StoreError:
        # A folder with more than a record was installed, and can be repaired.
        if names_in(folder) == [MANIFEST]:
            require_writable(store.home)
            with store.held():
                kept = store.staging.set_aside(folder)
            say(f"moved `{folder}`, whose record is damaged, to `{kept}`")


def adoption(
    store: Store, path: Path, version: Version, cudnn: Version | None
) -> tuple[Recipe, ...]:
    """Plan what `adopt` would make: the toolkit itself, then it with every cuDNN that fits.

    Raises StoreError if that is impossible.
    """
    _refuse_place(store, path)
    platform = current_platform()
    kits = {kit.name: kit for kit in store.toolkits()}
    name = toolkit_name(version, cudnn, platform)
    if name in kits and kits[name].packages and kits[name].source == "system":
        # A package already lays the same cuDNN over it: this is the bare toolkit below.
        cudnn, name = None, toolkit_name(version, None, platform)
    kit = Toolkit(name, version, cudnn, str(path), "system", platform)
    known = {package.id: package for package in store.packages()}
    stock = Stock(str(store.home.toolkits), known, kits)
    made = (Recipe(kit, ()), *stock.with_cudnn(kit))
    for recipe in made:
        present = kits.get(recipe.toolkit.name)
        if not present or (present.source, present.path) == ("system", recipe.toolkit.path):
            continue
        # An adopted toolkit whose folder is gone was moved: it is now at `path`.
        if present.source != "system" or os.path.isdir(present.ground):
            raise StoreError(
                f"`{path}` would be toolkit {present.name}, which already exists, at"
                f" `{present.path}`",
                f"give this one another version: cudaswitch adopt {quote(str(path))} --as VERSION",
            )
    return made


def _refuse_place(store: Store, path: Path) -> None:
    # The hint does not suggest a link, which would be resolved.
    refuse_unsafe_path(str(path), "move it to a plain folder, or `mount --bind` it onto one")
    if path.is_relative_to(store.home.toolkits.resolve()):
        raise StoreError(f"`{path}` is already in the store", "cudaswitch list")
