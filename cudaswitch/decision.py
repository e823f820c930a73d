"""Who decides which toolkit is active, and for whom: the strongest that asks (DESIGN section 4)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.activation import Want, chosen
from cudaswitch.environments import Environment, active_environment, read_request
from cudaswitch.errors import CudaswitchError, EnvironmentNotFoundError, NotInstalledError
from cudaswitch.paths import home
from cudaswitch.store import all_stores, find
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request, parse_request

VERSION_FILE = ".cuda-version"


@dataclass(frozen=True)
class Decision:
    """What should be active, and who asked: a file, a pin, a variable or this shell."""

    want: Want
    origin: str

    @property
    def toolkit(self) -> Toolkit | None:
        return toolkit_at(self.want.home)


NOTHING = Decision(Want("system"), "nothing")


def decide(variables: Mapping[str, str], directory: Path) -> Decision:
    """Return the decision of the strongest that asks.

    Raises what the request of that one raises: no weaker one steps in for it.
    """
    used = chosen(variables)
    if used:
        return Decision(used, "this shell (`cudaswitch use`)")
    version = variables.get("CUDASWITCH_VERSION")
    if version:
        return answer(parse_request(version, origin="CUDASWITCH_VERSION"))
    environment = active_environment(variables)
    if environment and environment.pin_file.exists():
        return answer(read_request(environment.pin_file))
    file = version_file(directory, variables)
    if file:
        return answer(read_request(file))
    if home().global_pin.exists():
        return answer(read_request(home().global_pin))
    return NOTHING


def answer(request: Request, environment: Environment | None = None) -> Decision:
    """Turn a request into the toolkit that is installed for it.

    `auto` is what the frameworks in `environment` need, by default in the active one.
    """
    if request.text == "system":
        return Decision(Want("system"), request.origin)
    if request.text == "auto":
        return _automatic(request, environment or active_environment(os.environ))
    kit = find(request)
    return Decision(Want(kit.path, request.libraries), request.origin)


def _automatic(request: Request, environment: Environment | None) -> Decision:
    from cudaswitch.detect import facts_of  # noqa: PLC0415  # reads tables that few need
    from cudaswitch.resolver import resolve  # noqa: PLC0415

    if environment is None:
        raise EnvironmentNotFoundError(
            "`auto` needs an active environment", "activate one, or name a version"
        )
    kits = [kit for store in all_stores() for kit in store.toolkits()]
    resolution = resolve(facts_of(environment.prefix), kits)
    if not resolution.runs:
        raise CudaswitchError(
            f"what `{environment.prefix}` holds cannot run here: `cudaswitch resolve` tells why",
            resolution.hint,
        )
    if resolution.toolkit is None:
        if resolution.cuda is None or resolution.bundled:
            return Decision(Want("system"), request.origin)
        library = f" with cuDNN {resolution.cudnn}" if resolution.cudnn else ""
        raise NotInstalledError(
            f"`{environment.prefix}` needs CUDA {resolution.cuda}{library}, which is not installed",
            resolution.hint,
        )
    path = next(kit.path for kit in kits if kit.name == resolution.toolkit)
    return Decision(Want(path, request.libraries), request.origin)


def version_file(directory: Path, variables: Mapping[str, str]) -> Path | None:
    """Find the nearest `.cuda-version` from a directory upward, not above the home folder."""
    top = variables.get("HOME")
    for folder in (directory, *directory.parents):
        file = folder / VERSION_FILE
        if file.is_file():
            return file
        if str(folder) == top:
            return None
    return None


def toolkit_at(path: str) -> Toolkit | None:
    """Return the toolkit whose folder is `path`."""
    for store in all_stores():
        for kit in store.toolkits():
            if kit.path == path:
                return kit
    return None


def working_directory(variables: Mapping[str, str]) -> Path:
    """Return the working directory as the shell spells it, links kept."""
    logical = variables.get("PWD", "")
    if logical and Path(logical).is_absolute():
        try:
            if Path(logical).samefile("."):
                return Path(logical)
        except OSError:
            pass
    try:
        return Path.cwd()
    except FileNotFoundError:
        # It was removed; what its parents ask for still holds.
        if logical.startswith("/"):
            return Path(logical)
        raise CudaswitchError("the working directory is gone", "change to another one") from None
