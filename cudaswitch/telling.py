"""What the commands that only report do: current, which, list. They start without click."""

from __future__ import annotations

import os

from cudaswitch import automatic, talk
from cudaswitch.activation import applied, chosen, follows_unexported, library_folders
from cudaswitch.decision import (
    NOTHING,
    Decision,
    decide,
    instead_of,
    options_of,
    toolkit_at,
    working_directory,
)
from cudaswitch.environments import (
    Environment,
    active_environment,
    pin_of,
    pinned_environment,
)
from cudaswitch.errors import CudaswitchError, ToolMissingError
from cudaswitch.paths import identity
from cudaswitch.programs import search_path, why_closed
from cudaswitch.regular import toolkit_is_there
from cudaswitch.store import all_stores, all_toolkits, out_of_reach, toolkits_here
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import quote_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudaswitch.activation import Want
    from cudaswitch.holders import Holding
    from cudaswitch.shells import Shell


def current(as_json: bool = False) -> None:
    """Tell what is active, who asked for it, and whether the shell agrees."""
    decision = decide(os.environ, working_directory(os.environ))
    kit = decision.toolkit
    path = decision.want.home if decision.want.home != "system" else None
    instead = instead_of(decision.want.home, os.environ)
    if as_json:
        talk.data(
            {
                "toolkit": kit.name if kit else None,
                "version": str(kit.version) if kit else None,
                "path": path,
                "origin": decision.origin,
                "agrees": instead is None,
            }
        )
        return
    if path is None:
        asked = talk.from_here(f"system (asked for by {decision.origin})")
        talk.line(asked if decision is not NOTHING else "none")
        if decision is NOTHING:
            _why_none()
    else:
        talk.line(talk.from_here(f"{kit.name if kit else path} (asked for by {decision.origin})"))
        talk.line(path)
    if path is not None and not toolkit_is_there(path):
        talk.say("that is gone")
        # Only `use` stores a path; other requests are resolved among toolkits that are there.
        talk.hint(way_out())
    elif instead:
        talk.say(f"this shell has {instead}")
        talk.hint(_mend(decision, kit))


def removed(kit: Toolkit) -> None:
    """Say that a toolkit was removed, and how to leave it if this shell still has it."""
    talk.say(f"removed {kit.name}")
    on = applied(os.environ)
    if on and on.home == kit.path:
        talk.hint(f"this shell still uses it: {way_out()}")


def way_out() -> str:
    """Return the command that takes a toolkit out of the calling shell."""
    # `off` gives up only what `use` asked for.
    return "cudaswitch off" if chosen(os.environ) and not _bare() else using("system")


def _why_none() -> None:
    """Say what the active environment has, or lacks, if nobody asks for a toolkit."""
    environment = active_environment(os.environ)
    if environment is None:
        return
    nvcc = f"{environment.prefix}/bin/nvcc" if environment.owner == "C" else ""
    if os.access(nvcc, os.X_OK):
        talk.say(f"`{nvcc}` is the environment's own, and nothing requests another")
    talk.caution(automatic.refused(environment))


def _mend(decision: Decision, kit: Toolkit | None) -> str:
    """Return the command that gives this shell what is asked for."""
    if follows_unexported(os.environ):
        from cudaswitch.shells.spelling import exporting_here  # noqa: PLC0415  # only hints need it

        return exporting_here("CUDASWITCH_VERSION")
    want, on = decision.want, applied(os.environ)
    bare, pinned = _bare(), pinned_environment(os.environ)
    # A shell without a family reads no hooks.
    hooked = bare is None or bare.family
    if hooked and pinned and decision.origin.startswith(f"{pinned.pin_file}:"):
        return _again(pinned, want)
    if bare is None and chosen(os.environ) is None and (on is None or on.home != want.home):
        return _load()
    if kit is None and want.home != "system":
        return "cudaswitch list"
    return using(_request(want, kit) if kit else "system")


def _again(pinned: Environment, want: Want) -> str:
    """Return the step that gives this shell its pin's toolkit, which it does not have."""
    from cudaswitch.hooks import unhooked_scripts  # noqa: PLC0415  # only if a shell is out of step

    # An activate script that was written anew does not run the hook.
    lost = pinned.owner == "V" and unhooked_scripts(pinned)[0]
    is_own, given = pinned.is_own(), pinned.want_kept()
    # Hooks apply the toolkit that they record; other users' hooks serve while it is there.
    is_behind = (
        given is not None
        and identity(given.home) != identity(want.home)
        and (is_own or not toolkit_is_there(given.home))
    )
    if not lost and not is_behind:
        return "activate the environment again"
    if not is_own:
        # Only the integration looks for a toolkit other than the one in their hooks.
        return _load()
    asked = pin_of(pinned)
    return f"cudaswitch pin {quote_request(str(asked))}{options_of(asked)}"


def _request(want: Want, kit: Toolkit) -> str:
    """Spell the arguments that ask for a toolkit as it is wanted."""
    twins = [one for one in toolkits_here() if one.version == kit.version and one.cudnn]
    without = " --cudnn none" if kit.cudnn is None and twins else ""
    return f"{kit.name}{options_of(want)}{without}"


def using(request: str) -> str:
    """Return the command that gives the calling shell what a request with its options asks for."""
    bare = _bare()
    return bare.evaluate.format(request=request) if bare else f"cudaswitch use {request}"


def _bare() -> Shell | None:
    """Return the row of the calling shell if there is no integration for it."""
    from cudaswitch import shells  # noqa: PLC0415  # only if a shell is out of step

    row = shells.running_row(os.environ)
    return None if row.init else row


def _load() -> str:
    """Return the step that loads the integration."""
    from cudaswitch import shells  # noqa: PLC0415  # only if a shell is out of step
    from cudaswitch.ready import loading  # noqa: PLC0415  # only if a shell is out of step
    from cudaswitch.startfiles import loaded_by, ready_fault  # noqa: PLC0415  # the same
    from cudaswitch.startup import is_closed  # noqa: PLC0415  # only if a shell is out of step

    row = shells.running_row(os.environ)
    found = loaded_by(row, os.environ) if row.startup else None
    # doctor says what is wrong with that line, and has the same fix.
    if found and found[1] and not ready_fault(row, found[0]):
        return f"open a new {row.name}, or run in this one: {loading(row)}"
    if row.startup and is_closed(row, os.environ):
        return loading(row)
    # Without a name, `init` takes the shell in $SHELL, which may be another one.
    named = f" {row.name}" if row.init else ""
    return f"cudaswitch init --install{named}"


def which(name: str, consumer: str | None = None, as_json: bool = False) -> None:
    """Tell which file wins for a tool or library, why, and what it shadows."""
    from cudaswitch.lookup import look_up  # noqa: PLC0415  # only this needs it

    answer = look_up(name, os.environ, consumer)
    if not answer.found:
        raise _missing(name, consumer)
    winner, *shadowed = answer.found
    kit = toolkit_at(winner.toolkit)
    why = winner.why + (f", in CUDA {kit.name}" if kit else "")
    why += f"; it cannot be loaded: {winner.fault}" if winner.fault else ""
    if as_json:
        talk.data(
            {
                "path": winner.path,
                "why": why,
                "shadows": [other.path for other in shadowed],
                "consumer": answer.consumer,
                "runs": answer.runs,
                "notes": list(answer.notes),
            }
        )
        return
    talk.line(winner.path)
    talk.say(why)
    if consumer:
        talk.say(f"asked for by `{answer.consumer}`")
    if answer.runs:
        talk.say(f"it runs {answer.runs}")
    for note in answer.notes:
        talk.say(note)
    for other in shadowed:
        talk.say(f"shadows {other.path} ({other.why})")


def _missing(name: str, consumer: str | None) -> ToolMissingError:
    from cudaswitch.bundled import bundles_cuda  # noqa: PLC0415  # only if nothing is found
    from cudaswitch.compat.sonames import release_with_file  # noqa: PLC0415  # the same
    from cudaswitch.lookup import is_library  # noqa: PLC0415  # the same

    # A path need not mean a program, and no toolkit puts anything there.
    is_path = os.sep in name
    if not (is_path or is_library(name)) and (closed := why_closed(name, search_path(os.environ))):
        return ToolMissingError(*closed)
    having = [] if is_path else [kit for kit in toolkits_here() if _has(kit.path, name)]
    decision = _asking_for(having) if having else None
    kit = decision.toolkit if decision else having[-1] if having else None
    why = f"`{name}` was not found in this shell"
    if kit:
        hint = using(kit.name)
    elif release := release_with_file(name):
        hint = f"cudaswitch install {release}"
    else:
        hint = "check its name (nvcc, libcudart.so.12), or install what provides it"
    environment = active_environment(os.environ)
    # In such an environment, LD_LIBRARY_PATH is left alone.
    if is_library(name) and environment and bundles_cuda(environment.prefix):
        from shlex import quote  # noqa: PLC0415  # the same

        from cudaswitch.lookup.consumers import brought  # noqa: PLC0415  # the same

        found = brought(name, environment.prefix)
        if found and consumer:
            why += f"; the environment has it in `{found[0]}`"
            hint = f"put `{os.path.dirname(found[0])}` first in LD_LIBRARY_PATH"
        elif found:
            why += f" by itself; the environment has it in `{found[0]}`"
            hint = f"cudaswitch which {quote(name)} --from {quote(found[1])}"
        elif kit:
            hint = using(f"{kit.name} --libraries always")
    elif decision and kit and (instead := instead_of(kit.path, os.environ)):
        asked = talk.from_here(f"CUDA {kit.name} (asked for by {decision.origin})")
        why += f", which has {instead}: {asked} has it"
        hint = _mend(decision, kit)
    return ToolMissingError(why, hint)


def _asking_for(kits: Sequence[Toolkit]) -> Decision | None:
    """Return who asks for one of these toolkits, None if nobody does."""
    try:
        decision = decide(os.environ, working_directory(os.environ))
    except CudaswitchError:
        return None
    return decision if decision.toolkit in kits else None


def _has(home: str, name: str) -> bool:
    folders = (f"{home}/bin", *library_folders(home, os.path.exists))
    return any(os.path.isfile(f"{folder}/{name}") for folder in folders)


def installed(as_json: bool = False) -> None:
    """Tell what is installed, which toolkit is active, and who pins it."""
    from cudaswitch.holders import (  # noqa: PLC0415  # only this needs it
        held_by,
        holdings,
        without_toolkit,
    )

    active, kits = _active_path(), all_toolkits()
    pins = holdings(kits)
    by = held_by(pins)
    holders = [by.get(identity(kit.path), []) for kit in kits]
    if as_json:
        rows = [
            {**kit.to_json(), "active": kit.path == active, "pinned_by": held}
            for kit, held in zip(kits, holders, strict=True)
        ]
        talk.data({"toolkits": rows, "packages": _packages(), "pins": list(map(_asked, pins))})
        return
    talk.table(
        [
            ("*" if kit.path == active else " ", kit.name, kit.source, kit.path, _state(kit, held))
            for kit, held in zip(kits, holders, strict=True)
        ]
    )
    gone, there = without_toolkit(pins, kits)
    without_answer(gone)
    if there:
        named = [f"{one.holder} ({one.home})" for one in there]
        talk.say(f"pinned to toolkits that are in no store here: {talk.some_of(named)}")
    own = all_stores()[0]
    if own.is_away():
        talk.say(f"your store `{own.home.folder}` is a dangling link")
        talk.hint("check that the disk it points to is mounted")
    elif not kits:
        talk.say("no toolkit is installed")
        talk.hint("cudaswitch install 13.0, or cudaswitch adopt --scan")


def _packages() -> list[dict[str, object]]:
    """Describe the packages of all stores; their records list all files, so few need them read."""
    return [
        {
            "name": package.name,
            "version": str(package.version),
            "build": package.build or None,
            "component": package.component,
            "platform": package.platform,
            "source": package.source,
            "origin": package.origin,
            "sha256": package.sha256,
            "size": package.size,
        }
        for store in all_stores()
        for package in store.packages()
    ]


def _asked(pin: Holding) -> dict[str, str | None]:
    """Describe what a pin asks for, and what it gets."""
    return {
        "holder": pin.holder,
        "file": pin.file,
        "request": pin.request,
        "path": pin.home if pin.home != "system" else None,
    }


def without_answer(pins: Sequence[Holding]) -> None:
    """Report the pins that nothing installed satisfies, if there are any."""
    if pins:
        named = [f"{one.holder} ({one.request or 'which cannot be read'})" for one in pins]
        talk.say(f"pinned, but not installed: {talk.some_of(named)}")


def _state(kit: Toolkit, holders: Sequence[str]) -> str:
    told = []
    if not toolkit_is_there(kit.ground):
        told.append(f"`{kit.ground}` is {'out of reach' if out_of_reach(kit) else 'gone'}")
    if holders:
        told.append(f"pinned by {talk.some_of(holders)}")
    return ", ".join(told)


def _active_path() -> str | None:
    """Return the toolkit that this shell has, whoever asked for it."""
    on = applied(os.environ)
    if on and instead_of(on.home, os.environ) is None:
        return on.home
    try:
        wanted = decide(os.environ, working_directory(os.environ)).want.home
    except CudaswitchError:
        return None
    return wanted if instead_of(wanted, os.environ) is None else None
