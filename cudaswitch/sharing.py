"""What shared stores have for an install: toolkits to lay cuDNN over, and cuDNN that is there."""

from __future__ import annotations

from collections.abc import Mapping

from cudaswitch.errors import StoreError
from cudaswitch.ownership import refuse_world_writable
from cudaswitch.planning import Shared
from cudaswitch.platforms import current_platform
from cudaswitch.store import all_stores, read_package
from cudaswitch.toolkit import Toolkit


def shared(libraries: Mapping[str, str]) -> Shared:
    """Find what shared stores have for an install of cuDNN packages.

    `libraries` maps their ids to the sha256 of their archives.
    """
    grounds: dict[str, Toolkit] = {}
    made: dict[str, dict[str, Toolkit]] = {}
    for store in all_stores()[1:] if libraries else ():
        try:
            # What we link to gets run.
            refuse_world_writable(store.home.folder)
            kits = store.present()
            there = filter(None, (read_package(store.home.packages / at) for at in libraries))
            same = {package.id for package in there if package.sha256 == libraries[package.id]}
        except StoreError:
            continue
        for kit in kits:
            is_bare = kit.base is None and (kit.cudnn is None or not kit.packages)
            if is_bare and kit.platform == current_platform():
                grounds.setdefault(kit.name, kit)
            for at in same.intersection(kit.packages):
                made.setdefault(at, {}).setdefault(kit.name, kit)
    return Shared(grounds, made)
