"""Who decides which toolkit is active, and for whom: the strongest that asks."""

from __future__ import annotations

import os

from cudaswitch import automatic, settings
from cudaswitch.activation import Want, applied, chosen
from cudaswitch.environments import (
    Environment,
    active_environment,
    pin_of,
    pinned_environment,
    read_request,
    required_environment,
)
from cudaswitch.errors import CudaswitchError, RequestError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import home, identity
from cudaswitch.regular import BASE, toolkit_is_there
from cudaswitch.store import all_stores, all_toolkits, dealias, find
from cudaswitch.toolkit import Toolkit
from cudaswitch.tools import is_shim
from cudaswitch.versions import VERSION_FILE, Request, parse_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Decision(NamedTuple):
    """What should be active, and who asked: a file, a pin, a variable or this shell.

    `caution` says why the choice of `auto` may not work.
    """

    want: Want
    origin: str
    caution: CudaswitchError | None = None

    @property
    def toolkit(self) -> Toolkit | None:
        return toolkit_at(self.want.home)


NOTHING = Decision(Want("system"), "nothing")


def decide(variables: Mapping[str, str], directory: str) -> Decision:
    """Return the decision of the strongest that asks.

    Raises whatever its request raises: no weaker one steps in for it.
    """
    used = chosen(variables)
    if used:
        return Decision(used, "this shell's `cudaswitch use`, `env` or `exec`")
    version = variables.get("CUDASWITCH_VERSION")
    if version:
        return answer(parse_request(version, origin="CUDASWITCH_VERSION"), variables=variables)
    pinned = pinned_environment(variables)
    if pinned:
        return answer_to_pin(pinned)
    file = version_file(directory, variables)
    if file:
        return answer_to(file, variables)
    environment = active_environment(variables)
    asked = automatic.recall(environment).want if environment else None
    if environment and asked:
        return Decision(asked, f"{environment.prefix} (its frameworks)")
    everywhere = home().at("global")
    return answer_to(everywhere, variables) if os.path.exists(everywhere) else NOTHING


def options_of(asked: Want | Request, quote: Callable[[str], str] = str) -> str:
    """Spell what is asked for besides a toolkit as options, each after a space."""
    options = {"libraries": asked.libraries, "gpus": asked.gpus}
    return "".join(f" --{name} {quote(value)}" for name, value in options.items() if value)


def answer_to(file: str, variables: Mapping[str, str] = os.environ) -> Decision:
    """Return what a version file or the user's own pin (`global`) asks for.

    The user's pin applies everywhere: if it is `auto` and no environment is active, it asks for
    nothing.
    """
    request = read_request(file)
    if (
        dealias(request).text == "auto"
        and not active_environment(variables)
        and os.path.realpath(file) == os.path.realpath(home().at("global"))
    ):
        return NOTHING
    return answer(request, variables=variables)


def answer_to_pin(environment: Environment) -> Decision:
    """Return what the pin of an environment asks for.

    If the hooks belong to another user, that is the toolkit recorded in them, as long as we can see
    it: it is what shells get.
    """
    request = pin_of(environment)
    given = environment.want_kept()
    if given is None or not toolkit_is_there(given.home) or environment.is_own():
        return answer(request, environment)
    # If packages have changed since, shells too ask anew what `auto` means.
    if dealias(request).text == "auto" and environment.changed_since(environment.want_file):
        return answer(request, environment)
    return Decision(given, request.origin)


def answer(
    request: Request,
    environment: Environment | None = None,
    variables: Mapping[str, str] = os.environ,
) -> Decision:
    """Turn a request into the toolkit that is installed for it.

    `auto` is what the frameworks in `environment` need, by default in the one that is active
    in `variables`.
    """
    request = dealias(request)
    if request.text == "system":
        if request.wanted_cudnn:
            raise RequestError(
                f"cuDNN comes with a toolkit, and `system` means no toolkit{request.asked}",
                "leave cuDNN out",
            )
        decision = Decision(Want("system"), request.origin)
    elif request.text == "auto":
        environment = environment or required_environment(variables, request.asked)
        decision = _automatic(request, environment)
    else:
        decision = Decision(_want(find(request), request), request.origin)
    if request.gpus and decision.want.home == "system":
        from cudaswitch.shells.spelling import setting_here  # noqa: PLC0415  # only hints need it

        raise RequestError(
            f"GPUs are chosen together with a toolkit, and `{request.text}` means no toolkit",
            setting_here("CUDA_VISIBLE_DEVICES", request.gpus),
        )
    return decision


def _want(kit: Toolkit, request: Request) -> Want:
    libraries = request.libraries or settings.usual_libraries()
    return Want(kit.path, libraries, request.gpus, compiler=all_stores()[0].compiler_of(kit))


def _automatic(request: Request, environment: Environment) -> Decision:
    found = automatic.ask(environment)
    if found.refusal:
        raise found.refusal
    if found.want is None:
        return Decision(Want("system"), request.origin, found.caution)
    libraries = request.libraries or found.want.libraries
    want = found.want._replace(libraries=libraries, gpus=request.gpus)
    if request.cudnn and (kit := toolkit_at(want.home)):
        # The same CUDA, with the cuDNN that was named.
        want = want._replace(home=find(request._replace(text=str(kit.version))).path)
    # No caution if the user chose what happens to LD_LIBRARY_PATH.
    caution = None if libraries in ("always", "never") else found.caution
    return Decision(want, request.origin, caution)


def version_file(directory: str, variables: Mapping[str, str]) -> str | None:
    """Find the nearest `.cuda-version` from a directory upward, not above the home folder."""
    top = variables.get("HOME", "").rstrip("/")
    folder, below = directory, ""
    while folder != below:
        file = os.path.join(folder, VERSION_FILE)
        if os.path.isfile(file):
            return file
        if folder == top:
            return None
        folder, below = os.path.dirname(folder), folder
    return None


def toolkit_at(path: str) -> Toolkit | None:
    """Return the toolkit whose folder is `path`, whatever links lead to it."""
    if not os.path.isabs(path):
        return None
    kits = all_toolkits()
    if plain := next((kit for kit in kits if kit.path == path), None):
        return plain
    place = identity(path)
    return next((kit for kit in kits if identity(kit.path) == place), None)


def instead_of(wanted: str, variables: Mapping[str, str]) -> str | None:
    """Name what this shell has instead of a toolkit, None if it has that toolkit."""
    on = applied(variables)
    if wanted == "system":
        return on.home if on else None
    folders = [at for at in variables.get("PATH", "").split(os.pathsep) if at]
    ours, home = f"{wanted}/bin", variables.get("CUDA_HOME")
    compilers = [
        at for at in map("{}/nvcc".format, folders) if os.path.exists(at) and not is_shim(at)
    ]
    compiles = os.path.exists(f"{ours}/nvcc")
    # A link to the toolkit, such as /usr/local/cuda, is as good, and so is what it is based on.
    if compiles:
        first = compilers[0].removesuffix("/nvcc") if compilers else ""
        wins = _same(first, ours) or _same(first, f"{wanted}/{BASE}/bin")
    else:
        wins = any(_same(at, ours) for at in folders)
    is_home = home is not None and _same(home, wanted)
    if is_home and wins:
        return None
    if not is_home and (on is None or on.home != wanted):
        return on.home if on else home or "no toolkit"
    # The toolkit was applied, and somebody has changed something since.
    found = []
    if not is_home:
        found.append("no CUDA_HOME" if home is None else f"CUDA_HOME={home}")
    if not wins:
        other = compiles and compilers
        found.append(f"{compilers[0]} first on PATH" if other else f"no {ours}/ on PATH")
    return " and ".join(found)


def _same(one: str, other: str) -> bool:
    return one == other or identity(one) == identity(other)


def working_directory(variables: Mapping[str, str]) -> str:
    """Return the working directory as the shell spells it, links kept."""
    logical = variables.get("PWD", "")
    logical = logical.rstrip("/") or logical
    is_known = os.path.isabs(logical)
    try:
        if is_known and os.path.samefile(logical, "."):
            return logical
    except OSError:
        pass
    try:
        return os.getcwd()
    except FileNotFoundError:
        # It was removed; what its parents ask for still holds.
        if is_known:
            return logical
        raise CudaswitchError(
            "the working directory no longer exists", "change to another directory"
        ) from None
