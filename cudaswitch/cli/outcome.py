"""What commands say of what they have installed: what builds with it, and what it lacks."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from cudaswitch import talk
from cudaswitch.detect.machine import glibc
from cudaswitch.environments import sudo_caller
from cudaswitch.hostcompiler import limit_of_glibc, what_compiles
from cudaswitch.platforms import current_platform
from cudaswitch.programs import search_path
from cudaswitch.store import Store, compiles_here
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import quote_request


def tell_of_building(kit: Toolkit, compiler: str | None) -> None:
    """Say if a toolkit's nvcc is too old for this machine's C library or its compiler.

    `compiler` is the one that is named for it instead; if that is not there, a hint says which
    package brings it.
    """
    if not compiles_here(kit):
        return
    library = glibc()
    limit = limit_of_glibc(Path(kit.path), kit.version, library)
    if limit:
        talk.say(f"{limit.text}; this machine has glibc {library}")
    if compiler is None:
        return
    found = what_compiles(Path(kit.path), kit.version, {"PATH": search_path(os.environ)})
    is_there = os.path.exists(compiler)
    talk.say(f"{found}, so nvcc will use it" if is_there and found.better else str(found))
    if not is_there and found.hint:
        talk.hint(found.hint)


def tell_of_no_toolkit(
    store: Store, brought: Collection[str] = (), beside_others: bool = False
) -> None:
    """Say that what was installed is not part of a toolkit yet, such as cuDNN alone.

    `brought` are the origins of its files; with `beside_others`, there are toolkits among it.
    """
    used = {package for kit in store.toolkits() for package in kit.packages}
    alone = [
        one
        for one in store.packages()
        if one.component == "cudnn" and one.cuda and one.id not in used
    ]
    fresh = [one for one in alone if one.origin in brought]
    if beside_others and not fresh:
        return
    which = ", ".join(f"cuDNN {one.version}" for one in fresh) if beside_others else "it"
    talk.say(f"installed, but no installed toolkit goes with {which} yet")
    what = "install the CUDA toolkit it was built for"
    built_for = {(one.cuda, one.platform) for one in fresh or alone}
    if len(built_for) == 1:
        [(cuda, platform)] = built_for
        what = f"cudaswitch install {quote_request(str(cuda))}"
        what += f" --platform {platform}" if platform != current_platform() else ""
    talk.hint(f"{what}, and the two will be combined")


def tell_of_roots(store: Store) -> None:
    """Say that `sudo` has filled root's store, which nobody else looks at, unless one was named."""
    if sudo_caller() and not os.environ.get("CUDASWITCH_HOME"):
        talk.say(
            f"this is in root's own store, `{store.home.folder}`, which other users do not use"
        )
        talk.hint("run it without sudo for a store of your own")
