"""Prove that a toolkit works: load its libraries, ask their versions, compile, run the result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from cudaswitch.activation import Want
from cudaswitch.check import building, frameworks, libraries
from cudaswitch.check.inventory import Inventory
from cudaswitch.check.results import Result
from cudaswitch.decision import toolkit_at
from cudaswitch.detect.gpus import gpus
from cudaswitch.environments import active_environment
from cudaswitch.errors import NotInstalledError
from cudaswitch.running import change_here
from cudaswitch.store import all_stores
from cudaswitch.toolkit import Toolkit


def checked(want: Want) -> tuple[Toolkit, Iterator[Result]]:
    """Return the toolkit that is wanted, and the results of proving it, as they come.

    Everything happens in child processes that have the environment of `use`, in a temporary folder
    that is removed afterwards. Raises NotInstalledError if no toolkit is wanted.
    """
    made = change_here(want)
    kit = toolkit_at(want.home) if made else None
    if made is None or kit is None:
        raise NotInstalledError(
            "no toolkit is active here, so there is nothing to check",
            "name a toolkit: cudaswitch check VERSION",
        )
    variables = made.applied(os.environ, "U")
    loading = variables
    if not made.prepend["LD_LIBRARY_PATH"]:
        # In an environment with its own CUDA, programs do not load the toolkit's libraries, but
        # whether they could is still part of the proof.
        forced = change_here(want._replace(libraries="always"), warn=False)
        loading = forced.applied(os.environ, "U") if forced else variables
    return kit, _results(kit, variables, loading)


def _results(
    kit: Toolkit, variables: Mapping[str, str], loading: Mapping[str, str]
) -> Iterator[Result]:
    inventory = Inventory.of(kit, all_stores())
    environment = active_environment(os.environ)
    with tempfile.TemporaryDirectory(prefix="cudaswitch-check-") as name:
        folder = Path(name)
        yield from libraries.prove(inventory, loading, folder)
        yield from building.prove(kit, variables, loading, folder)
        if environment:
            has_gpu = bool(gpus(Path(environment.prefix)))
            yield from frameworks.prove(kit, environment, variables, folder, has_gpu)
