"""What `exec` does: work out the change here, and become the command. Starts without click."""

from __future__ import annotations

import errno
import os
import sys

from cudaswitch import talk
from cudaswitch.activation import (
    EnvironmentChange,
    Want,
    applied,
    change,
    gpu_variables,
    without_choices,
)
from cudaswitch.automatic import recall
from cudaswitch.bundled import bundles_cuda, lacks_libdevice, reached
from cudaswitch.decision import answer, decide, toolkit_at, working_directory
from cudaswitch.environments import (
    ENVIRONMENT_VARIABLE,
    Environment,
    active_environment,
    entered,
    environment_at,
)
from cudaswitch.errors import (
    CudaswitchError,
    EnvironmentNotFoundError,
    StoreError,
    ToolMissingError,
)
from cudaswitch.programs import find_program, is_program, search_path, why_closed
from cudaswitch.regular import read_regular, toolkit_is_there
from cudaswitch.store import toolkits_here
from cudaswitch.tools import is_toolkit_tool
from cudaswitch.versions import parse_gpus, parse_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cudaswitch.toolkit import Toolkit


def asked(
    request: str,
    cudnn: str | None = None,
    libraries: str | None = None,
    gpus: str | None = None,
    origin: str = "",
    variables: Mapping[str, str] = os.environ,
) -> Want:
    """Return what a request with its options wants; a caution about it is printed."""
    made = parse_request(request, cudnn, libraries, origin, gpus)
    decision = answer(made, variables=variables)
    talk.caution(decision.caution)
    return decision.want


def change_here(
    want: Want, variables: Mapping[str, str] = os.environ, *, warn: bool = True
) -> EnvironmentChange | None:
    """Work out the change for a want in this process's environment, None for `system`.

    `variables` say which environment is active. With `warn`, a warning is printed if the toolkit's
    libraries go before the environment's own.
    """
    if want.home == "system":
        return None
    if not toolkit_is_there(want.home):
        raise StoreError(f"toolkit `{want.home}` is gone", "cudaswitch list")
    bundled, xla = None, False
    for prefix in reached(entered(variables), variables):
        bundled, xla = bundles_cuda(prefix), xla or lacks_libdevice(prefix)
        if bundled:
            break
    if warn:
        talk.warn_of_forced_libraries(want.libraries, bundled)
    return change(want, os.path.exists, bool(bundled), xla, os.environ)


def run(
    request: str | None,
    command: list[str],
    cudnn: str | None = None,
    libraries: str | None = None,
    gpus: str | None = None,
) -> None:
    """Become a command, with the toolkit of a request or with what would be active here.

    Raises ToolMissingError if the toolkit, or PATH, does not have it.
    """
    deciding, asker = _as_activated(command[0]), ""
    if request is None:
        decision = decide(deciding, working_directory(os.environ))
        chosen, asker = decision.want, f" (asked for by {decision.origin})"
        chosen = chosen._replace(libraries=libraries or chosen.libraries)
        if gpus is not None:
            chosen = chosen._replace(gpus=parse_gpus(gpus))
        elif _has_other_gpus(chosen):
            chosen = chosen._replace(gpus=None)
    else:
        chosen = asked(request, cudnn, libraries, gpus, variables=deciding)
    made = change_here(chosen, deciding)
    before = _as_started()
    if made is None:
        variables = without_choices(before) | {"_CUDASWITCH_U": "system"}
        variables |= gpu_variables(chosen.gpus)
    else:
        variables = made.applied(before, "U")
        if "PATH" not in before:
            # Without PATH, programs search these folders; a PATH of ours alone would hide them.
            variables["PATH"] += os.pathsep + os.defpath
    program = _program(command[0], search_path(variables), toolkit_at(chosen.home), asker)
    sys.stdout.flush()
    _unignore()
    try:
        os.execve(program, command, variables)  # noqa: S606  # to become it is what exec is for
    except OSError as error:
        _refuse_program(command[0], program, error)
        # A script without `#!`: shells and `env` run it with sh.
        os.execve("/bin/sh", ["sh", program, *command[1:]], variables)  # noqa: S606  # the same


def _has_other_gpus(want: Want) -> bool:
    """Tell whether a toolkit is active already, but with GPUs set by others, such as a job."""
    on, given = applied(os.environ), os.environ.get("CUDA_VISIBLE_DEVICES")
    if on is None or not given:
        return False
    return (on.home, on.gpus) == (want.home, want.gpus) and given != on.gpus


def _program(tool: str, path: str, kit: Toolkit | None, asker: str) -> str:
    """Return the program that a command's first word stands for."""
    # Another toolkit's nvcc further down PATH would compile, for the wrong CUDA.
    if kit and is_toolkit_tool(tool) and not is_program(own := f"{kit.path}/bin/{tool}"):
        lacks = f"`{tool}` is not in CUDA {kit.name}{asker}", _who_has(tool)
        raise ToolMissingError(*(why_closed(own, "") or lacks))
    if program := find_program(tool, path):
        return program
    if closed := why_closed(tool, path):
        raise ToolMissingError(*closed)
    if os.path.isdir(tool) and os.sep in tool:
        raise ToolMissingError(f"`{tool}` is a folder, not a program")
    if os.sep in tool or not tool:
        raise ToolMissingError(f"there is no program `{tool}`")
    raise ToolMissingError(
        f"`{tool}` is not on PATH", _who_has(tool) or "check its name, or install what provides it"
    )


def _as_activated(tool: str) -> Mapping[str, str]:
    """Return the variables as if the environment that a program is in were active.

    cron, systemd, IDEs and kernels of Jupyter name an environment's python and activate nothing.
    These variables decide; the program itself does not get them.
    """
    variables = os.environ
    program = find_program(tool, search_path(variables))
    folder, _, _ = os.path.abspath(program).rpartition("/") if program else ("", "", "")
    prefix, _, last = folder.rpartition("/")
    if last != "bin":
        return variables
    try:
        environment = environment_at(prefix or "/")
    except EnvironmentNotFoundError:
        return variables
    active = active_environment(variables)
    # While another one is active only an explicit path counts: a bare name may be found in any
    # environment on PATH. Launchers, such as conda's, are in one that needs nothing.
    if active and (
        os.sep not in tool
        or os.path.samefile(active.prefix, environment.prefix)
        or not _needs(environment)
    ):
        return variables
    path = os.pathsep.join([folder, search_path(variables)])
    name = ENVIRONMENT_VARIABLE[environment.owner]
    # Level 1: nothing below it is active.
    return variables | {name: environment.prefix, "PATH": path, "CONDA_SHLVL": "1"}


def _needs(environment: Environment) -> bool:
    """Tell whether an environment asks for a toolkit, or brings its own."""
    asks = os.path.exists(environment.pin_file) or bundles_cuda(environment.prefix)
    return bool(asks) or recall(environment).want is not None


def _refuse_program(tool: str, program: str, error: OSError) -> None:
    """Raise an error that says why a program cannot be run, unless it is a script without `#!`."""
    if error.errno not in {errno.ENOENT, errno.EACCES, errno.ENOEXEC}:
        raise error
    head = read_regular(program, 128, head=True)
    line = head.partition(b"\n")[0]
    script = line.startswith(b"#!")
    runner = os.fsdecode(line[2:].strip(b" \t").partition(b" ")[0]).replace("\r", "\\r")
    shown = f"`{runner}`" if script else "a loader"
    if error.errno == errno.ENOENT:
        raise ToolMissingError(f"`{tool}` is run by {shown}, which does not exist") from None
    if error.errno == errno.EACCES:
        why = f"`{tool}` is run by {shown}, which is not executable"
        raise (ToolMissingError(why) if script else error) from None
    if b"\0" in head:
        raise CudaswitchError(f"`{tool}` is not a program for this machine") from None


def _as_started() -> dict[str, str]:
    """Return this process's environment without what Python did to it.

    In the locale `C`, Python sets LC_CTYPE for itself (PEP 538), and its children would inherit
    it. A variable without a name (`env =x`) is left out: Python passes none on.
    """
    variables = {name: value for name, value in os.environ.items() if name}
    try:
        with open("/proc/self/environ", "rb") as file:
            was = file.read().split(b"\0")
    except OSError:
        return variables
    variables.pop("LC_CTYPE", None)
    for each in was:
        if each.startswith(b"LC_CTYPE="):
            variables["LC_CTYPE"] = os.fsdecode(each[9:])
    return variables


def _unignore() -> None:
    """Reset the signals that Python ignores for itself: the program would inherit that.

    Whether they were ignored when we were started cannot be known any more, and usually they are
    not; `subprocess` does the same (`restore_signals`).
    """
    # The core of `signal`: the rest of it takes longer to load than all else here.
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415  # no types for it

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)


def _who_has(tool: str) -> str | None:
    having = [kit.name for kit in toolkits_here() if os.path.exists(f"{kit.path}/bin/{tool}")]
    return f"it is in {', '.join(having)}" if having else None
